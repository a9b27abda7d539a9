"""A recorded run as events again, so that it can be shown by whatever shows a running one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from provisioner.diagnostics import Span
from provisioner.events import Event, HostLost, PlayFinished, PlayStarted, RunFinished, RunStarted, Stats, StepFinished, TaskFinished

_RANK = ("skipped", "ok", "changed", "maybe", "deferred", "failed", "unreachable")


def replay(document: Mapping[str, Any]) -> Iterator[Event]:
    """The events of a ``provision.run/1`` document, task by task; what the document does not keep (results, times) is missing."""
    hosts = tuple(document["hosts"])
    stats = {name: Stats(**{key: counts.get(key, 0) for key in vars(Stats())}) for name, counts in document["hosts"].items()}
    yield RunStarted(str(document.get("command", "")), "apply", tuple(document.get("playbooks", ())), hosts)
    yield from (
        HostLost(one["host"], one["message"], one.get("why", ""), one.get("help", ""), kind=one.get("kind", "unreachable"))
        for one in document.get("lost", ())
    )
    play: str | None = None
    number = -1
    for steps in _by_task(document["steps"]):
        first = steps[0]
        if first["play"] != play:
            if play is not None:
                yield PlayFinished(play, number)
            play, number = str(first["play"]), number + 1
            taking_part = {step["host"] for step in document["steps"] if step["play"] == play}
            yield PlayStarted(play, tuple(host for host in hosts if host in taking_part), number, Span(first["source"].partition(":")[0]))
        finished = [_step(step) for step in steps]
        yield from finished
        for host in dict.fromkeys(step.host for step in finished):
            yield _end([step for step in finished if step.host == host])
    if play is not None:
        yield PlayFinished(play, number)
    pending = {host: tuple(names) for host, names in document.get("pending_handlers", {}).items()}
    ok = bool(document["ok"])
    yield RunFinished(ok, 0 if ok else 2, stats, float(document.get("stats", {}).get("seconds", 0.0)), pending)


def _by_task(steps: list[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The steps of a task together, whatever came between them, in the order of the first."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for step in steps:
        found.setdefault(str(step["address"]).partition("#")[0], []).append(step)
    return list(found.values())


def _step(step: Mapping[str, Any]) -> StepFinished:
    file, _, line = str(step["source"]).rpartition(":")
    return StepFinished(
        host=step["host"],
        play=str(step["play"]),
        role=step.get("role"),
        task=step["task"],
        action=step.get("action", ""),
        source=Span(file, int(line)) if line.isdigit() else Span(str(step["source"])),
        status=step["status"],
        address=step["address"],
        item=step.get("item"),
        changes=tuple(step.get("changes", ())),
        diffs=tuple(step.get("diffs", ())),
        msg=step.get("msg", ""),
        ignored=bool(step.get("ignored")),
        rescued=bool(step.get("rescued")),
        delegated_to=step.get("delegated_to"),
        reason=step.get("reason", ""),
        seconds=float(step.get("seconds", 0.0)),
        handler=bool(step.get("handler")),
        attempts=int(step.get("attempts", 0)),
    )


def _end(steps: list[StepFinished]) -> TaskFinished:
    worst = max(steps, key=lambda step: _RANK.index(step.status))
    return TaskFinished(
        host=worst.host,
        play=worst.play,
        task=worst.task,
        action=worst.action,
        source=worst.source,
        status=worst.status,
        address=worst.address.partition("#")[0],
        ignored=worst.ignored,
        rescued=worst.rescued,
        handler=worst.handler,
    )
