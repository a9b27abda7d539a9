"""A run for people: one line a task with its counts, below it what changed and what failed, hosts folded; the summary last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
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
from provisioner.report.progress import Progress
from provisioner.report.steps import as_json, change_lines, diff_lines, failure_lines, headline, message_lines
from provisioner.report.summary import Retry, label_of, lost_hosts, lost_lines, write_summary
from provisioner.report.text import Paper, clean, one_line, place_of

_COUNTED = ("ok", "changed", "maybe", "deferred", "skipped", "ignored", "rescued", "failed", "unreachable")
_PAINT = {"ignored": "skipped", "rescued": "changed"}


@dataclass
class _Group:
    """What has come of one task so far."""

    label: str
    handler: bool
    action: str
    place: str
    steps: list[StepFinished] = field(default_factory=list)
    ends: list[TaskFinished] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for end in self.ends:
            word = _word(end)
            found[word] = found.get(word, 0) + 1
        return {word: found[word] for word in _COUNTED if word in found}


def _word(end: TaskFinished | StepFinished) -> str:
    if end.status in ("failed", "unreachable"):
        if end.ignored:
            return "ignored"
        if end.rescued:
            return "rescued"
    return end.status


class HumanReport:
    """A listener that writes a run on ``out``, warnings on ``err``, and leaves what goes on right now to ``progress``.

    verbosity   1: also skipped tasks with their reasons and all of a diff; 2: also the result of every step
    diff        show the differences that steps report
    retry       makes the command line that repeats the run on some hosts
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
    ) -> None:
        self._out = out
        self._err = err
        self._verbosity = verbosity
        self._diff = diff
        self._progress = progress
        self._retry = retry
        self._record = Record()
        self._group: _Group | None = None
        self._address = ""
        self._active: set[str] = set()
        self._lost: list[HostLost] = []
        self._stuck: dict[str, HostStuck] = {}

    def __call__(self, event: Event) -> None:
        """Take an event; writes whatever is complete by it."""
        self._record(event)
        if self._progress is not None:
            self._progress(event)
        if isinstance(event, (StepFinished, TaskFinished)):
            self._step(event)
        elif isinstance(event, HostLost):
            self._active.discard(event.host)
            self._lost.append(event)
        elif isinstance(event, PlayStarted):
            self._flush()
            self._active = set(event.hosts)
            self._play(event)
        elif isinstance(event, Warned):
            self._write_aside(self._err, [clean(event.diagnostic.render())], "warning")
        elif isinstance(event, HandlerNotified) and self._verbosity:
            maybe = "" if event.certain else " maybe"
            text = f"  {clean(event.host)} notifies{maybe} {one_line(event.handler)} (because {one_line(event.because)})"
            self._write_aside(self._out, [text], "dim")
        elif isinstance(event, HostStuck) and event.aside:
            self._flush()
            self._stuck[event.host] = event
            self._active.discard(event.host)
            text = (
                f"  {clean(event.host)} has not answered for {event.seconds:.0f} s in {one_line(event.task)}: set aside, the others go on"
            )
            self._write_aside(self._out, [text], "failed")
        elif isinstance(event, (BatchFinished, PlayFinished)):
            self._flush()
        elif isinstance(event, RunFinished):
            self._flush()
            write_summary(self._out, self._record, self._stuck, self._retry)
            self._out.flush()

    def _write_aside(self, paper: Paper, lines: list[str], style: str) -> None:
        with self._progress.aside() if self._progress is not None else nullcontext():
            self._out.flush()
            paper.lines(paper.paint(line, style) for line in lines)
            paper.flush()

    def _play(self, event: PlayStarted) -> None:
        with self._progress.aside() if self._progress is not None else nullcontext():
            hosts = clean(fold_hosts(event.hosts)) if event.hosts else "no hosts"
            self._out.line()
            title = self._out.paint(f"PLAY {one_line(event.play)}", "bold")
            self._out.line(f"{title} · {hosts}{self._out.paint(f' · {clean(place_of(event.source))}', 'dim')}")
            self._out.flush()

    def _step(self, event: StepFinished | TaskFinished) -> None:
        address = event.address.partition("#")[0]
        if self._group is None or address != self._address:
            self._flush()
            role = event.role if isinstance(event, StepFinished) else None
            self._group = _Group(label_of(role, event.task), event.handler, event.action, clean(place_of(event.source)))
            self._address = address
        if isinstance(event, StepFinished):
            self._group.steps.append(event)
            return
        self._group.ends.append(event)
        if event.status in ("failed", "unreachable") and _word(event) == event.status:
            self._active.discard(event.host)
        if self._active and self._active <= {end.host for end in self._group.ends}:
            self._flush()

    def _flush(self) -> None:
        group, self._group = self._group, None
        self._address = ""
        lost, self._lost = self._lost, []
        if group is None and not lost:
            return
        with self._progress.aside() if self._progress is not None else nullcontext():
            if group is not None:
                self._write_group(group)
            for one, hosts in lost_hosts(lost):
                first, *rest = lost_lines(one, hosts)
                self._out.line(self._out.paint(first.replace(": ", " unreachable: ", 1), "unreachable"))
                self._out.lines(rest)
            for one in lost:
                if one.ignored:
                    self._out.line(self._out.paint(f"  {clean(one.host)} unreachable (ignored): {one_line(one.message)}", "dim"))
            self._out.flush()

    def _write_group(self, group: _Group) -> None:
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
        everyone = {end.host for end in group.ends}
        for lines, hosts in details:
            if set(hosts) != everyone:
                self._out.line(f"  {clean(fold_hosts(hosts))}")
            self._out.lines(f"    {line}" for line in lines)

    def _details(self, group: _Group) -> list[tuple[tuple[str, ...], list[str]]]:
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
        word = _word(step)
        label = step.status if word == step.status else f"{step.status} ({word})"
        lines = [f"{self._out.paint(label, _PAINT.get(word, word))}{item}: {headline(shown, result)}"]
        if word != step.status and not self._verbosity:
            return lines
        lines += [f"  {line}" for line in failure_lines(shown, result)]
        lines.append(self._out.paint(f"  at {clean(place_of(step.source))}", "dim"))
        return lines
