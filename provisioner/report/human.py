"""A run for people: one line a task with its counts, below it what changed and what failed, hosts folded; the summary last."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from provisioner.diagnostics import fold_hosts
from provisioner.events import (
    BatchFinished,
    Event,
    HandlerNotified,
    HostLost,
    HostStuck,
    PlayFinished,
    PlayStarted,
    Record,
    RunFinished,
    StepFinished,
    TaskFinished,
    Warned,
    plain,
    step_as_dict,
)
from provisioner.report.groups import Group, Groups, word_of
from provisioner.report.progress import Progress
from provisioner.report.steps import as_json, change_lines, diff_lines, failure_lines, headline, message_lines
from provisioner.report.summary import Retry, lost_hosts, lost_lines, write_summary
from provisioner.report.text import Paper, cause, clean, one_line, place_of

PATIENCE = 10.0
_PAINT = {"ignored": "skipped", "rescued": "changed"}


class HumanReport:
    """A listener that writes a run on ``out``, warnings on ``err``, and leaves what goes on right now to ``progress``.

    verbosity   1: also skipped tasks with their reasons and all of a diff; 2: also the result of every step
    diff        show the differences that steps report
    retry       makes the command line that repeats the run on some hosts
    patience    seconds after which a task is told although some hosts are still at it; those are told later
    """

    def __init__(
        self,
        out: Paper,
        err: Paper,
        *,
        verbosity: int = 0,
        diff: bool = False,
        progress: Progress | None = None,
        retry: Retry | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._out = out
        self._err = err
        self._verbosity = verbosity
        self._diff = diff
        self._progress = progress
        self._retry = retry
        self._record = Record()
        self._groups = Groups(patience)
        self._lost: dict[str, HostLost] = {}
        self._stuck: dict[str, HostStuck] = {}
        self._lock = threading.RLock()
        self._handlers = self._table()
        if progress is not None:
            progress.on_tick = self.tick

    def __call__(self, event: Event) -> None:
        """Take an event; writes whatever is complete by it."""
        if self._progress is not None:
            self._progress(event)
        with self._lock:
            self._record(event)
            handle = self._handlers.get(type(event))
            if handle is not None:
                handle(event)

    def _table(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            StepFinished: self._step,
            TaskFinished: self._task_end,
            HostLost: self._host_lost,
            HostStuck: self._host_stuck,
            PlayStarted: self._play,
            Warned: self._warned,
            HandlerNotified: self._notified,
            BatchFinished: lambda event: self._flush(everything=True),
            PlayFinished: lambda event: self._flush(everything=True),
            RunFinished: self._finish,
        }

    def close(self) -> None:
        """Leave the terminal in order, also when the run ended by an exception; may be called twice."""
        if self._progress is not None:
            self._progress.close()

    def tick(self) -> None:
        """Time has passed: tell what has waited long enough."""
        with self._lock:
            self._flush()

    # What comes

    def _step(self, event: StepFinished) -> None:
        self._groups.add(event)

    def _task_end(self, event: TaskFinished) -> None:
        self._groups.add(event)
        if event.status in ("failed", "unreachable") and word_of(event) == event.status:
            self._groups.leave(event.host)
        self._flush()

    def _host_lost(self, event: HostLost) -> None:
        self._lost[event.host] = event

    def _host_stuck(self, event: HostStuck) -> None:
        if not event.aside:
            return
        self._flush(everything=True)
        self._stuck[event.host] = event
        self._groups.leave(event.host)
        text = f"{clean(event.host)} has not answered for {event.seconds:.0f} s in {one_line(event.task)}"
        with self._writing():
            self._out.line(self._out.paint(f"  {text}: set aside, the others go on", "failed"))

    def _warned(self, event: Warned) -> None:
        with self._writing():
            self._err.line(self._err.paint(clean(event.diagnostic.render()), "warning"))
            self._err.flush()

    def _notified(self, event: HandlerNotified) -> None:
        if self._verbosity:
            maybe = "" if event.certain else " maybe"
            text = f"  {clean(event.host)} notifies{maybe} {one_line(event.handler)} ({cause(one_line(event.because))})"
            with self._writing():
                self._out.line(self._out.paint(text, "dim"))

    def _play(self, event: PlayStarted) -> None:
        self._flush(everything=True)
        self._groups.begin(event.hosts)
        with self._writing():
            hosts = clean(fold_hosts(event.hosts)) if event.hosts else "no hosts"
            self._out.line()
            title = self._out.paint(f"PLAY {one_line(event.play)}", "bold")
            self._out.line(f"{title} · {hosts}{self._out.paint(f' · {clean(place_of(event.source))}', 'dim')}")

    def _finish(self, _event: RunFinished) -> None:
        self._flush(everything=True)
        with self._writing():
            write_summary(self._out, self._record, self._stuck, self._retry)

    # What is written

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The live lines out of the way, and everything handed on at the end."""
        if self._progress is None:
            yield
            self._out.flush()
            return
        with self._progress.aside():
            yield
            self._out.flush()

    def _flush(self, *, everything: bool = False) -> None:
        """Write the tasks that are ready, each with the hosts that were lost in it."""
        for group in self._groups.ready(everything=everything):
            with self._writing():
                self._write_group(group)
                self._write_lost([self._lost.pop(host) for host in group.ends if host in self._lost])
        if everything and self._lost:
            with self._writing():
                self._write_lost(list(self._lost.values()))
            self._lost.clear()

    def _write_lost(self, lost: list[HostLost]) -> None:
        for one, hosts in lost_hosts(lost):
            first, *rest = lost_lines(one, hosts)
            self._out.line(self._out.paint(first.replace(": ", f" {one.kind}: ", 1), "unreachable"))
            self._out.lines(rest)
        for one in lost:
            if one.ignored:
                self._out.line(self._out.paint(f"  {clean(one.host)} {one.kind} (ignored): {one_line(one.message)}", "dim"))

    def _write_group(self, group: Group) -> None:
        counts = group.counts()
        details = self._details(group)
        if set(counts) <= {"skipped"} and not details and not self._verbosity:
            return
        left = f"{'HANDLER' if group.handler else 'TASK'} {group.label}"
        right = "  ".join(f"{word} {count}" for word, count in counts.items())
        painted = "  ".join(self._out.paint(f"{word} {count}", _PAINT.get(word, word)) for word, count in counts.items())
        quiet = set(counts) <= {"ok", "skipped"} and not details
        shown = self._out.paint(left, "dim" if quiet else "bold")
        self._out.spread(shown, painted, left_width=len(left), right_width=len(right))
        everyone = self._groups.hosts | set(group.ends)
        for lines, hosts in details:
            if set(hosts) != everyone:
                self._out.line(f"  {clean(fold_hosts(hosts))}")
            self._out.lines(f"    {line}" for line in lines)

    def _details(self, group: Group) -> list[tuple[tuple[str, ...], list[str]]]:
        """What is worth saying, with the hosts it holds for: hosts with equal lines come together."""
        by_host: dict[str, list[str]] = {}
        for step in group.steps:
            by_host.setdefault(step.host, []).extend(self._step_lines(step))
        grouped: dict[tuple[str, ...], list[str]] = {}
        for host, lines in by_host.items():
            if lines:
                grouped.setdefault(tuple(lines), []).append(host)
        return list(grouped.items())

    def _step_lines(self, step: StepFinished) -> list[str]:
        shown = step_as_dict(step)
        result: Mapping[str, Any] = plain(step.result)
        paper = self._out
        lines: list[str] = []
        item = f" [{one_line(step.item, 60)}]" if step.item is not None else ""
        if step.status == "unreachable":
            return []  # HostLost says more
        if step.status == "failed":
            lines += self._failure(step, shown, result, item)
        else:
            if step.status != "ok" or self._verbosity:  # a step that is ok may have refreshed a package index, and no more
                lines += change_lines(shown, paper)
            if step.action == "debug" and step.status != "skipped":
                lines += message_lines(shown, result)
            elif step.status == "changed" and not step.changes:
                lines.append(f"{paper.paint('!', 'act')} {one_line(step.msg) or 'changed'}{paper.paint(item, 'dim')}")
        if step.status in ("maybe", "deferred") or (step.status == "skipped" and self._verbosity):
            word = paper.paint(step.status, _PAINT.get(step.status, step.status))
            lines.append(f"{word}{item}: {one_line(step.reason or step.msg) or 'no reason given'}")
        if step.delegated_to and (lines or self._verbosity):
            lines.append(paper.paint(f"on {clean(step.delegated_to)}", "dim"))
        if step.attempts > 1:
            lines.append(paper.paint(f"after {step.attempts} attempts", "dim"))
        if self._diff:
            lines += diff_lines(step.diffs, paper, **({"limit": 10**9} if self._verbosity else {}))
        if self._verbosity >= 2:
            lines += [paper.paint(line, "dim") for line in as_json(json.loads(json.dumps(result, default=str)))]
        return lines

    def _failure(self, step: StepFinished, shown: Mapping[str, Any], result: Mapping[str, Any], item: str) -> list[str]:
        word = word_of(step)
        label = step.status if word == step.status else f"{step.status} ({word})"
        lines = [f"{self._out.paint(label, _PAINT.get(word, word))}{item}: {headline(shown, result)}"]
        if word != step.status and not self._verbosity:
            return lines
        lines += [f"  {line}" for line in failure_lines(shown, result)]
        lines.append(self._out.paint(f"  at {clean(place_of(step.source))}", "dim"))
        return lines
