"""What goes on right now: a few live lines below the output on a terminal, an occasional plain line elsewhere."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from provisioner.events import Event, HostLost, HostStuck, PlayStarted, RunFinished, RunStarted, StepFinished, TaskFinished, TaskStarted
from provisioner.events import Progress as ProgressEvent
from provisioner.report.text import Paper, one_line, plural, shorten

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SLOW_HOSTS = 3


class Progress:
    """A listener that shows the current task, how many hosts have done it, and which hosts keep it waiting.

    ``live``: redraw in place (the paper is a terminal); else say so every ``heartbeat`` seconds. Whoever writes elsewhere on the same
    terminal does it inside ``aside()``.
    """

    def __init__(
        self,
        paper: Paper,
        *,
        live: bool,
        heartbeat: float = 30.0,
        slow_after: float = 3.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paper = paper
        self._live = live
        self._heartbeat = heartbeat
        self._slow_after = slow_after
        self._clock = clock
        self._lock = threading.RLock()
        self._drawn = 0
        self._frames = itertools.cycle("-\\|/" if paper.ascii else _FRAMES)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._task = ""
        self._address = ""
        self._started = clock()
        self._active: dict[str, float] = {}
        self._done: set[str] = set()
        self._said: dict[str, str] = {}
        self._stuck: dict[str, float] = {}
        self.on_tick: Callable[[], None] | None = None
        """Called about once a second while a run goes on, from a thread of this display."""

    def __call__(self, event: Event) -> None:
        """Take note; draws nothing by itself."""
        if isinstance(event, RunStarted):
            self._begin()
        elif isinstance(event, RunFinished):
            self.close()
        else:
            self._note(event)

    def _note(self, event: Event) -> None:
        with self._lock:
            now = self._clock()
            if isinstance(event, PlayStarted):
                self._active = dict.fromkeys(event.hosts, now)
            elif isinstance(event, TaskStarted):
                label = f"{event.role} : {event.task}" if event.role else event.task
                self._task, self._address, self._started = label, event.address, now
                self._done = set()
            elif isinstance(event, TaskFinished):
                self._heard(event.host, now)
                if event.address == self._address:
                    self._done.add(event.host)
                if event.status == "failed" and not (event.ignored or event.rescued):
                    self._active.pop(event.host, None)
            elif isinstance(event, StepFinished):
                self._heard(event.host, now)
            elif isinstance(event, ProgressEvent):
                self._said[event.host] = event.text
                self._stuck.pop(event.host, None)
            elif isinstance(event, HostStuck):
                self._stuck[event.host] = event.seconds
                if event.aside:
                    self._active.pop(event.host, None)
            elif isinstance(event, HostLost) and not event.ignored:
                self._active.pop(event.host, None)

    def _heard(self, host: str, now: float) -> None:
        if host in self._active:
            self._active[host] = now
        self._said.pop(host, None)
        self._stuck.pop(host, None)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wipe the live lines and stop; not from inside ``aside()``."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._wipe()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Write elsewhere on the same terminal while the live lines are out of the way."""
        with self._lock:
            self._wipe()
            yield

    def _tick(self) -> None:
        pause = 0.3 if self._live else min(1.0, self._heartbeat)  # a run that is over at once never flickers
        ticked = beaten = time.monotonic()
        while not self._stop.wait(pause):
            now = time.monotonic()
            if self.on_tick is not None and now - ticked >= 1.0:
                ticked = now
                self.on_tick()
            with self._lock:
                if self._stop.is_set() or not self._task:
                    continue
                if self._live:
                    pause = 0.1
                    self._draw()
                elif now - beaten >= self._heartbeat:
                    beaten = now
                    self._paper.lines(self._lines("…"))
                    self._paper.flush()

    def _draw(self) -> None:
        lines = self._lines(next(self._frames))
        self._wipe()
        width = self._paper.width - 1
        self._paper.lines(self._paper.paint(shorten(line, width), "dim") for line in lines)
        self._drawn = len(lines)
        self._paper.flush()

    def _wipe(self) -> None:
        if self._drawn:
            self._paper.stream.write(f"\x1b[{self._drawn}F\x1b[J")
            self._paper.flush()
            self._drawn = 0

    def _lines(self, mark: str) -> list[str]:
        """The current task with its count, then the hosts that keep it waiting longest."""
        now = self._clock()
        total = len(self._active)
        done = len(self._done & set(self._active))
        lines = [f"{mark} {one_line(self._task)}  {done}/{total} hosts  {duration(now - self._started)}"]
        waiting = sorted(((now - since, host) for host, since in self._active.items() if host not in self._done), reverse=True)
        slow = [(seconds, host) for seconds, host in waiting if seconds >= self._slow_after]
        for seconds, host in slow[:_SLOW_HOSTS]:
            said = one_line(self._said.get(host, ""))
            if host in self._stuck:
                said = f"nothing heard for {duration(self._stuck[host])}" + (f", last: {said}" if said else "")
            lines.append(f"    {one_line(host)}  {duration(seconds)}  {said}".rstrip())
        if len(slow) > _SLOW_HOSTS:
            lines.append(f"    and {plural(len(slow) - _SLOW_HOSTS, 'more host')}")
        return lines


def duration(seconds: float) -> str:
    """``0:42``, ``1:02:03``."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
