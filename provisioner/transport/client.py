"""The controller's end of an agent's stream: questions in order, answers in order, and a deadline on every wait."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.errors import HostUnreachable, NodeLocked
from provisioner.node import WITH_FIELD, wire
from provisioner.ports import AgentInfo, Executed, Mode, Reply, Step
from provisioner.transport.packing import field_files
from provisioner.transport.streams import Feeder, StreamLost
from provisioner.values import Unknown

SourceOf = Callable[[str], Mapping[str, str]]
"""The sources a module needs on a node, by full module name."""
SILENCE = 300.0
"""Seconds without any sign of life from an agent, which gives one every 15 s while it works."""
GRACE = 30.0
"""Seconds an agent may take longer than all the deadlines it was given together."""
GREETING = 30.0
TRACE = 2000


@dataclass(frozen=True)
class Terms:
    """What a run wants of every agent. ``who`` holds the node's lock; another run waits ``lock_wait`` seconds for it."""

    source_of: SourceOf
    who: str
    lock_wait: float = 10.0
    cache: bool = True
    silence: float = SILENCE
    _frames: dict[tuple[str, ...], bytes] = field(default_factory=dict, init=False)

    def code(self, files: Mapping[str, str]) -> bytes:
        """The message with these sources, packed once for all hosts: a fleet is asked for the same at the same place."""
        names = tuple(files)
        frame = self._frames.get(names)
        if frame is None:
            keys = {name: hashlib.sha256(f"{name}\0{source}".encode()).hexdigest() for name, source in files.items()}
            frame = self._frames[names] = _pack({"type": "code", "files": dict(files), "keys": keys}, b"")
        return frame


