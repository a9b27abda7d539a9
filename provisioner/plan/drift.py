"""Reality against a saved plan: a fresh plan of the same nodes must give the same changes to the same resources.

Only what a step touches is compared, so whatever else happened on a node does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provisioner.plan.compare import Change, counted, fits, settled_target


@dataclass(frozen=True)
class Drift:
    """One resource on one host that is not what the plan saw. ``old`` and ``new`` are the planned changes then and now, or None."""

    host: str
    task: str
    source: str
    target: str
    old: Change | None
    new: Change | None
    reason: str = ""


def drift(saved: Iterable[Mapping[str, Any]], fresh: Iterable[Mapping[str, Any]]) -> list[Drift]:
    """What moved between two plans of the same playbooks."""
    then = {(step["host"], step["address"]): step for step in saved}
    now = {(step["host"], step["address"]): step for step in fresh}
    found: list[Drift] = []
    for key in dict.fromkeys([*then, *now]):
        found += _step_drift(then.get(key), now.get(key))
    return found


def _step_drift(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[Drift]:
    step = now or then
    assert step is not None
    place = (step["host"], str(step["task"]), str(step.get("source", "")))
    old: Sequence[Change] = counted(then) if then else ()
    new: Sequence[Change] = counted(now) if now else ()
    left = list(new)
    found = []
    for change in old:
        same = next((index for index, candidate in enumerate(left) if _same(change, candidate)), None)
        if same is not None:
            del left[same]
            continue
        other = next((index for index, candidate in enumerate(left) if _same_resource(change, candidate)), None)
        found.append(Drift(*place, str(change["target"]), change, left.pop(other) if other is not None else None))
    found += [Drift(*place, str(change["target"]), None, change) for change in left]
    if not found and then is not None and now is not None and _kind(then) != _kind(now):
        words = f"was {then['status']}, is {now['status']}"
        found.append(Drift(*place, "", None, None, words + (f": {now['reason']}" if now.get("reason") else "")))
    return found


def _kind(step: Mapping[str, Any]) -> str:
    """Statuses that come to the same: a step that does nothing, one that does something, one of which that is open."""
    return "idle" if step["status"] in ("ok", "skipped") else str(step["status"])


def _same_resource(one: Change, other: Change) -> bool:
    return one["kind"] == other["kind"] and settled_target(one) == settled_target(other)


def _same(one: Change, other: Change) -> bool:
    """Equal as promises: also ``before``, since that is what the plan rests on; what a clock says is no difference."""
    if not _same_resource(one, other) or one.get("certain", True) != other.get("certain", True):
        return False
    if one["kind"] == "set_times":
        return True
    return all(fits(one.get(side), other.get(side)) and fits(other.get(side), one.get(side)) for side in ("before", "after"))
