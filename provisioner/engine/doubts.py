"""Failures that a plan cannot exclude."""

from __future__ import annotations

from provisioner.engine.jobs import Item
from provisioner.engine.outcome import Verdict
from provisioner.engine.verdict import never_fails
from provisioner.values import Unknown


def may_fail(item: Item, verdict: Verdict) -> bool:
    """Whether only the apply can tell if a planned step fails: its result is not known, or it fails if it is reached at all."""
    outcome = verdict.outcome
    result = outcome.result
    if verdict.failed or result.get("skipped") or never_fails(item):
        return False
    if outcome.deferred or result.get("failed") is True or isinstance(result.get("failed"), Unknown):
        return True
    # What is only tried in the apply, too, has no result there either, so that it does not fail.
    return outcome.unknown is not None and "failed_when_result" not in result and not item.settings.trial
