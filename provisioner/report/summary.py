"""The last lines of a run: counts, then what went wrong, grouped by cause, what is still pending, and the command to go on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from provisioner.diagnostics import fold_hosts
from provisioner.events import HostLost, HostStuck, Record, Stats, StepFinished, step_as_dict
from provisioner.report.steps import headline
from provisioner.report.text import Paper, clean, one_line, plural

_LOST: dict[str, str] = {
    "unreachable": "UNREACHABLE",
    "locked": "LOCKED by another run",
    "interrupted": "INTERRUPTED in the middle of a step",
}
Retry = Callable[[Sequence[str]], str]
"""The command line that repeats the run on these hosts only."""


@dataclass
class Failure:
    """The same failure of one task on several hosts."""

    task: str
    place: str
    message: str
    hosts: list[str] = field(default_factory=list)


def outcome(stats: Stats) -> str:
    """A host's run in one word."""
    if stats.unreachable:
        return "unreachable"
    if stats.failed:
        return "failed"
    if stats.changed:
        return "changed"
    return "unknown" if stats.unknown else "ok"


def label_of(role: str | None, task: str) -> str:
    """``role : task`` as one clean line."""
    return one_line(f"{role} : {task}" if role else task)


def failures(steps: Sequence[StepFinished]) -> list[Failure]:
    """Steps that failed for good, grouped by task and message, in the order in which they happened."""
    grouped: dict[tuple[str, str, str], Failure] = {}
    for step in steps:
        if step.status != "failed" or step.ignored or step.rescued:
            continue
        shown = step_as_dict(step)
        key = (label_of(step.role, step.task), shown["source"], headline(shown, step.result))
        failure = grouped.setdefault(key, Failure(*key))
        if step.host not in failure.hosts:
            failure.hosts.append(step.host)
    return list(grouped.values())


def lost_hosts(lost: Sequence[HostLost]) -> list[tuple[HostLost, list[str]]]:
    """Hosts lost for the same reason together."""
    grouped: dict[tuple[str, str, str], tuple[HostLost, list[str]]] = {}
    for one in lost:
        if one.ignored:
            continue
        # A message that names its host would never fold.
        key = tuple(text.replace(one.host, "…") for text in (one.message, one.why, one.help))
        grouped.setdefault((key[0], key[1], key[2]), (one, []))[1].append(one.host)
    return list(grouped.values())


def write_summary(paper: Paper, record: Record, stuck: Mapping[str, HostStuck], retry: Retry | None) -> None:
    """Write the end of a report."""
    words = {name: outcome(stats) for name, stats in record.hosts.items()}
    words |= {one.host: one.kind for one in record.lost if words.get(one.host) == "unreachable" and not one.ignored}
    paper.line()
    paper.line(_counts(paper, record, words))
    failed = failures(record.steps)
    for failure in failed:
        paper.line()
        paper.line(f"{paper.paint('FAILED', 'failed')} {failure.task} · {clean(failure.place)}")
        paper.line(f"  {clean(fold_hosts(failure.hosts))}: {failure.message}")
    lost = lost_hosts(record.lost)
    for kind, title in _LOST.items():
        told = [(one, hosts) for one, hosts in lost if one.kind == kind]
        if told:
            paper.line()
            paper.line(paper.paint(title, "unreachable"))
        for one, hosts in told:
            paper.lines(lost_lines(one, hosts))
    if stuck:
        paper.line()
        paper.line(paper.paint("STUCK", "failed"))
        for host, event in sorted(stuck.items()):
            paper.line(f"  {clean(host)}: nothing heard for {event.seconds:.0f} s in {one_line(event.task)}")
    _write_pending(paper, record)
    again = sorted({name for name, word in words.items() if word in ("failed", *_LOST)} | set(stuck))
    if again and retry is not None:
        paper.line()
        paper.line(f"retry: {clean(retry(again))}")


def lost_lines(one: HostLost, hosts: Sequence[str]) -> list[str]:
    """Why hosts are unreachable, and what to do."""
    name = clean(fold_hosts(hosts))
    lines = [f"  {name}: {one_line(one.message)}"]
    lines += [f"    {word}: {one_line(text)}" for word, text in (("why", one.why), ("help", one.help)) if text]
    if len(hosts) > 1 and one.host in one.message + one.why + one.help:
        lines.append(f"    (shown for {clean(one.host)})")
    return lines


def _counts(paper: Paper, record: Record, words: Mapping[str, str]) -> str:
    total = Stats()
    for stats in record.hosts.values():
        for name, value in stats.as_dict().items():
            setattr(total, name, getattr(total, name) + value)
    hosts = ", ".join(
        paper.paint(f"{count} {word}", {"unknown": "skipped", **dict.fromkeys(_LOST, "unreachable")}.get(word, word))
        for word in ("changed", "ok", "unknown", "failed", *_LOST)
        if (count := sum(1 for each in words.values() if each == word))
    )
    tasks = ", ".join(
        f"{getattr(total, name)} {name}"
        for name in ("ok", "changed", "skipped", "unknown", "failed", "ignored", "rescued")
        if getattr(total, name) or name in ("ok", "changed")
    )
    seconds = f" · {record.finished.seconds:.1f} s" if record.finished else ""
    return f"{paper.paint('SUMMARY', 'bold')} {plural(len(words), 'host')}{': ' + hosts if hosts else ''} · tasks: {tasks}{seconds}"


def _write_pending(paper: Paper, record: Record) -> None:
    pending = record.finished.pending if record.finished else {}
    by_handler: dict[str, list[str]] = {}
    for host, names in pending.items():
        for name in names:
            by_handler.setdefault(name, []).append(host)
    if not by_handler:
        return
    paper.line()
    paper.line(paper.paint("PENDING HANDLERS", "changed") + " (the next apply runs them)")
    for name, hosts in by_handler.items():
        paper.line(f"  {one_line(name)} on {clean(fold_hosts(hosts))}")