class Client:
    """A started agent; see ``ports.Agent`` for the contract."""

    def __init__(self, feeder: Feeder, terms: Terms, came: bytes) -> None:
        """``came``: what the stream has already given behind the marker. Waits for the agent's greeting."""
        self._feeder = feeder
        self._terms = terms
        self._buffer = came
        self._known: set[tuple[str, SourceOf]] = set()
        self._sent: set[str] = set()
        self._using = threading.RLock()
        self._closed = False
        self._busy_with = "greeting"
        self._deadline: float | None = time.monotonic() + terms.lock_wait + GREETING
        self._promised = terms.lock_wait + GREETING
        self.info = self._greeting()

    # -- frames --------------------------------------------------------------------------------------------------------------------

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        self._send_frame(_pack(header, body))

    def _send_frame(self, frame: bytes) -> None:
        try:
            self._feeder.send(frame, self._terms.silence)
        except StreamLost:
            while True:
                self._frame()  # ends with what the agent said last, or with how it was lost

    def _frame(self) -> tuple[dict[str, Any], bytes]:
        try:
            header, body = wire.read_frame(self._read, _decode)
        except (wire.WireError, ValueError) as error:
            raise HostUnreachable(f"the agent's stream broke while {self._busy_with}: {error}", why=self._feeder.last_words()) from None
        if header["type"] == "bug":
            trace = header["trace"].strip()
            raise HostUnreachable(
                f"the agent failed while {self._busy_with}; this is a bug of provision: {trace.splitlines()[-1]}",
                why=trace[-TRACE:],
                help="please report it with this text",
            )
        if header["type"] == "refused":
            raise _refused(header)
        return header, body

    def _read(self, size: int) -> bytes:
        """Up to ``size`` bytes of the stream; ``HostUnreachable`` when it stays silent for too long."""
        silent_until = time.monotonic() + self._terms.silence
        while not self._buffer:
            piece = self._feeder.receive(1.0)
            if piece is None:
                raise self._lost()
            self._buffer = piece
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise HostUnreachable(
                    f"the node does not answer since {self._promised:g} s while {self._busy_with}",
                    why="that is longer than everything it was asked for may take",
                )
            if not piece:
                self._feeder.check(silent_until, self._terms.silence)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _lost(self) -> HostUnreachable:
        if self._closed:
            return HostUnreachable("the connection was closed by this run")
        trouble = self._feeder.stream.trouble()
        code = self._feeder.stream.exit_code(0.5)
        ending = trouble or ("the agent ended" + (f" with exit code {code}" if code is not None else ""))
        return HostUnreachable(
            f"the connection was lost while {self._busy_with}",
            why="; ".join(part for part in (ending, self._feeder.last_words()) if part),
            help="run it again: a run continues where this one stopped, and nothing was left half-written",
        )

    def _greeting(self) -> AgentInfo:
        header, _ = self._frame()
        self._deadline = None
        if header["type"] != "hello" or header["version"] != wire.VERSION:
            raise HostUnreachable(f"the agent answered {header['type']!r} instead of a greeting")
        return AgentInfo(
            header["python"], header["user"], header["uid"], header["hostname"], tuple(header["pending"]), self._feeder.stream.login
        )

    # -- steps ---------------------------------------------------------------------------------------------------------------------

    def run(
        self,
        steps: Sequence[Step],
        on_reply: Callable[[Reply], None],
        *,
        contents: Mapping[str, Callable[[], bytes]] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
        on_data: Callable[[int, bytes, bool], None] | None = None,
    ) -> int:
        """See ``ports.Agent.run``."""
        if not steps:
            return 0
        with self._using, _Closing(self):
            left = {step.id: step for step in steps}
            self._busy_with = f"running {steps[0].module}"
            self._expect([step.timeout for step in steps])
            self._send_code(steps)
            self._send({"type": "steps", "id": steps[0].id, "steps": [_step(step) for step in steps]})
            while True:
                header, body = self._frame()
                kind = header["type"]
                if kind == "reply":
                    left.pop(header["id"], None)
                    if left:
                        self._busy_with = f"running {next(iter(left.values())).module}"
                    on_reply(_reply(header, body))
                elif kind == "done":
                    self._deadline = None
                    return int(header["ran"])
                elif kind == "need":
                    self._give(header["sha256"], contents or {})
                elif kind == "progress":
                    if on_progress is not None and header["text"]:
                        on_progress(header["step"], header["text"])
                elif kind == "data":
                    if on_data is not None:
                        on_data(header["step"], body, header["last"])
                else:
                    raise HostUnreachable(f"the agent sent {kind!r} while {self._busy_with}")

    def _expect(self, limits: Sequence[float | None]) -> None:
        """Set the deadline of what follows: the sum of its parts, or none when one of them has none."""
        known = [limit for limit in limits if limit is not None]
        self._promised = sum(known) + GRACE
        self._deadline = time.monotonic() + self._promised if len(known) == len(limits) else None

    def _send_code(self, steps: Sequence[Step]) -> None:
        files: dict[str, str] = {}
        sources = [(step.module, self._terms.source_of) for step in steps]
        sources += [(field, field_files) for field in WITH_FIELD if any(getattr(step, field) for step in steps)]
        for key in dict.fromkeys(sources):
            if key not in self._known:
                self._known.add(key)
                name, source_of = key
                files.update((file, source) for file, source in source_of(name).items() if file not in self._sent)
        if files:
            self._sent.update(files)
            self._send_frame(self._terms.code(files))

    def _give(self, digest: str, contents: Mapping[str, Callable[[], bytes]]) -> None:
        """Send a content the agent asks for, or why there is none."""
        try:
            data = contents[digest]()
        except KeyError:
            self._send({"type": "blob", "sha256": digest, "last": True, "error": f"nothing has the digest {digest[:12]}"})
            return
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            self._send({"type": "blob", "sha256": digest, "last": True, "error": reason})
            return
        deadline, self._deadline = self._deadline, None
        for start in range(0, max(len(data), 1), wire.PIECE):
            piece = data[start : start + wire.PIECE]
            self._send({"type": "blob", "sha256": digest, "last": start + wire.PIECE >= len(data), "error": ""}, piece)
        if deadline is not None:
            # The time a transfer takes is the network's, not the step's.
            self._deadline = max(deadline, time.monotonic() + GRACE)

    # -- the rest ------------------------------------------------------------------------------------------------------------------

    def journal(self, add: Sequence[str] = (), done: Sequence[str] = ()) -> None:
        """See ``ports.Agent.journal``."""
        with self._using, _Closing(self):
            self._busy_with = "noting handlers"
            self._send({"type": "journal", "add": list(add), "done": list(done)})

    def execute(
        self, command: str | Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, user: str | None = None
    ) -> Executed:
        """See ``ports.Agent.execute``."""
        what = {"shell": command} if isinstance(command, str) else {"argv": list(command)}
        with self._using, _Closing(self):
            self._busy_with = f"running {command if isinstance(command, str) else command[0]}"
            self._expect([timeout])
            self._send({"type": "exec", **what, "timeout": timeout, "user": user}, stdin)
            while True:
                header, body = self._frame()
                if header["type"] == "executed":
                    self._deadline = None
                    split = header["stdout_bytes"]
                    return Executed(header["rc"], body[:split], body[split:], header["timed_out"])

    def close(self) -> None:
        """See ``ports.Agent.close``. An agent that is busy sees the end of its stream and ends what may be ended."""
        if self._closed:
            return
        self._closed = True
        if self._using.acquire(blocking=False):
            try:
                self._feeder.send(wire.pack({"type": "bye"}), 1.0)
            except HostUnreachable:
                pass  # it has gone already, as it should
            finally:
                self._using.release()
        self._feeder.stream.close()


