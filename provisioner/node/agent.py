"""The loop on the node: frames in, frames out, steps in between; deadlines, the lock, and a clean end whatever happens.

Descriptors: the stream is on private copies, 0 is /dev/null and 1 goes where 2 goes, so nothing a child writes can get between frames.
A timer ticks while a step runs. It ends a step that is over its time, notices that the controller is gone, and tells the controller
that the node still lives; threads would do the same, but forking from a process with threads is not safe.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from . import process
from .faults import Fail, TimedOut
from .wire import VERSION, EndOfStream, WireError, detach, pack, read_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any, BinaryIO, Callable, NoReturn

    from .loader import Importer
    from .session import Session

TICK = 1.0
ALIVE_EVERY = 15.0
"""Seconds of silence after which a busy agent says that it is alive."""
AGAIN = 5.0
"""Seconds after which a step that did not heed its deadline is told once more."""


class Gone(BaseException):
    """The controller went away, or asked us to end; not an ``Exception``, so that no module takes it for a failure of its own."""


class Agent:
    """One agent: a stream, and the session that its ``hello`` starts."""

    def __init__(self, stream: BinaryIO, output: int, importer: Importer) -> None:
        self._stream = stream
        self._output = output
        self._importer = importer
        self._mode = ""
        self._session: Session | None = None
        self._hello: dict[str, Any] = {}
        self._waiting: list[tuple[dict[str, Any], bytes]] = []
        self._lock: Any = None
        self._step: Any = None
        self._deadline: float | None = None
        self._limit = 0.0
        self._busy = False
        self._sent = 0.0
        self._pid = os.getpid()

    # -- frames --------------------------------------------------------------------------------------------------------------------

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        self._busy = True
        try:
            return read_frame(self._stream.read1)  # type: ignore[attr-defined]
        finally:
            self._busy = False

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Write a frame, whole."""
        rest = memoryview(pack(header, body))
        self._busy = True
        try:
            while rest:
                rest = rest[os.write(self._output, rest) :]
        except BrokenPipeError:
            if not process.held():  # else what is running has to end well first; the next tick sees to the rest
                raise Gone from None
        finally:
            self._busy = False
            self._sent = time.monotonic()

    # -- the loop ------------------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer messages until the controller says goodbye or goes away."""
        handlers: dict[str, Callable[[dict[str, Any], bytes], None]] = {
            "hello": self._greet,
            "code": self._code,
            "steps": self._steps,
            "journal": self._journal,
            "exec": self._exec,
        }
        while True:
            header, body = self._waiting.pop(0) if self._waiting else self._receive()
            kind = header.get("type")
            if kind == "bye":
                return
            if kind == "blob":
                continue  # the rest of a content whose reader has failed
            if kind not in handlers:
                raise WireError(f"there is no message {kind!r}")
            handlers[kind](header, body)

    def _greet(self, header: dict[str, Any], _body: bytes) -> None:
        from . import journal

        self._hello = header
        self._mode = header["mode"]
        if header["version"] != VERSION:
            self._refuse(f"the agent speaks version {VERSION} of the protocol and the controller {header['version']}")
        if self._mode == "apply":
            self._lock = journal.Lock()
            try:
                free = self._lock.take(header["who"], header["lock_wait"])
            except OSError as error:
                self._refuse(f"cannot lock the node: {error.strerror} ({error.filename})")
            if not free:
                self._refuse("another run holds this node", self._lock.holder)
        try:
            pending = journal.pending()
        except (OSError, ValueError) as error:
            self._refuse(f"cannot read the journal of handlers: {error}")
        name = os.uname().nodename
        version = ".".join(str(part) for part in sys.version_info[:3])
        uid = os.geteuid()
        about = {"python": version, "pid": self._pid, "uid": uid, "user": _user_name(uid), "hostname": name, "pending": pending}
        self.send({"type": "hello", "version": VERSION, **about})
        # While the controller thinks about its first steps.
        from . import session  # noqa: F401

    def _refuse(self, reason: str, holder: str = "") -> NoReturn:
        self.send({"type": "refused", "reason": reason, "holder": holder})
        raise Gone

    def _code(self, header: dict[str, Any], _body: bytes) -> None:
        self._importer.add(header["files"], header["keys"])

    def _journal(self, header: dict[str, Any], _body: bytes) -> None:
        if self._mode != "apply":
            raise WireError("a plan notes no handlers")
        try:
            self._note(header["add"], header["done"])
        except Fail as fault:
            # Handlers that are not noted would be lost by an interruption: better to stop here.
            self._refuse(fault.msg)

    @staticmethod
    def _note(add: list[str], done: Sequence[str]) -> None:
        from . import journal

        try:
            journal.note(add, done)
        except (OSError, ValueError) as error:
            raise Fail(f"cannot note handlers on the node: {error}") from None

    # -- steps ---------------------------------------------------------------------------------------------------------------------

    def _steps(self, header: dict[str, Any], _body: bytes) -> None:
        if self._session is None:
            from .session import Session

            self._session = Session(self._mode, self._hello, self._ask)
        ran = 0
        for step in header["steps"]:
            if self._is_alone():
                raise Gone
            reply = self._run(self._session, step)
            ran += 1
            self._reply(step, reply)
            if reply["result"].get("failed"):
                break
        self.send({"type": "done", "id": header["id"], "ran": ran})
        if self._mode == "apply" and self._hello["cache"] and self._importer.fresh:
            from . import cache

            cache.write(self._importer)

    def _reply(self, step: dict[str, Any], reply: dict[str, Any]) -> None:
        texts = bytearray()
        head = {"type": "reply", "id": step["id"]}
        try:
            self.send({**head, **detach(reply, texts)}, bytes(texts))
        except WireError as error:
            msg = f"the result of {step['module']} is too big to be sent: {error}; have it written to a file on the node"
            reply.update(result={"failed": True, "changed": reply["result"].get("changed", False), "msg": msg}, diffs=[])
            self.send({**head, **reply})

    def _run(self, session: Session, step: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        self._step = step["id"]
        self._limit = step.get("timeout") or 0.0
        self._deadline = started + self._limit if self._limit else None
        self._sent = started
        signal.setitimer(signal.ITIMER_REAL, min(TICK, self._limit or TICK), TICK)
        try:
            return session.run(step)
        except TimedOut as late:
            return {"result": late.result(step["module"]), "changes": [], "diffs": [], "seconds": round(time.monotonic() - started, 6)}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._deadline = self._step = None

    def tick(self, _number: int, _frame: FrameType | None) -> None:
        """Called each second while something runs; raises into it where it has to end."""
        now = time.monotonic()
        if not process.held() and self._is_alone():
            raise Gone
        if self._busy:
            return  # inside a frame nothing may be raised or sent
        if self._deadline is not None and not process.held():
            if now >= self._deadline:
                self._deadline = now + AGAIN
                raise TimedOut(self._limit)
            signal.setitimer(signal.ITIMER_REAL, min(TICK, self._deadline - now), TICK)
        if now - self._sent >= ALIVE_EVERY:
            self.send({"type": "progress", "step": self._step, "text": ""})

    def leave(self, _number: int, _frame: FrameType | None) -> None:
        """Called when somebody asks this process to end."""
        if not process.held():
            raise Gone

    def _is_alone(self) -> bool:
        """Whether the other end of the stream is closed."""
        poll = select.poll()
        poll.register(self._stream.fileno(), select.POLLHUP | select.POLLRDHUP)
        return bool(poll.poll(0))

    # -- what a step asks for ------------------------------------------------------------------------------------------------------

    def _ask(self, kind: str, **data: Any) -> Any:
        """``need`` (sha256) gives the content's bytes; ``note`` (add), ``progress`` (text) and ``data`` (body, last) give nothing."""
        if kind == "need":
            return b"".join(self._content(data["sha256"]))
        if kind == "note":
            return self._note(data["add"], ())
        body = data.pop("body", b"")
        data.setdefault("step", self._step)
        self.send({"type": kind, **data}, body)
        return None

    def _content(self, digest: str) -> list[bytes]:
        self.send({"type": "need", "sha256": digest, "offset": 0})
        pieces = []
        while True:
            header, body = self._receive()
            if header.get("type") != "blob" or header["sha256"] != digest:
                self._waiting.append((header, body))
                continue
            if header.get("error"):
                raise Fail(f"the controller cannot send the content: {header['error']}")
            pieces.append(body)
            if header["last"]:
                return pieces

    # -- plain commands ------------------------------------------------------------------------------------------------------------

    def _exec(self, header: dict[str, Any], body: bytes) -> None:
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        self._sent = time.monotonic()
        try:
            end = execute(header, body)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sizes = {"stdout_bytes": len(end.stdout), "timed_out": end.timed_out}
        self.send({"type": "executed", "rc": end.rc, **sizes}, end.stdout + end.stderr)


def execute(header: dict[str, Any], stdin: bytes) -> process.Finished:
    """Run the command of an ``exec`` message; one that cannot be started ends as a shell would say it (126, 127)."""
    argv = ["/bin/sh", "-c", header["shell"]] if header.get("shell") is not None else list(header["argv"])
    user = header.get("user")
    account = None
    env: Any = {"PATH": process.DEFAULT_PATH, **os.environ}
    try:
        if user and user != _user_name(os.geteuid()):
            if os.geteuid() == 0:
                account = process.Account(user)
                env = account.environment(env)
            else:
                argv = ["sudo", "-n", "-u", user, "--", *argv]
        return process.collect(argv, stdin=stdin, timeout=header.get("timeout"), env=env, account=account)
    except KeyError:
        return process.Finished(126, b"", f"cannot become {user}: there is no such user here\n".encode(), False)
    except OSError as error:
        rc = 127 if isinstance(error, FileNotFoundError) else 126
        return process.Finished(rc, b"", f"{error.filename or argv[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"), False)


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _take_descriptors() -> int:
    """Keep the way out to ourselves and give children harmless ones; returns our descriptor."""
    output = os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return output


def _drop_own_locale() -> None:
    """Python itself puts LC_CTYPE into the environment of a process that was given no locale; commands shall not see that."""
    try:
        with open("/proc/self/environ", "rb") as file:
            if not any(entry.startswith(b"LC_CTYPE=") for entry in file.read().split(b"\0")):
                os.environ.pop("LC_CTYPE", None)
    except OSError:
        return  # no /proc: then it stays


def main(stream: BinaryIO, importer: Importer) -> NoReturn:
    """Run an agent on ``stream`` and descriptor 1, and end the process with it."""
    _drop_own_locale()
    agent = Agent(stream, _take_descriptors(), importer)
    signal.signal(signal.SIGALRM, agent.tick)
    signal.signal(signal.SIGTERM, agent.leave)
    signal.signal(signal.SIGHUP, agent.leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key press at the controller; it decides, and closes the stream
    status = 0
    try:
        agent.serve()
    except (EndOfStream, Gone):
        pass  # the ordinary ends
    except BaseException:
        import traceback

        status = 1
        try:
            agent.send({"type": "bug", "trace": traceback.format_exc()})
        except Gone:
            pass  # nobody is left to hear of it
    process.end_all()
    os._exit(status)
