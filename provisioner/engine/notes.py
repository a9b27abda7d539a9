"""Emits the events of a run: masked, in the order of the playbook, each warning once."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from provisioner.diagnostics import Diagnostic, Span
from provisioner.engine.accounts import INCLUDES
from provisioner.engine.jobs import Item, Job
from provisioner.engine.outcome import Verdict
from provisioner.events import (
    Event,
    EventQueue,
    HandlerNotified,
    HostLost,
    HostStuck,
    Listener,
    LostKind,
    Order,
    Progress,
    Status,
    StepFinished,
    TaskFinished,
    TaskStarted,
    Warned,
)
from provisioner.values import Secrets

HIDDEN = "hidden: the task says no_log"
_WORST: tuple[Status, ...] = ("unreachable", "failed", "changed", "deferred", "maybe", "ok")


class Notes:
    """The one way from the engine to its listener."""

    def __init__(self, listener: Listener, secrets: Secrets) -> None:
        self._queue = EventQueue(listener)
        self._secrets = secrets
        self._lock = threading.Lock()
        self._warned: set[Diagnostic] = set()
        self._started: set[tuple[Order, str]] = set()
        self.flush = self._queue.flush
        self.close = self._queue.close
        self.begin = self._queue.begin
        self.reached = self._queue.reached
        self.retire = self._queue.retire

    def tell(self, event: Event, order: Order | None = None, host: str | None = None) -> None:
        """Emit an event that holds nothing to mask."""
        self._queue.put(event, order, host)

    def warn(self, message: str, span: Span | None = None, *, why: str = "", help: str = "", hosts: Sequence[str] = ()) -> None:
        """Emit a warning unless it was emitted before."""
        found = Diagnostic(self._secrets.mask(message), span, why=why, help=help, severity="warning", hosts=tuple(hosts))
        with self._lock:
            if found in self._warned:
                return
            self._warned.add(found)
        self._queue.put(Warned(found))

    def progress(self, host: str, text: str) -> None:
        """Emit what a long step says."""
        self._queue.put(Progress(host, self._secrets.mask(text)))

    def stuck(self, host: str, task: str, seconds: float, aside: bool) -> None:
        """Say that a host does not answer."""
        self._queue.put(HostStuck(host, self._secrets.mask(task), seconds, aside))

    def lost(self, host: str, result: Mapping[str, Any], order: Order, ignored: bool, kind: LostKind) -> None:
        """Say that a host cannot be reached."""
        msg, why, help_ = (self._secrets.mask(str(result.get(name, ""))) for name in ("msg", "why", "help"))
        self._queue.put(HostLost(host, msg, why, help_, ignored, kind), order, host)

    def notified(self, host: str, handler: str, because: str, certain: bool, order: Order) -> None:
        """Say that a handler will run."""
        self._queue.put(HandlerNotified(host, handler, because, certain), order, host)

    def started(self, job: Job, play: str, order: Order) -> None:
        """Announce a task unless another host has reached it before."""
        if job.announced:
            return
        job.announced = True
        key = (order, job.address)
        with self._lock:
            if key in self._started:
                return
            self._started.add(key)
        task = job.task
        role = job.inherited.role
        label = self._secrets.mask(job.label)
        event = TaskStarted(play, role.name if role else None, label, task.written, task.span, job.address, job.handler is not None)
        self._queue.put(event, order)

    def step(
        self, host: str, play: str, item: Item, verdict: Verdict, order: Order, *, ignored: bool = False, rescued: bool = False
    ) -> StepFinished:
        """Emit a step with its verdict; returns the event."""
        job, outcome = item.job, verdict.outcome
        role = job.inherited.role
        mask, mask_data = self._secrets.mask, self._secrets.mask_data
        result = {"censored": HIDDEN} if job.no_log else outcome.result
        event = StepFinished(
            host=host,
            play=play,
            role=role.name if role else None,
            task=mask(job.label),
            action=job.task.action,
            source=job.task.span,
            status=verdict.status,
            address=item.address,
            item=None if item.label is None else (f"(item {item.index + 1})" if job.no_log else mask(item.label)),
            changes=tuple(_without_content(change) for change in outcome.changes)
            if job.no_log
            else tuple({**mask_data(change), "kind": change["kind"]} for change in outcome.changes),
            diffs=() if job.no_log else tuple(mask(diff) for diff in outcome.diffs),
            msg=HIDDEN if job.no_log and verdict.failed else ("" if job.no_log else mask(verdict.msg)),
            result=mask_data(result),
            ignored=ignored,
            rescued=rescued,
            delegated_to=item.delegated_to,
            reason="" if job.no_log and verdict.status != "skipped" else mask(verdict.reason),
            seconds=outcome.seconds,
            handler=job.handler is not None,
            attempts=verdict.attempts,
            unrun=item.settings.quiet and outcome.unknown is not None and verdict.status == "ok",
        )
        self._queue.put(event, order, host)
        return event

    def finished(self, host: str, play: str, job: Job, order: Order, *, ignored: bool = False, rescued: bool = False) -> Status:
        """Emit the outcome of a whole task; returns its status."""
        found = {verdict.status for verdict in job.verdicts}
        status: Status = next((status for status in _WORST if status in found), "skipped")
        seconds = sum(verdict.outcome.seconds for verdict in job.verdicts)
        task = job.task
        event = TaskFinished(
            host,
            play,
            self._secrets.mask(job.label),
            task.action,
            task.span,
            status,
            job.address,
            seconds=seconds,
            handler=job.handler is not None,
            count=sum(verdict.status != "skipped" for verdict in job.verdicts) if task.action in INCLUDES else 1,
            changed=any(verdict.outcome.result.get("changed") is True for verdict in job.verdicts),
        )
        if ignored or rescued:
            event = replace(event, ignored=ignored, rescued=rescued)
        self._queue.put(event, order, host)
        return status


def _without_content(change: Mapping[str, Any]) -> dict[str, Any]:
    """A change of a ``no_log`` task: what kind of thing is done to what, and no values."""
    command = {"target": HIDDEN} if change.get("kind") == "run_command" else {}
    return {**change, **command, "before": None, "after": None}
