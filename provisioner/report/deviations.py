"""Where reality left a plan, in words: drift found before an apply, and steps that did something else than was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from provisioner.diagnostics import fold_hosts
from provisioner.plan.compare import Mismatch
from provisioner.plan.drift import Drift
from provisioner.report.changes import describe, unknown_reason
from provisioner.report.text import clean, one_line

_SHORT = 12


def drift_lines(drifts: Iterable[Drift]) -> list[str]:
    """One entry per resource, the hosts it holds for folded: what the plan saw, and what is there now."""
    grouped: dict[tuple[str, ...], list[str]] = {}
    for one in drifts:
        grouped.setdefault(tuple(_drift(one)), []).append(one.host)
    return [
        f"{clean(fold_hosts(hosts))}: {first}" if not index else f"  {first}"
        for lines, hosts in grouped.items()
        for index, first in enumerate(lines)
    ]


def _drift(one: Drift) -> list[str]:
    place = f" (task {one_line(one.task)!r}, {clean(one.source)})"
    if one.old is None and one.new is None:
        return [f"the step {one.reason}{place}"]
    if one.old is None:
        return [f"{_label(one)} needed no change, now: {_change(one.new)}{place}"]
    if one.new is None:
        return [f"{_label(one)} needs no change any more; planned was: {_change(one.old)}{place}"]
    lines = [f"{_label(one)}{place}"]
    for side, word in (("before", "found"), ("after", "wanted")):
        old, new = one.old.get(side), one.new.get(side)
        if old != new:
            lines.append(f"{word}: {_state(old, new)} → {_state(new, old)}")
    return lines


def _label(one: Drift) -> str:
    return one_line(one.target, 200)


def _change(change: Mapping[str, Any] | None) -> str:
    if change is None:
        return "nothing"
    told = describe(change, planned=True)
    return f"{told.sign} {told.text}"


def _state(value: Any, other: Any) -> str:
    """A value, and of a mapping only what differs from the other one; digests are cut."""
    if value is None:
        return "absent"
    reason = unknown_reason(value)
    if reason:
        return f"unknown ({reason})"
    if isinstance(value, Mapping):
        old = other if isinstance(other, Mapping) else {}
        parts = [f"{clean(str(key))} {_short(str(child))}" for key, child in value.items() if key not in old or old[key] != child]
        return ", ".join(parts) or "as planned"
    return _short(one_line(str(value), 100))


def _short(text: str) -> str:
    is_digest = len(text) == 64 and all(character in "0123456789abcdef" for character in text)
    return f"{text[:_SHORT]}…" if is_digest else one_line(text, 100)


def mismatch_text(one: Mismatch) -> tuple[str, str]:
    """(what happened, planned and made) of a step that did not keep to the plan."""
    message = f"task {one_line(one.task)!r} did not keep to the plan" + (f": {one.reason}" if one.reason else "")
    return message, f"planned: {_changes(one.planned)}; made: {_changes(one.made)}"


def _changes(changes: Sequence[Mapping[str, Any]]) -> str:
    return " and ".join(_change(change) for change in changes) or "no change"
