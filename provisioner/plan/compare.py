"""Planned against made: what an apply does must be what its plan said.

    planned       what may happen
    ok, skipped   nothing changes
    changed       every certain change is made and equal (kind, target, after); one that was not certain may be absent
    maybe         any of its changes may be absent, or come out differently: it was decided on readings that an earlier step may alter.
                  Nothing else is touched; but where no change was foreseen at all, everything is open
    deferred      anything
    no such step  nothing changes; except below something that was deferred, since what it includes was not known

What was unknown in the plan may have become anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Change = Mapping[str, Any]
_BACKUP = re.compile(r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~$")
_CLOCKED = ("set_times",)
"""Kinds whose ``after`` is the time of the run itself."""
_UNCOUNTED = ("refresh_index",)
"""Kinds that change nothing a playbook speaks of; whether they are needed depends on the hour."""
_COMPANIONS = "(dependencies)"
"""Among planned packages: others may come along that the solver could not be asked about; see ``node.packages.DEPENDENCIES``."""


@dataclass(frozen=True)
class Mismatch:
    """A step did something else than was planned; ``planned`` and ``made`` are the changes that have no counterpart."""

    host: str
    task: str
    source: str
    planned: tuple[Change, ...]
    made: tuple[Change, ...]
    reason: str = ""


class Comparison:
    """Holds a plan against the steps that are made; ``check`` them as they come."""

    def __init__(self, planned: Iterable[Mapping[str, Any]]) -> None:
        self._steps: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._open: dict[str, list[str]] = {}
        """Host → addresses that were deferred, or whose number of items was not known: what lies below them was not planned."""
        for step in planned:
            self._steps[step["host"], step["address"]] = step
            if step["status"] in ("deferred", "maybe"):
                self._open.setdefault(step["host"], []).append(_task_address(step["address"]))
        self._made: set[tuple[str, str]] = set()

    def check(self, made: Mapping[str, Any]) -> Mismatch | None:
        """The mismatch of a step that is over, or None when it kept to the plan."""
        key = (made["host"], made["address"])
        self._made.add(key)
        if made["status"] == "unreachable":
            return None
        changes = counted(made)
        planned = self._steps.get(key)
        if planned is None:
            if not changes or self._was_open(*key):
                return None
            return _mismatch(made, (), changes, "the plan has no such step")
        if planned["status"] == "deferred":
            return None
        missing, extra = compare_changes(counted(planned), changes)
        if planned["status"] == "maybe":
            touched = {(change["kind"], settled_target(change)) for change in counted(planned)}
            extra = tuple(change for change in extra if touched and (change["kind"], settled_target(change)) not in touched)
        if planned["status"] == "maybe" or made["status"] == "failed":
            missing = ()
        if planned["status"] in ("ok", "skipped") and not changes:
            return None
        if missing or extra:
            return _mismatch(made, missing, extra, _reason(planned, made))
        return None

    def unmade(self, hosts: Iterable[str]) -> list[Mismatch]:
        """Steps with certain changes that these hosts, which came through to the end, never reached."""
        wanted = set(hosts)
        found = []
        for key, planned in self._steps.items():
            if key[0] in wanted and key not in self._made and planned["status"] == "changed":
                missing = tuple(change for change in counted(planned) if change.get("certain", True))
                if missing:
                    found.append(_mismatch(planned, missing, (), "the step was never reached"))
        return found

    def _was_open(self, host: str, address: str) -> bool:
        task = _task_address(address)
        return any(task == known or task.startswith(known + "/") for known in self._open.get(host, ()))


def _task_address(address: str) -> str:
    """The address without its item."""
    return address.partition("#")[0]


def _mismatch(step: Mapping[str, Any], planned: Sequence[Change], made: Sequence[Change], reason: str) -> Mismatch:
    return Mismatch(step["host"], str(step["task"]), str(step.get("source", "")), tuple(planned), tuple(made), reason)


def _reason(planned: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    if planned["status"] != "skipped" and made["status"] == "skipped":
        return "it was skipped, although its condition was known when the plan was made"
    if planned["status"] == "skipped":
        return "it was to be skipped"
    if planned["status"] == "ok":
        return "nothing was to be changed"
    return ""


def counted(step: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes of a step that a plan is held to."""
    return tuple(change for change in step.get("changes", ()) if change["kind"] not in _UNCOUNTED)


def compare_changes(planned: Sequence[Change], made: Sequence[Change]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """(certain changes that were not made, changes that were not planned)."""
    left = list(planned)
    extra = []
    for change in made:
        index = next((index for index, candidate in enumerate(left) if same_change(candidate, change)), None)
        if index is None:
            extra.append(change)
        else:
            del left[index]
    return tuple(change for change in left if change.get("certain", True)), tuple(extra)


def same_change(planned: Change, made: Change) -> bool:
    """Whether a made change is the planned one: kind, target and, as far as it was known, what comes of it."""
    if planned["kind"] != made["kind"] or settled_target(planned) != settled_target(made):
        return False
    return planned["kind"] in _CLOCKED or fits(planned.get("after"), made.get("after"))


def settled_target(change: Change) -> str:
    """The target without what differs from run to run: the process and time in the name of a backup."""
    return _BACKUP.sub(".<backup>", str(change["target"]))


def fits(planned: Any, made: Any) -> bool:
    """Whether a value is what was foreseen; unknown parts fit everything."""
    if isinstance(planned, Mapping):
        if set(planned) == {"unknown"}:
            return True
        if _COMPANIONS in planned and isinstance(made, Mapping):
            return all(key in made and fits(value, made[key]) for key, value in planned.items() if key != _COMPANIONS)
        return isinstance(made, Mapping) and set(planned) == set(made) and all(fits(value, made[key]) for key, value in planned.items())
    if isinstance(planned, (list, tuple)):
        return isinstance(made, (list, tuple)) and len(planned) == len(made) and all(map(fits, planned, made))
    return bool(planned == made)
