"""Where each host of a batch is in the play, and places at which hosts wait for each other.

A place is a tuple that grows with the playbook: index in the list, part of the block, round of the include, and so on. Hosts run ahead on
their own; only who asks for a meeting, or looks at another host, waits, and only for hosts that are still on their way to that place.
A host that failed, ended or was lost has left, so it never holds up anybody.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from provisioner.engine.signals import Stopped

Place: TypeAlias = "tuple[int, ...]"
FIRST = 1
"""Number of the first child of a place; smaller ones are for meetings before it."""
AFTER = 1 << 30
"""``place + (AFTER,)`` follows everything inside a place."""


class Gate:
    """Lets ``forks`` hosts work at the same time; one that waits for others gives up its turn meanwhile."""

    def __init__(self, forks: int) -> None:
        self._turns = threading.Semaphore(max(1, forks))

    def __enter__(self) -> Gate:
        self._turns.acquire()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._turns.release()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Give up the turn while waiting."""
        self._turns.release()
        try:
            yield
        finally:
            self._turns.acquire()


@dataclass
class Meeting:
    """Hosts that wait for each other at a place.

    hosts   who came, in play order; complete once the meeting is held
    brought  what each of them brought
    shared  what the one who does the work for all leaves for the others
    """

    place: Place
    missing: set[str]
    hosts: list[str] = field(default_factory=list)
    brought: dict[str, Any] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    shared: Any = None


class Clocks:
    """The places of the hosts of one batch."""

    def __init__(self, hosts: Sequence[str], gate: Gate) -> None:
        self._rank = {host: index for index, host in enumerate(hosts)}
        self._places: dict[str, Place] = dict.fromkeys(hosts, ())
        self._meetings: dict[Place, Meeting] = {}
        self._lock = threading.Lock()
        self._gate = gate
        self._stopped = False
        self.fatal: set[Place] = set()
        """Places at which a failure of one host was one of all."""
        self.doubtful: set[Place] = set()
        """Places inside rescued blocks at which a plan cannot tell of a host whether it fails."""

    def __len__(self) -> int:
        return len(self._places)

    @property
    def present(self) -> list[str]:
        """Hosts that have not left, in play order."""
        with self._lock:
            return sorted(self._places, key=self._rank.__getitem__)

    def arrive(self, host: str, place: Place) -> None:
        """Everything of this host before the place is settled."""
        with self._lock:
            if host in self._places:
                self._places[host] = place
                if self._meetings:
                    self._settle(host, place)

    def leave(self, host: str) -> None:
        """The host takes no further part in the batch."""
        with self._lock:
            self._places.pop(host, None)
            self._settle(host, (AFTER,) * 2)

    def back(self, host: str, place: Place) -> None:
        """A host that had left takes part again from this place (``clear_host_errors``)."""
        with self._lock:
            self._places[host] = place

    def meet(self, host: str, place: Place, brought: Any = None) -> Meeting:
        """Wait until every other host has come to this place or passed it; ``meeting.hosts`` are those that came."""
        with self._lock:
            self._places[host] = place
            meeting = self._meetings.get(place)
            if meeting is None:
                missing = {other for other, at in self._places.items() if at < place and other != host}
                meeting = self._meetings[place] = Meeting(place, missing)
            meeting.hosts.append(host)
            meeting.brought[host] = brought
            self._settle(host, place)
        self._wait(meeting.held)
        return meeting

    def wait_for(self, others: Sequence[str], place: Place) -> None:
        """Wait until these hosts have come to the place or left."""
        with self._lock:
            missing = {other for other in others if self._places.get(other, place) < place}
            if not missing:
                return
            watch = Meeting(place, missing)
            # A list of watches would do; sharing the dictionary keeps one way of settling.
            key = (*place, -1, id(watch))
            self._meetings[key] = watch
        self._wait(watch.held)

    def wait_done(self, meeting: Meeting) -> Any:
        """Wait for what the working host of a meeting leaves in ``shared``."""
        self._wait(meeting.done)
        return meeting.shared

    def stop(self) -> None:
        """Interrupt everybody who waits."""
        with self._lock:
            self._stopped = True
            for meeting in self._meetings.values():
                meeting.held.set()
                meeting.done.set()

    def _settle(self, host: str, place: Place) -> None:
        for key, meeting in list(self._meetings.items()):
            if place >= meeting.place:
                meeting.missing.discard(host)
            if not meeting.missing:
                meeting.hosts.sort(key=self._rank.__getitem__)
                del self._meetings[key]
                meeting.held.set()

    def _wait(self, event: threading.Event) -> None:
        if not event.is_set():
            with self._gate.away():
                event.wait()
        if self._stopped:
            raise Stopped
