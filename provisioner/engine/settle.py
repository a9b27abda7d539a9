"""What follows from a verdict: facts, registered variables, notifications, events, and failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from provisioner.engine.arguments import explain
from provisioner.engine.jobs import Effect, Item, Job, loop_result
from provisioner.engine.outcome import Outcome, Verdict
from provisioner.engine.settings import keyword
from provisioner.engine.signals import HostEnds, TaskFailed
from provisioner.engine.state import place_text
from provisioner.engine.truth import as_bool
from provisioner.errors import ProvisionError
from provisioner.events import Order
from provisioner.values import Unknown

if TYPE_CHECKING:
    from provisioner.engine.walk import HostWalk


def settle_step(walk: HostWalk, item: Item, verdict: Verdict) -> None:
    """One item: its facts, its event, the comparison with a saved plan."""
    job, outcome = item.job, verdict.outcome
    if item.maybe and not verdict.outcome.result.get("skipped"):
        verdict.value = Unknown(item.maybe)
    if job.looped and isinstance(verdict.value, Mapping):
        verdict.value = {**verdict.value, **item.extra}
    facts = outcome.result.get("ansible_facts")
    if isinstance(facts, Mapping) and not outcome.facts_applied and not verdict.failed:
        known = facts if not item.maybe else {name: Unknown(item.maybe) for name in facts}
        job.apply(item.facts_of or walk.host, Effect("facts", known))
        walk.host.gathered = walk.host.gathered or job.task.action in ("gather_facts", "setup")
    ignored = verdict.failed and tolerated(walk, job, verdict)
    if not job.no_log:
        _pass_on_warnings(walk, job, outcome.result)
    notes = walk.run.notes
    order = (*walk.play.order, *job.place)
    notes.started(job, walk.play.label, order)
    rescued = verdict.status == "failed" and not ignored and walk.is_rescued
    event = notes.step(walk.host.name, walk.play.label, item, verdict, order, ignored=ignored, rescued=rescued)
    walk.run.expect(event)


def _pass_on_warnings(walk: HostWalk, job: Job, result: Mapping[str, Any]) -> None:
    """What a module warned of; its deprecations only for those who asked to see more."""
    told = [result.get("warnings")]
    if walk.run.options.verbosity:
        told.append(result.get("deprecations"))
    for texts in told:
        for text in texts if isinstance(texts, list) else ():
            message = text.get("msg") if isinstance(text, Mapping) else text
            if isinstance(message, str):
                walk.run.notes.warn(message, job.task.span, hosts=(walk.host.name,))


def settle_job(walk: HostWalk, job: Job) -> None:
    """A whole task. Raises ``TaskFailed`` or, for a lost host, ``HostEnds``."""
    failed = next((verdict for verdict in job.verdicts if verdict.failed), None)
    ignored = failed is not None and tolerated(walk, job, failed)
    unreachable = any(verdict.status == "unreachable" for verdict in job.verdicts)
    rescued = failed is not None and not ignored and not unreachable and walk.is_rescued
    order = (*walk.play.order, *job.place)
    value = _register(walk, job)
    problem = _notify(walk, job, order) if failed is None else None
    if job.due and not unreachable and any(verdict.failed or verdict.outcome.changes for verdict in job.verdicts):
        walk.handlers.withdraw(job.due)
    status = walk.run.notes.finished(walk.host.name, walk.play.label, job, order, ignored=ignored, rescued=rescued)
    if status != "skipped" and not unreachable:
        walk.roles.ran.update(id(role) for role in job.inherited.roles)
    if unreachable:
        assert failed is not None, "a lost host has a failed verdict"
        kind = "interrupted" if walk.run.stopping else failed.outcome.lost
        walk.run.notes.lost(walk.host.name, failed.outcome.result, order, ignored, kind)
        if not ignored:
            walk.host.unreachable = True
            walk.play.failed_at(walk.host.name, job.place)
            raise HostEnds
    elif problem is not None or (failed is not None and not ignored):
        walk.play.failed_at(walk.host.name, job.place)
        raise TaskFailed(job.task, problem or (value if isinstance(value, Mapping) else {"failed": True, "msg": "failed"}))


def tolerated(walk: HostWalk, job: Job, verdict: Verdict) -> bool:
    """Whether the task says that its failure does not matter."""
    if job.tolerated is None:
        name = "ignore_unreachable" if verdict.status == "unreachable" else "ignore_errors"
        scope = job.scope.plus({job.task.register: verdict.value}) if job.task.register else job.scope
        try:
            value = keyword(job.inherited, name, scope, job.task)
            job.tolerated = not isinstance(value, Unknown) and as_bool(value, name)
        except ProvisionError as error:
            walk.run.notes.warn(f"{name} cannot be told: {error.message}", job.task.span_of(name), hosts=(walk.host.name,))
            job.tolerated = False
    return job.tolerated


def _register(walk: HostWalk, job: Job) -> Any:
    """Set the registered variable; gives its value."""
    value = loop_result([verdict.value for verdict in job.verdicts]) if _is_list(job) else job.verdicts[-1].value
    if job.expected is not None:
        walk.host.arrived(*job.expected)
        job.expected = None
    name = job.task.register
    if name:
        job.apply(walk.host, Effect("set", {name: value}))
        skipped = isinstance(value, Mapping) and value.get("skipped") is True
        how = "skipped, " if skipped else ""
        walk.host.origins[name] = f"{name} was set last by task {job.label!r} ({how}{place_text(job.task.span)})"
    return value


def _is_list(job: Job) -> bool:
    """Whether the result is a list of results; a loop over nothing has one verdict that holds ``results`` itself."""
    if not job.looped:
        return False
    only = job.items[0] if len(job.items) == 1 else None
    return only is None or bool(only.extra)


def _notify(walk: HostWalk, job: Job, order: Order) -> dict[str, Any] | None:
    """Notify handlers of what changed; the failure, already emitted, when a handler does not exist."""
    if not job.task.notify:
        return None
    changed = [verdict for verdict in job.verdicts if verdict.status in ("changed", "maybe", "deferred")]
    if not changed:
        return None
    certain = any(verdict.status == "changed" for verdict in changed)
    targets = [str(change["target"]) for verdict in changed for change in verdict.outcome.changes if change.get("target")]
    try:
        for because in dict.fromkeys(targets[:3] or [job.label]):
            walk.handlers.notify(job, job.task.notify, because, certain)
    except ProvisionError as error:
        outcome = Outcome.failure(explain(error, job, walk.host), changed=True)
        verdict = Verdict("failed", outcome, outcome.result, msg=str(outcome.result["msg"]))
        job.verdicts.append(verdict)
        walk.run.notes.step(walk.host.name, walk.play.label, job.items[-1], verdict, order, rescued=walk.is_rescued)
        return outcome.result
    return None
