"""A plan document as a reader wants it: hosts with the same plan together, idle steps left out, totals and consequences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.diagnostics import fold_hosts
from provisioner.report.changes import describe
from provisioner.report.summary import label_of
from provisioner.report.text import cause, clean, one_line, plural

_QUIET = ("ok", "skipped")
_COMMANDS = ("command", "shell", "script", "raw")


@dataclass
class HostGroup:
    """Hosts whose plans are equal, with the steps to show of one of them."""

    hosts: list[str]
    steps: list[Mapping[str, Any]]

    @property
    def title(self) -> str:
        """The hosts, folded."""
        return clean(fold_hosts(self.hosts))

    def tasks(self) -> list[tuple[str, list[Mapping[str, Any]]]]:
        """Label and steps of each task, in order; labels are numbered, and the items of a loop are together."""
        return [(f"{number}. {step_label(steps[0])}", steps) for number, steps in enumerate(by_task(self.steps), 1)]

    def causes(self, step: Mapping[str, Any]) -> str:
        """``, step 3``: the tasks whose changes are the reason for a handler; '' when they are not told by name."""
        reason = str(step.get("reason") or "")
        if not step.get("handler") or not reason:
            return ""
        found = [
            str(number)
            for number, steps in enumerate(by_task(self.steps), 1)
            if any(str(change["target"]) in reason for each in steps if not each.get("handler") for change in each.get("changes", ()))
        ]
        return f", step {' and '.join(found)}" if found else ""


@dataclass
class PlanView:
    """What the renderers of plans share; ``full`` also shows the steps that have nothing to do."""

    document: Mapping[str, Any]
    full: bool = False
    diffs: bool = False
    """Whether differences inside files are shown, so that hosts with different ones stand apart."""
    groups: list[HostGroup] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    """Hosts with nothing to do."""

    def __post_init__(self) -> None:
        by_host: dict[str, list[Mapping[str, Any]]] = {name: [] for name in self.document.get("hosts", {})}
        for step in self.document.get("steps", ()):
            by_host.setdefault(step["host"], []).append(step)
        lost = set(self.lost_hosts())
        grouped: dict[str, HostGroup] = {}
        for host, steps in by_host.items():
            shown = [step for step in steps if self.full or step["status"] not in _QUIET]
            if not any(step["status"] not in _QUIET for step in steps) and host not in lost:
                self.idle.append(host)
            if shown:
                key = json.dumps([self._comparable(step) for step in shown], sort_keys=True, default=str)
                grouped.setdefault(key, HostGroup([], shown)).hosts.append(host)
        self.groups = list(grouped.values())

    def _comparable(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """What makes plans of two hosts different for a reader: what is shown of their steps."""
        kept = {key: value for key, value in step.items() if key not in ("host", "seconds", "address", "changes", "diffs")}
        kept["changes"] = [str(describe(change, planned=True)) for change in step.get("changes", ())]
        return {**kept, "diffs": step.get("diffs", ())} if self.diffs else kept

    def lost_hosts(self) -> list[str]:
        """Hosts that could not be planned."""
        return [one["host"] for one in self.document.get("lost", ())]

    def counts(self) -> dict[str, int]:
        """Number of steps by status."""
        found: dict[str, int] = {}
        for step in self.document.get("steps", ()):
            status = "ignored" if step["status"] == "failed" and (step.get("ignored") or step.get("rescued")) else step["status"]
            found[status] = found.get(status, 0) + 1
        return found

    def summary(self) -> str:
        """``Plan: 3 to change, 1 maybe, 1 deferred on 2 hosts.``"""
        counts = self.counts()
        words = (("changed", "to change"), ("maybe", "maybe"), ("deferred", "deferred"), ("failed", "failed"))
        parts = [f"{counts[status]} {word}" for status, word in words if counts.get(status)]
        lost = self.lost_hosts()
        unplanned = f" {plural(len(lost), 'host')} could not be planned: {clean(fold_hosts(lost))}." if lost else ""
        if not parts:
            idle = f"Plan: nothing to do on {plural(len(self.idle), 'host')}." if self.idle or not lost else "Plan: nothing known."
            return idle + unplanned
        touched = {step["host"] for step in self.document.get("steps", ()) if step["status"] not in (*_QUIET, "unreachable")}
        return f"Plan: {', '.join(parts)} on {plural(len(touched), 'host')}.{unplanned}"

    def remark(self) -> str:
        """What the plan rests on and did not see: commands that are declared to change nothing; '' without any."""
        return unrun_text(self.document.get("steps", ()))

    def consequences(self) -> list[str]:
        """Restarts, reboots and removals, with their hosts and causes: what a reviewer must not overlook."""
        found: dict[tuple[str, str], list[str]] = {}
        for step in self.document.get("steps", ()):
            if step["status"] not in ("changed", "maybe"):
                continue
            for change in step.get("changes", ()):
                text = _consequence(change)
                if text:
                    because = one_line(str(step["reason"])) if step.get("handler") and step.get("reason") else ""
                    word = "maybe " if step["status"] == "maybe" or not change.get("certain", True) else ""
                    found.setdefault((word + text, because), []).append(step["host"])
        return [
            f"{text} on {clean(fold_hosts(hosts))}{f' ({cause(because)})' if because else ''}" for (text, because), hosts in found.items()
        ]


def _consequence(change: Mapping[str, Any]) -> str:
    kind = change.get("kind")
    text = describe(change).text
    if kind in ("request_unit", "reboot") or (kind == "set_unit" and change.get("after") in ("stopped", "disabled", "masked")):
        return text
    if kind in ("remove_packages", "remove_user", "remove_group"):
        return f"remove {text}"
    if kind == "install_packages" and isinstance(change.get("after"), Mapping):
        gone = sorted(name for name, version in change["after"].items() if version is None)
        return f"remove {'package' if len(gone) == 1 else 'packages'} {', '.join(map(clean, gone))}" if gone else ""
    return ""


def step_label(step: Mapping[str, Any]) -> str:
    """``role : task``, marked when it is a handler."""
    label = label_of(step.get("role"), str(step.get("task", "")))
    return f"handler {label}" if step.get("handler") else label


def step_notes(step: Mapping[str, Any], causes: str = "") -> list[tuple[str, str]]:
    """(style, text) of what there is to say of a step besides its changes; ``causes`` is put behind the reason of a handler."""
    status = step["status"]
    item = f" [{one_line(str(step['item']), 60)}]" if step.get("item") is not None else ""
    reason = one_line(str(step.get("reason") or step.get("msg") or ""))
    if status == "deferred":
        return [("deferred", f"… deferred{item}, {cause(reason)}")]
    if status == "maybe" and not step.get("changes"):
        return [("maybe", f"? maybe{item}, {cause(reason)}")]
    if status == "skipped":
        return [("skipped", f"skipped{item}: {reason or 'its condition is false'}")]
    if status == "failed":
        kept = " (ignored)" if step.get("ignored") else " (rescued)" if step.get("rescued") else ""
        message = one_line(str(step.get("msg") or "failed without a message"))
        return [("failed", f"failed{kept}{item}: {message}")]
    if status == "unreachable":
        return [("unreachable", f"unreachable: {reason}")]
    notes: list[tuple[str, str]] = []
    if status == "ok":
        said = one_line(str(step.get("msg") or ""))
        notes.append(("ok", f"not needed{item}: {said}" if said and step.get("action") in _COMMANDS else f"ok{item}"))
    elif status == "changed" and not step.get("changes"):
        notes.append(("change", f"~{item} {one_line(str(step.get('msg') or '')) or 'changed'}"))
    if step.get("handler") and reason and status == "changed":
        notes.append(("dim", f"{cause(reason)}{causes}"))
    return notes


def unrun_text(steps: Iterable[Mapping[str, Any]]) -> str:
    """How many commands that are declared to change nothing were not run, counting each task once; '' for none."""
    count = len({(step.get("play"), step.get("source")) for step in steps if step.get("unrun")})
    if not count:
        return ""
    were = "was" if count == 1 else "were"
    return f"{plural(count, 'command')} declared to change nothing {were} not run by the plan (check_mode: false at the task lets it)"


def several_plays(steps: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the steps come from more than one play."""
    return len({step.get("play") for step in steps}) > 1


def by_task(steps: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Consecutive steps of one task (its items) together."""
    groups: list[list[Mapping[str, Any]]] = []
    for step in steps:
        key = (step.get("play"), step.get("role"), step.get("task"), step.get("source"))
        if groups and key == tuple(groups[-1][0].get(name) for name in ("play", "role", "task", "source")):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups
