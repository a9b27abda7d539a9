"""Doing a step as another user: a forked child takes that user's identity for good and answers over a pipe.

The answer crosses as JSON, never as pickled objects: the child runs with the rights of somebody less trusted than root.
"""

from __future__ import annotations

import os
import select
import signal

from . import process
from .faults import Fail
from .wire import WireError, attach, detach, pack, read_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable


def call_as(user: str, work: Callable[[], dict[str, Any]], ask: Callable[..., Any]) -> dict[str, Any]:
    """Run ``work`` in a child that has become ``user`` and return its answer.

    The child must not touch the stream to the controller, so what it asks for is passed on here. Raises ``Fail`` when the user does not
    exist, when this process may not become it, or when the child dies.
    """
    import pwd

    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Fail(f"cannot become {user}: there is no such user here") from None
    if os.geteuid() and os.geteuid() != entry.pw_uid:
        raise Fail(f"cannot become {user}: the agent does not run as root; does the task need become: true?")
    down_read, down_write = os.pipe()
    up_read, up_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(down_write)
        os.close(up_read)
        _child(entry, work, down_read, up_write)
    os.close(down_read)
    os.close(up_write)
    process.track(child)
    try:
        return _serve(user, up_read, down_write, ask)
    except BaseException:
        process.end(child)  # over its time, or nobody is left to hear its answer
        raise
    finally:
        process.untrack(child)
        os.close(up_read)
        os.close(down_write)
        _reap(child)


def _serve(user: str, source: int, target: int, ask: Callable[..., Any]) -> dict[str, Any]:
    """Answer the child's questions until it gives its own answer."""
    while True:
        try:
            header, body = read_frame(lambda size: os.read(source, size))
        except WireError:
            raise Fail(f"the step, run as {user}, died before it could answer") from None
        if "answer" in header:
            answer: dict[str, Any] = attach(header["answer"], body)
            return answer
        if "fault" in header:
            raise Fail(header["fault"])
        kind = header.pop("ask")
        if kind == "data":
            header["body"] = body
        reply = ask(kind, **header)
        _send(target, {}, reply if isinstance(reply, bytes) else b"")


def _child(entry: Any, work: Callable[[], dict[str, Any]], source: int, target: int) -> None:
    """Never returns."""
    from . import session

    status = 1
    try:
        os.setgid(entry.pw_gid)
        if os.geteuid() == 0:
            os.initgroups(entry.pw_name, entry.pw_gid)
        os.setuid(entry.pw_uid)
        os.environ.update(HOME=entry.pw_dir, USER=entry.pw_name, LOGNAME=entry.pw_name, SHELL=entry.pw_shell or "/bin/sh")
        for name in ("XDG_RUNTIME_DIR", "SUDO_USER", "SUDO_UID", "SUDO_GID", "SUDO_COMMAND", "MAIL"):
            os.environ.pop(name, None)
        runtime = f"/run/user/{entry.pw_uid}"
        if os.path.isdir(runtime):
            os.environ["XDG_RUNTIME_DIR"] = runtime
        _enter(entry.pw_dir)
        session.use_channel(lambda kind, **data: _ask_parent(source, target, kind, data))
        _end_with_parent(source)
        texts = bytearray()
        _send(target, {"answer": detach(session.plain(work()), texts)}, bytes(texts))
        status = 0
    except WireError as error:
        _send(target, {"fault": f"the result is too big to be sent: {error}; have it written to a file on the node"})
    except BaseException as error:
        import traceback

        _send(target, {"fault": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"})
    finally:
        os._exit(status)


def _end_with_parent(source: int) -> None:
    """End this child, and what it runs, soon after the agent was killed: it holds the agent's stream and lock open."""
    poll = select.poll()
    poll.register(source, select.POLLHUP)

    def look(_number: int, _frame: FrameType | None) -> None:
        if poll.poll(0) and not process.held():
            process.end_all()
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)


def _enter(home: str) -> None:
    try:
        os.chdir(home)
    except OSError:
        os.chdir("/")


def _ask_parent(source: int, target: int, kind: str, data: dict[str, Any]) -> bytes:
    body = data.pop("body", b"")
    _send(target, {"ask": kind, **data}, body)
    _header, answer = read_frame(lambda size: os.read(source, size))
    return answer


def _send(descriptor: int, header: dict[str, Any], body: bytes = b"") -> None:
    view = memoryview(pack(header, body))
    while view:
        view = view[os.write(descriptor, view) :]


def _reap(child: int) -> None:
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass  # the agent's own child handling was quicker
