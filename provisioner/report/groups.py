"""Steps of all hosts gathered by task: a task is told once, when every host is through with it, or when waiting has taken too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from provisioner.events import StepFinished, TaskFinished
from provisioner.report.summary import label_of
from provisioner.report.text import clean, place_of

COUNTED = ("ok", "changed", "maybe", "deferred", "skipped", "ignored", "rescued", "failed", "unreachable")


def word_of(end: TaskFinished | StepFinished) -> str:
    """The status, or that a failure does not matter."""
    if end.status in ("failed", "unreachable"):
        if end.ignored:
            return "ignored"
        if end.rescued:
            return "rescued"
    return end.status


@dataclass
class Group:
    """What has come of one task so far."""

    address: str
    label: str
    handler: bool
    action: str
    place: str
    since: float
    steps: list[StepFinished] = field(default_factory=list)
    ends: dict[str, TaskFinished] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Hosts by outcome."""
        found: dict[str, int] = {}
        for end in self.ends.values():
            word = word_of(end)
            found[word] = found.get(word, 0) + 1
        return {word: found[word] for word in COUNTED if word in found}


class Groups:
    """The tasks of a play that are not told yet, in the order in which the first host reached them.

    A host is through with a task when it has finished it, or has begun a later one (it took no part), or has left the play.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._open: dict[str, Group] = {}
        self._numbers: dict[str, int] = {}
        self._reached: dict[str, int] = {}
        self._active: set[str] = set()
        self._count = 0

    def begin(self, hosts: Iterable[str]) -> None:
        """A play begins."""
        self._active = set(hosts)
        self._reached = {}

    def leave(self, host: str) -> None:
        """A host takes no further part."""
        self._active.discard(host)

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that take part now."""
        return frozenset(self._active)

    def add(self, event: StepFinished | TaskFinished) -> None:
        """Put an event to its task."""
        address = event.address.partition("#")[0]
        group = self._open.get(address)
        if group is None:
            role = event.role if isinstance(event, StepFinished) else None
            place = clean(place_of(event.source))
            group = Group(address, label_of(role, event.task), event.handler, event.action, place, self._clock())
            self._open[address] = group
            self._count += 1
            self._numbers[address] = self._count
        self._reached[event.host] = max(self._reached.get(event.host, 0), self._numbers[address])
        if isinstance(event, StepFinished):
            group.steps.append(event)
        else:
            group.ends[event.host] = event

    def ready(self, *, everything: bool = False) -> list[Group]:
        """Take out the tasks that can be told, in order; a task that nobody has finished stays."""
        taken = []
        late = self._clock() - self._patience
        for address, group in list(self._open.items()):
            if not (everything or group.since <= late or self._is_complete(group)):
                break
            if not everything and not group.ends:
                break
            taken.append(self._open.pop(address))
        return taken

    def _is_complete(self, group: Group) -> bool:
        number = self._numbers[group.address]
        return all(host in group.ends or self._reached.get(host, 0) > number for host in self._active)
