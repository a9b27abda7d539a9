"""What happens in a run, as typed facts: the engine emits them, everything that prints, counts or compares only reads them.

    RunStarted
      PlayStarted                        hosts of the play
        TaskStarted                      once a task, when the first host reaches it
          StepFinished                   a task on a host; one per item when the task loops
          HandlerNotified
          TaskFinished                   the task as a whole on that host: what statistics count
        HostLost · HostStuck             no connection any more · no answer for too long
        BatchFinished                    ``serial``: one batch is through
      PlayFinished
    RunFinished                          statistics, exit code, handlers still pending
    Warned · Progress                    at any time

All texts and values in events are masked already: they may be shown and stored as they are.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from provisioner.diagnostics import Diagnostic, Span
from provisioner.values import find_unknown

LostKind = Literal["unreachable", "locked", "interrupted"]
Status: TypeAlias = Literal["ok", "changed", "failed", "skipped", "unreachable", "maybe", "deferred"]
Mode: TypeAlias = Literal["apply", "plan"]
Order: TypeAlias = "tuple[int, ...]"
"""A place in the run, compared as tuples: play, batch, then the path through sections, blocks and includes."""


@dataclass(frozen=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True)
class RunStarted(Event):
    """``command`` is what the operator asked for (``apply``, ``plan``, ``verify``…)."""

    command: str
    mode: Mode
    playbooks: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class PlayStarted(Event):
    """A play begins on these hosts, in play order; without any, nothing of it runs."""

    play: str
    hosts: tuple[str, ...]
    index: int
    source: Span


@dataclass(frozen=True)
class TaskStarted(Event):
    """The first host has reached a task. ``address`` without item, see ``StepFinished``."""

    play: str
    role: str | None
    task: str
    action: str
    source: Span
    address: str
    handler: bool = False


@dataclass(frozen=True)
class StepFinished(Event):
    """A task on a host, or one item of its loop.

    status      ``maybe``: it is not known whether it happens or whether it changes anything; ``deferred``: what it does is not known,
                ``reason`` says why. Both occur in plans only.
    changes     ``{"kind", "target", "before", "after", "certain"}`` each
    item        the label of the item, None outside loops
    reason      why skipped, maybe or deferred; for a handler: which changes notified it
    result      the return values as ``register`` keeps them; only ``{"censored": …}`` with ``no_log``
    delegated_to  the host whose node did the work, when it was another one
    address     ``play[0]/site.yml:12#item``: the same in plan and apply, unique within a host and a run
    seconds     time spent on the node
    """

    host: str
    play: str
    role: str | None
    task: str
    action: str
    source: Span
    status: Status
    address: str
    item: str | None = None
    changes: tuple[Mapping[str, Any], ...] = ()
    diffs: tuple[str, ...] = ()
    msg: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    ignored: bool = False
    rescued: bool = False
    delegated_to: str | None = None
    reason: str = ""
    seconds: float = 0.0
    handler: bool = False
    attempts: int = 0
    """How often ``until`` tried, 0 without it."""
    unrun: bool = False
    """Whether this is a command that is declared to change nothing, and that the plan did not run."""


@dataclass(frozen=True)
class TaskFinished(Event):
    """The outcome of a task on a host over all its items; exactly one per task and host that took part."""

    host: str
    play: str
    task: str
    action: str
    source: Span
    status: Status
    address: str
    ignored: bool = False
    rescued: bool = False
    seconds: float = 0.0
    handler: bool = False
    changed: bool = False
    """Whether something changed, also when the task failed."""
    count: int = 1
    """How often it counts: an include in a loop once an item."""


@dataclass(frozen=True)
class HandlerNotified(Event):
    """A changed step will run this handler; ``because`` names what changed. ``certain`` is False when that is only maybe so."""

    host: str
    handler: str
    because: str
    certain: bool = True


@dataclass(frozen=True)
class HostLost(Event):
    """A host cannot be reached, or its connection broke; it takes no further part unless ``ignored``.

    kind: how that came: ``unreachable``, ``locked`` (another run holds it) or ``interrupted`` (this run was ended in the middle of a step).
    """

    host: str
    message: str
    why: str = ""
    help: str = ""
    ignored: bool = False
    kind: LostKind = "unreachable"


@dataclass(frozen=True)
class HostStuck(Event):
    """A host has not answered for ``seconds``; ``aside``: the others go on without it."""

    host: str
    task: str
    seconds: float
    aside: bool = False


@dataclass(frozen=True)
class Warned(Event):
    """Something a person should know; the same warning is emitted once, with all its hosts where they are known."""

    diagnostic: Diagnostic


@dataclass(frozen=True)
class Progress(Event):
    """What a long step says while it runs."""

    host: str
    text: str


@dataclass(frozen=True)
class BatchFinished(Event):
    """One batch of a play with ``serial`` is through."""

    play: str
    hosts: tuple[str, ...]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlayFinished(Event):
    """The play is over on all hosts; ``failed`` are those that left it because of a failure."""

    play: str
    index: int
    failed: tuple[str, ...] = ()


@dataclass
class Stats:
    """Counts of tasks on one host. ``ok`` includes changed and ignored ones; ``unknown`` is maybe and deferred together."""

    ok: int = 0
    changed: int = 0
    failed: int = 0
    skipped: int = 0
    unreachable: int = 0
    unknown: int = 0
    rescued: int = 0
    ignored: int = 0

    def count(self, done: TaskFinished) -> None:
        """Add one finished task."""
        if done.status in ("failed", "unreachable") and done.ignored:
            self.ok += 1
            self.ignored += 1
            self.changed += done.changed
        elif done.status == "failed" and done.rescued:
            self.rescued += 1
        elif done.status == "unreachable":
            self.unreachable += 1
        elif done.status == "failed":
            self.failed += 1
        elif done.status == "skipped":
            self.skipped += 1
        elif done.status in ("maybe", "deferred"):
            self.unknown += 1
        else:
            self.ok += done.count
            self.changed += done.status == "changed"

    def as_dict(self) -> dict[str, int]:
        """Name → count."""
        return dict(vars(self))


@dataclass(frozen=True)
class RunFinished(Event):
    """The run is over. ``pending``: handlers that were notified and have not run, by host."""

    ok: bool
    exit_code: int
    stats: Mapping[str, Stats]
    seconds: float
    pending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Listener: TypeAlias = Callable[[Event], None]


class Record:
    """A listener that keeps what the JSON documents of runs and plans show; ``document()`` gives it."""

    def __init__(self, command: str = "") -> None:
        self.command = command
        self.mode: Mode = "apply"
        self.hosts: dict[str, Stats] = {}
        self.steps: list[StepFinished] = []
        self.warnings: list[Diagnostic] = []
        self.lost: list[HostLost] = []
        self.playbooks: tuple[str, ...] = ()
        self.finished: RunFinished | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepFinished):
            self.steps.append(event)
        elif isinstance(event, TaskFinished):
            self.hosts.setdefault(event.host, Stats()).count(event)
        elif isinstance(event, HostLost):
            self.lost.append(event)
            self.hosts.setdefault(event.host, Stats())
        elif isinstance(event, PlayStarted):
            for host in event.hosts:
                self.hosts.setdefault(host, Stats())
        elif isinstance(event, Warned):
            self.warnings.append(event.diagnostic)
        elif isinstance(event, RunStarted):
            self.command = self.command or event.command
            self.mode = event.mode
            self.playbooks = event.playbooks
        elif isinstance(event, RunFinished):
            self.finished = event

    def document(self) -> dict[str, Any]:
        """The run as one JSON-ready mapping, schema ``provision.run/1`` or ``provision.plan/1``."""
        total = Stats()
        for stats in self.hosts.values():
            for name, value in stats.as_dict().items():
                setattr(total, name, getattr(total, name) + value)
        document: dict[str, Any] = {
            "schema": "provision.plan/1" if self.mode == "plan" else "provision.run/1",
            "command": self.command,
            "ok": self.finished.ok if self.finished else False,
            "playbooks": list(self.playbooks),
            "hosts": {name: stats.as_dict() for name, stats in self.hosts.items()},
            "steps": [step_as_dict(step) for step in self.steps],
            "stats": {**total.as_dict(), "seconds": round(self.finished.seconds, 3) if self.finished else 0.0},
            "warnings": [warning.render(source=False) for warning in self.warnings],
            "lost": [
                {"host": lost.host, "message": lost.message, "why": lost.why, "help": lost.help, "kind": lost.kind} for lost in self.lost
            ],
        }
        if self.finished and self.finished.pending:
            document["pending_handlers"] = {host: list(names) for host, names in self.finished.pending.items()}
        return document


def step_as_dict(step: StepFinished) -> dict[str, Any]:
    """A step as JSON-ready data; ``source`` is ``file:line``, optional fields stand only where they say something."""
    source = f"{step.source.file}:{step.source.line}" if step.source.line else step.source.file
    shown: dict[str, Any] = {
        "host": step.host,
        "play": step.play,
        "role": step.role,
        "task": step.task,
        "action": step.action,
        "source": source,
        "item": step.item,
        "status": step.status,
        "changes": [plain(change) for change in step.changes],
        "msg": step.msg,
        "seconds": round(step.seconds, 4),
        "address": step.address,
    }
    optional = {
        "reason": step.reason,
        "diffs": list(step.diffs),
        "ignored": step.ignored,
        "rescued": step.rescued,
        "delegated_to": step.delegated_to,
        "handler": step.handler,
        "attempts": step.attempts,
        "unrun": step.unrun,
    }
    shown.update({name: value for name, value in optional.items() if value})
    return shown


def plain(value: Any) -> Any:
    """Nested values as JSON can hold them; what is unknown becomes ``{"unknown": because}``."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(child) for child in value]
    unknown = find_unknown(value)
    if unknown is not None:
        return {"unknown": unknown.because}
    return str(value)