class _Closing:
    """Closes a client when what happens inside does not end well: nobody knows where its stream stands then."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __enter__(self) -> None:
        if self._client._closed:
            raise HostUnreachable("the connection is closed")

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _trace: object) -> None:
        if kind is not None:
            self._client._closed = True
            self._client._feeder.stream.close()


def hello(mode: Mode, terms: Terms, login: str) -> bytes:
    """The first frame to an agent."""
    wants = {"mode": mode, "who": terms.who, "lock_wait": terms.lock_wait, "cache": terms.cache, "login": login}
    return wire.pack({"type": "hello", "version": wire.VERSION, **wants})


def _refused(header: dict[str, Any]) -> HostUnreachable:
    if header["holder"]:
        return NodeLocked(
            f"{header['reason']}: {header['holder']}",
            why="two runs at once on one node would undo each other's work",
            help="wait for it to end; its lock goes with its process",
        )
    return HostUnreachable(header["reason"])


def _step(step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "module": step.module,
        "params": step.params,
        "user": step.user,
        "environment": step.environment,
        "timeout": step.timeout,
        "diff": step.diff,
        "maybe": step.maybe,
        "quiet": step.quiet,
        "trial": step.trial,
        "real": step.real,
        "background": vars(step.background) if step.background else None,
        "notify": step.notify,
    }


def _reply(header: dict[str, Any], body: bytes) -> Reply:
    if body:
        header = wire.attach(header, body)
    return Reply(
        id=header["id"],
        result=header["result"],
        changes=header["changes"],
        diffs=header["diffs"],
        seconds=header["seconds"],
        deferred=header.get("deferred"),
        tainted=header.get("tainted"),
        unknown=header.get("unknown"),
    )


def _pack(header: dict[str, Any], body: bytes) -> bytes:
    try:
        return wire.pack(header, body)
    except TypeError:
        # Rare enough to look for it only when it is there: our own unknown values and read-only mappings.
        return wire.pack(_plain(header), body)


def _plain(value: Any) -> Any:
    if isinstance(value, Unknown):
        return wire.Unknown(value.because)
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child) for child in value]
    return value


def _decode(text: bytes) -> Any:
    """A header's JSON, with what only the apply can know as ``Unknown``."""
    if f'"{wire.UNKNOWN_KEY}":'.encode() not in text:
        return json.loads(text)
    return json.loads(text, object_hook=lambda found: Unknown(str(found[wire.UNKNOWN_KEY])) if wire.UNKNOWN_KEY in found else found)
