"""Jobs: steps that go on by themselves, in a process of their own that neither the agent's end nor the controller's touches.

What is known of a job is in one file, ``~/.ansible_async/JOB`` unless the step names another folder: the result as JSON, and under ``_job``
what only ``async_status`` needs: the process with the time it was started at, and when all is over the changes and diffs. The file
belongs to the user that the step runs as.
"""

from __future__ import annotations

import json
import os
import signal

from . import process, session
from .faults import Fail, TimedOut
from .wire import CONTENT_KEY, encode_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, NoReturn

OWN = "_job"
TOLD = ("changes", "diffs", "tainted", "unknown", "deferred")
"""What a reply says beside its result."""
AGAIN = 1.0
"""Seconds after which a job over its time is told once more, where it could not be ended at once."""


def start(step: dict[str, Any], load: Callable[[str], bytes], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Let ``work`` run in the background; the reply only says that it has begun, and which job it is."""
    folder = os.path.expanduser(step["background"]["folder"])
    name = f"j{int.from_bytes(os.urandom(5), 'big')}.{os.getpid()}"
    path = f"{folder}/{name}"
    begun = {"ansible_job_id": name, "started": True, "finished": False}
    try:
        for digest in _contents(step["params"]):
            load(digest)  # later there is no controller to ask
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _write(path, begun)
    except Fail as fault:
        return _reply({"failed": True, "changed": False, "msg": fault.msg})
    except OSError as error:
        return _reply({"failed": True, "changed": False, "msg": f"cannot note a job in {folder}: {error.strerror}"})
    between = os.fork()
    if between == 0:
        if os.fork() == 0:
            _run(path, begun, step["background"]["limit"], work)
        os._exit(0)
    os.waitpid(between, 0)
    return _reply({**begun, "results_file": path, "failed": False, "changed": True})


def _reply(result: dict[str, Any]) -> dict[str, Any]:
    return {"result": result, **dict.fromkeys(TOLD), "changes": [], "diffs": []}


def _contents(value: Any) -> list[str]:
    """Digests of all contents that parameters refer to."""
    if isinstance(value, dict):
        if CONTENT_KEY in value:
            return [value[CONTENT_KEY]]
        value = list(value.values())
    return [digest for child in value for digest in _contents(child)] if isinstance(value, list) else []


def _run(path: str, begun: dict[str, Any], limit: float, work: Callable[[], dict[str, Any]]) -> NoReturn:
    """The job's own process."""
    mine = {"pid": os.getpid(), "since": started_at(os.getpid())}
    late = False

    def over(_number: int, _frame: FrameType | None) -> None:
        nonlocal late
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        if not process.held():
            late = True
            raise TimedOut(limit)

    try:
        _detach()
        _write(path, {**begun, OWN: mine})
        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, limit)
        reply = work()
        signal.setitimer(signal.ITIMER_REAL, 0)
        result = reply["result"]
        if late:
            result = {"failed": True, "changed": False, "msg": "Timeout exceeded", "child_pid": mine["pid"]}
        told = {key: reply[key] for key in TOLD}
        _write(path, {**result, **begun, "finished": True, OWN: {**mine, **told}})
    except BaseException as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        said = "Timeout exceeded" if late else f"the job broke off: {type(error).__name__}: {error}"
        _write(path, {**begun, "finished": True, "failed": True, "changed": False, "msg": said, "child_pid": mine["pid"]})
    finally:
        process.end_all()
        os._exit(0)


def _detach() -> None:
    """Belong to nobody: a session of our own, and none of the agent's descriptors, among them the node's lock."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one by which the folder was read
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    session.use_channel(_nobody)


def _nobody(kind: str, **_data: Any) -> bytes:
    if kind != "progress":
        raise Fail("a job in the background can neither fetch contents from the controller nor send it files")
    return b""


def _write(path: str, known: dict[str, Any]) -> None:
    """Put what is known into the job's file, whole."""
    draft = f"{path}.{os.getpid()}"
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(number, "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(known, file, default=encode_special)
    os.rename(draft, path)


def started_at(pid: int) -> str:
    """When a process was started, in the kernel's ticks: with its number that names it for good. Empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""