class EventQueue:
    """Brings the events of many threads to one listener, in one thread, in the order of the playbook where that costs no waiting.

    An event with a place (``order``) is held until every host still at work is beyond that place, so that the hosts of a task come
    together and in play order; but not longer than ``patience`` seconds, so that one slow host hides nothing. An exception of the
    listener ends the delivery and is raised again by ``close``.
    """

    def __init__(self, listener: Listener, patience: float = 0.4) -> None:
        self._listener = listener
        self._patience = patience
        self._inbox: queue.SimpleQueue[tuple[str, Any, Any, Any]] = queue.SimpleQueue()
        self._held: list[tuple[Order, int, int, float, Event]] = []
        self._reached: dict[str, Order] = {}
        self._rank: dict[str, int] = {}
        self._numbers = itertools.count()
        self._error: BaseException | None = None
        self._next_check = 0.0
        self._thread = threading.Thread(target=self._deliver, name="events", daemon=True)
        self._thread.start()

    def begin(self, hosts: Sequence[str], order: Order) -> None:
        """These hosts are now at work, from this place on."""
        self._inbox.put(("begin", tuple(hosts), order, None))

    def put(self, event: Event, order: Order | None = None, host: str | None = None) -> None:
        """Emit an event; without a place it is delivered at once."""
        self._inbox.put(("event", event, order, host))

    def reached(self, host: str, order: Order) -> None:
        """Nothing more will come from this host for places before this one."""
        self._inbox.put(("reached", host, order, None))

    def retire(self, host: str) -> None:
        """Nothing more will come from this host for now."""
        self._inbox.put(("retire", host, None, None))

    def flush(self) -> None:
        """Wait until everything emitted so far has been delivered."""
        done = threading.Event()
        self._inbox.put(("flush", done, None, None))
        done.wait()

    def close(self) -> None:
        """Deliver the rest, stop, and raise what the listener raised."""
        if self._thread.is_alive():
            self._inbox.put(("close", None, None, None))
            self._thread.join()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _deliver(self) -> None:
        while True:
            try:
                kind, first, second, host = self._inbox.get(timeout=self._wait())
            except queue.Empty:
                self._release()
                continue
            if kind == "event" and second is None:
                self._tell(first)
            elif kind == "event":
                rank = -1 if host is None else self._rank.get(host, 0)
                heapq.heappush(self._held, (second, rank, next(self._numbers), time.monotonic() + self._patience, first))
            elif kind == "begin":
                self._rank = {name: index for index, name in enumerate(first)}
                self._reached = dict.fromkeys(first, second)
            elif kind == "reached":
                self._reached[first] = second
            elif kind == "retire":
                self._reached.pop(first, None)
            else:
                self._release(everything=True)
                if kind == "close":
                    return
                first.set()
                continue
            if kind != "event" and self._inbox.empty():
                self._release()

    def _wait(self) -> float | None:
        """Seconds until held events are looked at again; None when there are none."""
        return self._patience / 2 if self._held else None

    def _release(self, everything: bool = False) -> None:
        """Deliver what every host has reached, and all that stands before an event that has waited too long."""
        now = time.monotonic()
        late = None
        if everything or now >= self._next_check:
            self._next_check = now + self._patience / 4
            late = max((held[:3] for held in self._held if everything or held[3] <= now), default=None)
        slowest = min(self._reached.values(), default=None)
        while self._held:
            head = self._held[0]
            ripe = slowest is None or head[0] < slowest
            if not ripe and (late is None or head[:3] > late):
                return
            heapq.heappop(self._held)
            self._tell(head[4])

    def _tell(self, event: Event) -> None:
        if self._error is not None:
            return
        try:
            self._listener(event)
        except BaseException as error:  # raised again in close(): the engine must not die in a foreign thread
            self._error = error
