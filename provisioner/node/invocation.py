"""What command and shell share: creates/removes, the run itself, and the return values."""

from __future__ import annotations

from .declare import Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .api import Node


PLANNED = (
    "A plan does not run it: its result is not known then, and what stands behind it is shown as maybe, since it may alter anything.",
    "With changed_when: false it is taken to alter nothing: only its own result is not known to the plan.",
    "With check_mode: false the plan runs it, too, unless a change stands before it: for commands that only read.",
)


class InvocationParams(Params):
    """Parameters of every module that runs a user's command."""

    creates: str | None = option("Do nothing when this path (or pattern) exists.", None, kind="path")
    removes: str | None = option("Do nothing unless this path (or pattern) exists.", None, kind="path")
    chdir: str | None = option("The directory to run in.", None, kind="path")
    stdin: str | None = option("Text for its standard input.", None)
    stdin_add_newline: bool = option("End stdin with a newline.", True)
    strip_empty_ends: bool = option("Take empty lines off the end of the output.", True)
    executable: str | None = option("The shell to use.", None, kind="path")


def not_needed(node: Node, p: InvocationParams, command: Any) -> dict[str, Any] | None:
    """The result when ``creates`` or ``removes`` says that there is nothing to do, else None."""
    if p.creates and _matches(node, p.creates):
        return _skipped(f"{p.creates} exists", command)
    if p.removes and not _matches(node, p.removes):
        return _skipped(f"{p.removes} does not exist", command)
    return None


def _skipped(why: str, command: Any) -> dict[str, Any]:
    return {"changed": False, "rc": 0, "cmd": command, "msg": f"not needed: {why}", "stdout": f"skipped, since {why}", "stderr": ""}


def _matches(node: Node, pattern: str) -> bool:
    path = node.files.expand(pattern)
    if not any(char in pattern for char in "*?["):
        return node.files.exists(path)
    import fnmatch
    import os

    folder, name = os.path.split(path)
    if any(char in folder for char in "*?["):
        import glob

        return bool(glob.glob(path))
    state = node.files.stat(folder)
    return state is not None and state.kind == "directory" and any(fnmatch.fnmatchcase(each, name) for each in node.files.names(folder))


def invoke(
    node: Node, p: InvocationParams, *, argv: Sequence[str] = (), shell: str = "", command: Any, display: str = ""
) -> dict[str, Any]:
    """Run it and return rc, stdout, stderr and the times, failing on any exit status but 0."""
    import time

    stdin = None
    if p.stdin is not None:
        stdin = (p.stdin + ("\n" if p.stdin_add_newline and not p.stdin.endswith("\n") else "")).encode("utf-8", "surrogateescape")
    chdir = node.files.expand(p.chdir) if p.chdir else ""
    start = time.time()
    done = node.commands.run(argv, shell=shell, executable=p.executable or "", chdir=chdir, stdin=stdin, display=display)
    out, err = (_stripped(text, p.strip_empty_ends) for text in (done.out, done.err))
    result = {
        "changed": True,
        "cmd": command,
        "rc": done.rc,
        "stdout": out,
        "stderr": err,
        "start": _stamp(start),
        "end": _stamp(start + done.seconds),
        "delta": _delta(done.seconds),
        "msg": "",
    }
    if done.rc:
        node.fail("non-zero return code", **{key: value for key, value in result.items() if key != "msg"})
    return result


def _stripped(text: str, strip: bool) -> str:
    return text.rstrip("\r\n") if strip else text


def _stamp(seconds: float) -> str:
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}"


def _delta(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:09.6f}"
