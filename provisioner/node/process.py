"""Commands on the node: each in a session of its own, both outputs drained together, and none left behind by accident.

``subprocess`` is not used: importing it costs more than starting a command does, and with it a background child that inherited an
output keeps its parent's caller waiting. Here a command ends when its main process ends.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time

from .faults import TimedOut
from .readings import CommandResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

PIECE = 1 << 18
LINGER = 0.1
"""Seconds without output after which the pipes of an ended command are closed, though a child of it still holds them."""
MERCY = 2.0
"""Seconds between the polite signal and the final one."""
NO_PIDFD_POLL = 0.02
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP)
"""Signals that Python or the agent ignores, and that a command must see as usual."""

_running: dict[int, bool] = {}
"""Process id of each running child → whether it must be allowed to finish."""


class Finished:
    """How a command ended. ``rc`` is minus the signal's number when a signal ended it; ``timed_out``: it ran over its time."""

    __slots__ = ("rc", "stderr", "stdout", "timed_out")

    def __init__(self, rc: int, stdout: bytes, stderr: bytes, timed_out: bool) -> None:
        self.rc = rc
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out


class Account:
    """Whom a command runs as; ``KeyError`` when there is no such user."""

    __slots__ = ("gid", "groups", "home", "name", "shell", "uid")

    def __init__(self, name: str) -> None:
        import pwd

        entry = pwd.getpwnam(name)
        self.name = name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
        self.groups = os.getgrouplist(name, entry.pw_gid)
        self.home = entry.pw_dir
        self.shell = entry.pw_shell or "/bin/sh"

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """``base`` with the variables that name the user."""
        return {**base, "HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}


def run(
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    uninterruptible: bool = False,
) -> CommandResult:
    """Run a command to its end. Raises ``OSError`` when it cannot be started and ``TimedOut`` when it was ended for its deadline."""
    started = time.monotonic()
    end = collect(argv, stdin=stdin, timeout=timeout, env=env, cwd=cwd, uninterruptible=uninterruptible)
    if end.timed_out and timeout is not None and not uninterruptible:
        raise TimedOut(timeout)
    return CommandResult(argv=list(argv), rc=end.rc, stdout=end.stdout, stderr=end.stderr, seconds=time.monotonic() - started)


def collect(
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    account: Account | None = None,
    uninterruptible: bool = False,
    on_output: Callable[[bytes], None] | None = None,
) -> Finished:
    """Run a command to its end and keep what it wrote, also when it ran over its ``timeout`` in seconds.

    A deadline ends the whole process group. An ``uninterruptible`` command (a package manager in a transaction) is never ended by us:
    neither by a deadline, which is then only reported, nor because the controller went away. ``on_output`` sees each piece of either
    output as it comes. ``OSError``: the command could not be started.
    """
    environment = os.environ if env is None else env
    child = Child(stdin or b"", lambda ends: _spawn(argv, ends, environment, cwd, account))
    return attended(child, timeout, uninterruptible, on_output)


def attended(
    child: Child, timeout: float | None = None, uninterruptible: bool = False, on_output: Callable[[bytes], None] | None = None
) -> Finished:
    """See a started child through to its end."""
    _running[child.pid] = uninterruptible
    try:
        timed_out = child.attend(timeout, uninterruptible, on_output)
    except BaseException:
        if child.rc is None and not uninterruptible:
            end(child.pid)
        raise
    finally:
        _running.pop(child.pid, None)
        child.close()
    return Finished(child.rc or 0, b"".join(child.outputs[0]), b"".join(child.outputs[1]), timed_out)


def held() -> bool:
    """Whether a command that must be allowed to finish is running."""
    return True in _running.values()


def track(pid: int) -> None:
    """Let ``end_all`` end this forked child too."""
    _running[pid] = False


def untrack(pid: int) -> None:
    """Forget a child that has been waited for."""
    _running.pop(pid, None)


def end_all() -> None:
    """End every command and tracked child but those that must be allowed to finish."""
    for pid, uninterruptible in list(_running.items()):
        if not uninterruptible:
            end(pid)


def end(pid: int) -> int:
    """Ask a child and its process group to end, then make them; returns its exit code."""
    _signal_group(pid, signal.SIGTERM)
    until = time.monotonic() + MERCY
    try:
        while time.monotonic() < until and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(0.005)
        # Before the child is waited for: until then nothing else can have got its number.
        _signal_group(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return -signal.SIGKILL


def _signal_group(pid: int, number: int) -> None:
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # not a group of its own, or all gone
        return


class Child:
    """A started child and our ends of its three pipes; ``start`` is given theirs and returns its process id."""

    def __init__(self, stdin: bytes, start: Callable[[Sequence[int]], int]) -> None:
        self.rc: int | None = None
        self.outputs: tuple[list[bytes], list[bytes]] = ([], [])
        self._rest = memoryview(stdin)
        self._open: set[int] = set()
        theirs: list[int] = []
        try:
            self._stdin = self._pipe(theirs, write=True) if stdin else -1
            if not stdin:
                theirs.append(os.open(os.devnull, os.O_RDONLY))
            self._outputs = (self._pipe(theirs), self._pipe(theirs))
            self.pid = start(theirs)
        except BaseException:
            self.close()
            raise
        finally:
            for number in theirs:
                os.close(number)

    def _pipe(self, theirs: list[int], write: bool = False) -> int:
        reader, writer = os.pipe()
        ours, other = (writer, reader) if write else (reader, writer)
        os.set_blocking(ours, False)
        theirs.append(other)
        self._open.add(ours)
        return ours

    def close(self) -> None:
        """Close what is still open of our ends."""
        for end in self._open:
            os.close(end)
        self._open.clear()

    def attend(self, timeout: float | None, uninterruptible: bool, on_output: Callable[[bytes], None] | None) -> bool:
        """Feed and drain the command until it has ended; whether it ran over its time."""
        poll = select.poll()
        for output in self._outputs:
            poll.register(output, select.POLLIN)
        if self._stdin >= 0:
            poll.register(self._stdin, select.POLLOUT)
        watch = self._watch(poll)
        deadline = None if timeout is None else time.monotonic() + timeout
        timed_out = False
        while self.rc is None:
            ready = [number for number, _ in poll.poll(self._patience(deadline, watch))]
            for number in ready:
                if number != watch:
                    self._serve(poll, number, on_output)
            if watch < 0 or watch in ready:
                self._reap()
            if self.rc is None and deadline is not None and time.monotonic() >= deadline:
                timed_out, deadline = True, None
                if not uninterruptible:
                    self.rc = end(self.pid)
        if watch >= 0:
            self._shut(poll, watch)
        self._drain(poll, on_output)
        return timed_out

    def _watch(self, poll: select.poll) -> int:
        """A descriptor that becomes readable when the command ends, or -1 on kernels without them."""
        try:
            watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return -1
        self._open.add(watch)
        poll.register(watch, select.POLLIN)
        return watch

    def _patience(self, deadline: float | None, watch: int) -> int | None:
        waits = [] if watch >= 0 else [NO_PIDFD_POLL]
        if deadline is not None:
            waits.append(max(0.0, deadline - time.monotonic()))
        return int(min(waits) * 1000) + 1 if waits else None

    def _reap(self) -> None:
        found, status = os.waitpid(self.pid, os.WNOHANG)
        if found:
            self.rc = os.waitstatus_to_exitcode(status)

    def _serve(self, poll: select.poll, number: int, on_output: Callable[[bytes], None] | None) -> None:
        if number == self._stdin:
            self._feed(poll)
            return
        try:
            piece = os.read(number, PIECE)
        except BlockingIOError:
            return
        if not piece:
            self._shut(poll, number)
            return
        self.outputs[self._outputs.index(number)].append(piece)
        if on_output is not None:
            on_output(piece)

    def _feed(self, poll: select.poll) -> None:
        try:
            self._rest = self._rest[os.write(self._stdin, self._rest[:PIECE]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = self._rest[:0]  # it does not want more; that is its business
        if not self._rest:
            self._shut(poll, self._stdin)

    def _shut(self, poll: select.poll, number: int) -> None:
        poll.unregister(number)
        self._open.discard(number)
        os.close(number)

    def _drain(self, poll: select.poll, on_output: Callable[[bytes], None] | None) -> None:
        """Take what the ended command left in its pipes; a child of it that still holds them is not waited for."""
        if self._stdin in self._open:
            self._shut(poll, self._stdin)
        while self._open:
            ready = poll.poll(int(LINGER * 1000))
            if not ready:
                return
            for number, _ in ready:
                self._serve(poll, number, on_output)


def _spawn(argv: Sequence[str], ends: Sequence[int], env: Mapping[str, str], cwd: str | None, account: Account | None) -> int:
    """Start the command with ``ends`` as its first three descriptors; returns its process id."""
    if account is not None:
        return _fork(argv, ends, env, cwd, account)
    back = -1
    if cwd is not None:
        back = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if cwd is not None:
            os.chdir(cwd)
        file = _find(argv[0], env)
        actions = [(os.POSIX_SPAWN_DUP2, source, number) for number, source in enumerate(ends)]
        return os.posix_spawn(file, list(argv), dict(env), file_actions=actions, setsid=True, setsigdef=RESTORED)
    except NotImplementedError:
        return _fork(argv, ends, env, None, None)  # a C library whose spawn knows no sessions
    finally:
        if back >= 0:
            os.fchdir(back)
            os.close(back)


def _find(name: str, env: Mapping[str, str]) -> str:
    """The file that a command name means, searched in the command's own PATH."""
    if "/" in name:
        return name
    denied = False
    for folder in env.get("PATH", DEFAULT_PATH).split(":"):
        path = os.path.join(folder or ".", name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        denied = denied or os.path.isfile(path)
    number = errno.EACCES if denied else errno.ENOENT
    raise OSError(number, os.strerror(number), name)


def _fork(argv: Sequence[str], ends: Sequence[int], env: Mapping[str, str], cwd: str | None, account: Account | None) -> int:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, ends, env, cwd, account, writer)
    os.close(writer)
    with open(reader, "rb") as report:
        trouble = report.read()
    if trouble:
        os.waitpid(pid, 0)
        number, _, name = trouble.decode("utf-8", "surrogateescape").partition(" ")
        raise OSError(int(number), os.strerror(int(number)), name)
    return pid


def _become(
    argv: Sequence[str], ends: Sequence[int], env: Mapping[str, str], cwd: str | None, account: Account | None, report: int
) -> NoReturn:
    """In the forked child: turn into the command, or say why not and end."""
    name = argv[0]
    try:
        detach(ends)
        if account is not None:
            name = account.name
            os.setgroups(account.groups)
            os.setgid(account.gid)
            os.setuid(account.uid)
        if cwd is not None:
            name = cwd
            os.chdir(cwd)
        name = argv[0]
        os.execve(_find(name, env), list(argv), dict(env))
    except OSError as error:
        os.write(report, f"{error.errno} {name}".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(127)


def detach(ends: Sequence[int]) -> None:
    """In a forked child: a session of its own, ``ends`` as the first three descriptors, and signals as usual."""
    os.setsid()
    for number, source in enumerate(ends):
        os.dup2(source, number)
    for ignored in RESTORED:
        signal.signal(ignored, signal.SIG_DFL)
