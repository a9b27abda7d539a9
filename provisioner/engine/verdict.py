"""From an outcome to a verdict: ``failed_when``, ``changed_when``, ``until``, and what a plan cannot know."""

from __future__ import annotations

from typing import Any

from provisioner.engine.expressions import Expressions
from provisioner.engine.jobs import Item
from provisioner.engine.outcome import Outcome, Verdict
from provisioner.engine.settings import is_never
from provisioner.engine.truth import as_number
from provisioner.errors import ProvisionError
from provisioner.events import Status
from provisioner.values import Unknown, find_unknown

NO_TRACE = "(no traceback: the message says what went wrong)"
"""What failed results have as ``exception``, which playbooks for Ansible ask for."""
RETRIES = 3
DELAY = 5.0


def judge(item: Item, outcome: Outcome, expressions: Expressions) -> Verdict:
    """The verdict on one item; an expression that is wrong makes it a failure with that message."""
    if outcome.unreachable:
        kept = {name: value for name, value in outcome.result.items() if name not in ("why", "help")}
        return Verdict("unreachable", outcome, {**kept, "exception": NO_TRACE}, msg=str(outcome.result.get("msg", "")))
    result = outcome.result
    _complete(result)
    if (item.job.task.until or item.job.task.retries is not None) and not result.get("skipped"):
        item.attempts += 1
        if not (outcome.unknown or outcome.deferred):
            result["attempts"] = item.attempts
    try:
        if not result.get("skipped") and not outcome.deferred:
            _conditions(item, outcome, expressions)
        retry = _wants_retry(item, outcome, expressions) if not result.get("skipped") else False
    except ProvisionError as error:
        # The result keeps what the module said; people are shown what is wrong with the condition.
        result["failed"] = True
        outcome.message = error.message
        retry = False
    if result.get("failed") is True:
        result.setdefault("exception", NO_TRACE)
    verdict = Verdict(_status(item, outcome), outcome, _registered(outcome), retry=retry, attempts=result.get("attempts", 0))
    verdict.msg = message_of(result) if outcome.message is None else outcome.message
    verdict.reason = _reason(item, outcome, verdict.status)
    return verdict


def _complete(result: dict[str, Any]) -> None:
    """What Ansible's results always have."""
    result.setdefault("changed", False)
    for name in ("stdout", "stderr"):
        if name in result and f"{name}_lines" not in result:
            text = result[name]
            result[f"{name}_lines"] = text.splitlines() if isinstance(text, str) else text
    if "failed" not in result and not result.get("skipped"):
        rc = result.get("rc")
        result["failed"] = isinstance(rc, int) and not isinstance(rc, bool) and rc != 0 and not isinstance(result["changed"], Unknown)


def _conditions(item: Item, outcome: Outcome, expressions: Expressions) -> None:
    """Let ``changed_when`` and ``failed_when`` have their say."""
    task, result = item.job.task, outcome.result
    if task.changed_when is None and task.failed_when is None:
        return
    scope = item.scope
    if task.register:
        scope = scope.plus({task.register: _registered(outcome)})
    if task.changed_when is not None:
        try:
            truth = expressions.truth(task.changed_when, scope, task.span_of("changed_when"))
        except ProvisionError as error:
            result["changed_when_result"] = error.message
            raise
        result["changed"] = truth.holds
        if truth.holds is False:
            outcome.tainted = None
    if task.failed_when is not None:
        try:
            truth = expressions.truth(task.failed_when, scope, task.span_of("failed_when"))
        except ProvisionError as error:
            result["failed_when_result"] = error.message
            raise
        if isinstance(truth.holds, Unknown):
            result["failed"] = truth.holds
        else:
            if result.get("failed") is True and not truth.holds:
                result["failed_when_suppressed_exception"] = result.pop("exception", NO_TRACE)
            result["failed"] = result["failed_when_result"] = truth.holds


def _wants_retry(item: Item, outcome: Outcome, expressions: Expressions) -> bool:
    """Whether ``until`` (or, without it, ``retries``) asks for another try; notes attempts and final failure in the result."""
    task, result = item.job.task, outcome.result
    if not task.until and task.retries is None:
        return False
    if outcome.unknown or outcome.deferred:
        return False
    if task.until:
        scope = item.scope.plus({task.register: result}) if task.register else item.scope
        done = expressions.truth(task.until, scope, task.span_of("until")).holds
    else:
        done = not result.get("failed")
    if done is not False:
        return False
    if item.attempts < tries(item, expressions):
        return True
    if task.failed_when is None:
        result["failed"] = True
    result["attempts"] = max(1, item.attempts - 1)
    return False


def tries(item: Item, expressions: Expressions) -> int:
    """How often an ``until`` task is run at most."""
    task = item.job.task
    raw = expressions.render(task.retries, item.scope, task.span_of("retries"))
    count = RETRIES if raw is None else int(as_number(raw, "retries"))
    return count + 1 if count > 0 else 1


def delay(item: Item, expressions: Expressions) -> float:
    """Seconds between two tries."""
    task = item.job.task
    raw = expressions.render(task.delay, item.scope, task.span_of("delay"))
    return DELAY if raw is None else max(0.0, as_number(raw, "delay"))


def _status(item: Item, outcome: Outcome) -> Status:
    result = outcome.result
    changed, failed = result.get("changed"), result.get("failed")
    if failed is True:
        return "maybe" if item.maybe else "failed"
    if result.get("skipped"):
        return "skipped"
    if outcome.deferred:
        return "deferred"
    if isinstance(changed, Unknown):
        return "maybe"
    if outcome.tainted and (changed or outcome.tainted != item.maybe):
        return "maybe"
    if changed:
        return "maybe" if item.maybe or _only_uncertain(item, outcome) else "changed"
    return "ok"


def _only_uncertain(item: Item, outcome: Outcome) -> bool:
    """Whether all recorded changes may turn out unnecessary; ``changed_when`` has the last word."""
    if item.job.task.changed_when is not None or not outcome.changes:
        return False
    return not any(change.get("certain", True) for change in outcome.changes)


def _reason(item: Item, outcome: Outcome, status: Status) -> str:
    result = outcome.result
    if status == "skipped":
        if "false_condition" in result:
            return f"condition is false: {result['false_condition']}"
        return str(result.get("skip_reason") or result.get("skipped_reason") or "")
    if status == "deferred":
        return outcome.deferred or ""
    if status == "maybe":
        changed = result.get("changed")
        because = changed.because if isinstance(changed, Unknown) else ""
        return item.maybe or outcome.tainted or because or outcome.unknown or ""
    return item.job.handler or ""


def _registered(outcome: Outcome) -> Any:
    """What ``register`` keeps: a result of which nothing is known is wholly unknown."""
    if outcome.deferred:
        return Unknown(outcome.deferred)
    if outcome.unknown:
        result = dict(outcome.result)
        if result.get("failed") is False and "failed_when_result" not in result:
            result["failed"] = Unknown(outcome.unknown)
        return result if find_unknown(outcome.result) is not None else Unknown(outcome.unknown)
    return outcome.result


def message_of(result: dict[str, Any]) -> str:
    """The text a person should see of a result."""
    msg = result.get("msg", "")
    if isinstance(msg, Unknown):
        return f"(not known before apply: {msg.because})"
    if isinstance(msg, str):
        return msg
    return "" if msg is None else str(msg)


def never_fails(item: Item) -> bool:
    """Whether ``failed_when`` is literally false."""
    conditions = item.job.task.failed_when
    return conditions is not None and is_never(conditions)
