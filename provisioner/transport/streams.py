"""Both directions of a started process, wherever it runs, and the local kind of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from provisioner.errors import HostUnreachable
from provisioner.ports import Executed

PIECE = 1 << 18
LATE_ERRORS = 0.5
"""Seconds to wait for the rest of stderr after stdout has ended."""


class Stream(Protocol):
    """A started process: what it reads and writes. One thread uses it at a time, but ``close`` may come from any."""

    login: str
    """The user the connection logged in as, before any become."""

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        """What came on stdout and stderr; both empty when nothing did in time, None after the end of stdout."""
        ...

    def send(self, data: memoryview, timeout: float) -> int:
        """Write some of ``data``; how much, 0 when nothing could be written in time. ``BrokenPipeError``: nobody reads it."""
        ...

    def finish(self) -> None:
        """Close the process's stdin."""
        ...

    def exit_code(self, timeout: float) -> int | None:
        """How the process ended, or None when that is not known in time."""
        ...

    def interrupt(self) -> None:
        """Ask the process and its children to end; a process of another user may not heed it."""
        ...

    def trouble(self) -> str:
        """Why the connection is to be taken for dead, or an empty text."""
        ...

    def close(self) -> None:
        """Let go of the process and of the connection; safe to call twice."""
        ...


class ProcessStream:
    """A process on this machine, in a session of its own so that a key press in the terminal does not reach it."""

    def __init__(self, argv: Sequence[str], login: str) -> None:
        """``OSError`` when it cannot be started."""
        self.login = login
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._stderr = self._process.stderr
        self._closed = False
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        os.set_blocking(self._stdin.fileno(), False)
        self._outputs = select.poll()
        for file in (self._stdout, self._stderr):
            self._outputs.register(file, select.POLLIN)

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        """See ``Stream.receive``."""
        with self._reading:
            if self._closed:
                return None
            ready = {number for number, _ in self._outputs.poll(timeout * 1000)}
            out = err = b""
            if self._stderr.fileno() in ready:
                err = os.read(self._stderr.fileno(), PIECE)
                if not err:
                    self._outputs.unregister(self._stderr)
            if self._stdout.fileno() in ready:
                out = os.read(self._stdout.fileno(), PIECE)
                if not out:
                    return (b"", err) if err else None
            return out, err

    def send(self, data: memoryview, timeout: float) -> int:
        """See ``Stream.send``."""
        with self._writing:
            if self._stdin.closed:
                raise BrokenPipeError
            poll = select.poll()
            poll.register(self._stdin, select.POLLOUT)
            if not poll.poll(timeout * 1000):
                return 0
            try:
                return os.write(self._stdin.fileno(), data[:PIECE])
            except BlockingIOError:
                return 0

    def finish(self) -> None:
        """See ``Stream.finish``."""
        with self._writing:
            self._stdin.close()

    def exit_code(self, timeout: float) -> int | None:
        """See ``Stream.exit_code``."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def interrupt(self) -> None:
        """See ``Stream.interrupt``."""
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            pass  # it has ended, or is somebody else's by now

    def trouble(self) -> str:
        """See ``Stream.trouble``: a process on this machine is either there or not."""
        return ""

    def close(self) -> None:
        """See ``Stream.close``. The process sees the end of its input and ends in its own time."""
        if self._closed:
            return
        self._closed = True
        self.finish()
        with self._reading:  # a descriptor must not be closed under somebody who waits on it
            self._stdout.close()
            self._stderr.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            pass  # a package manager may finish what it does; nobody has to wait for it


class StreamLost(HostUnreachable):
    """Nobody reads what we write any more."""

    def __init__(self) -> None:
        super().__init__("the connection was lost")


class Feeder:
    """Writes that give up on a dead connection, and reads that keep what stderr said."""

    KEPT = 4096

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.errors = b""
        """The end of what came on stderr."""

    def send(self, data: bytes, patience: float) -> None:
        """Write everything; ``HostUnreachable`` when nothing can be written for ``patience`` seconds."""
        rest = memoryview(data)
        until = time.monotonic() + patience
        while rest:
            try:
                written = self.stream.send(rest, 1.0)
            except OSError:
                raise StreamLost from None
            if written:
                rest = rest[written:]
                until = time.monotonic() + patience
            else:
                self.check(until, patience)

    def receive(self, timeout: float) -> bytes | None:
        """What came on stdout, b"" when nothing did in time, None at its end."""
        got = self.stream.receive(timeout)
        if got is None:
            return None
        out, err = got
        if err:
            self.errors = (self.errors + err)[-self.KEPT :]
        return out

    def check(self, until: float, patience: float) -> None:
        """``HostUnreachable`` when the connection is dead, or ``until`` has passed."""
        trouble = self.stream.trouble()
        if trouble:
            raise HostUnreachable(trouble)
        if time.monotonic() >= until:
            raise HostUnreachable(f"the node does not answer since {patience:g} s")

    def last_words(self) -> str:
        """What stderr said, as text, waiting a moment for the rest of it."""
        until = time.monotonic() + LATE_ERRORS
        while time.monotonic() < until and self.receive(0.05) is not None:
            pass
        return self.errors.decode("utf-8", "replace").strip()


@dataclass(frozen=True)
class Question:
    """What a plain command may ask on stderr before it runs, and the one answer to it; afterwards its stdin is closed."""

    prompts: tuple[bytes, ...]
    answer: bytes
    patience: float
    """Seconds after which it will not be asked any more."""


def run_plainly(stream: Stream, timeout: float | None, question: Question | None = None) -> tuple[Executed, int]:
    """Take a plain command's whole output and its exit code, and how often it asked; one over its time is told to end."""
    outputs: list[bytes] = []
    errors: list[bytes] = []
    asked = 0
    started = time.monotonic()
    until = None if timeout is None else started + timeout
    if question is None:
        stream.finish()
    while True:
        trouble = stream.trouble()
        if trouble:
            raise HostUnreachable(trouble)
        if until is not None and time.monotonic() >= until:
            stream.interrupt()
            return Executed(-15, b"".join(outputs), b"".join(errors), timed_out=True), asked
        got = stream.receive(1.0 if until is None else min(1.0, max(0.0, until - time.monotonic())))
        if got is None:
            break
        outputs.append(got[0])
        errors.append(got[1])
        if question is not None:
            said = b"".join(errors)
            prompt = next((each for each in question.prompts if each in said), None)
            if prompt is not None:
                asked += 1
                errors = [said.replace(prompt, b"", 1)]
                _send_all(stream, question.answer)
            if prompt is not None or got[0] or time.monotonic() - started >= question.patience:
                # From here on a second question finds the end of its input instead of an answer.
                stream.finish()
                question = None
    code = stream.exit_code(10.0)
    if code is None:
        raise HostUnreachable("the connection was lost before the command ended", help="look on the node whether it still runs")
    return Executed(code, b"".join(outputs), b"".join(errors)), asked


def _send_all(stream: Stream, data: bytes) -> None:
    try:
        Feeder(stream).send(data, 10.0)
    except StreamLost:
        return  # it has ended meanwhile; how, is seen next
