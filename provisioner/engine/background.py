"""``async``: a step that goes on by itself on the node, and waiting for it (``poll``)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from provisioner.engine.outcome import NodeCall, Outcome
from provisioner.errors import HostUnreachable, ProvisionError
from provisioner.ports import Reply

if TYPE_CHECKING:
    from provisioner.engine.jobs import Item
    from provisioner.engine.walk import HostWalk

UNAWAITED = "it goes on in the background, and nobody waits for it here"
FIRST_LOOK = 0.05
"""Seconds until the first look at a job; the pauses grow from there to ``poll``, so that short jobs are not waited for in vain."""
GROWTH = 1.5
GRACE = 30.0
"""Seconds beyond its limit that a job has to say so, and a lost node to come back."""
OWN = "_job"
"""Key under which ``async_status`` gives what a reply has beside its result."""


def arrange(walk: HostWalk, item: Item) -> None:
    """Let the one call of an item run in the background, and with ``poll`` wait for it; a plan foresees what the call itself would do."""
    settings = item.settings
    if len(item.calls) != 1:
        raise ProvisionError(f"async: {item.job.task.action} takes {len(item.calls)} steps on the node here; only one can go on by itself")
    if walk.run.options.planning and not settings.real:
        if not settings.poll:
            item.maybe = item.maybe or UNAWAITED
        return
    call = replace(item.calls[0], background=settings.background)
    if settings.poll:
        item.outcome, item.calls = _awaited(walk, item, call), ()
    else:
        item.calls, item.finish = [call], _begun


def _begun(replies: list[Reply]) -> Outcome:
    outcome = Outcome.of(replies[0])
    outcome.message = f"goes on in the background as {outcome.result['ansible_job_id']}"
    return outcome


def _awaited(walk: HostWalk, item: Item, call: NodeCall) -> Outcome:
    """Start the job and look after it until it has ended. Its node may be out of reach meanwhile."""
    begun = walk.batch.ask(item, [call], walk.agent(item))[0]
    if begun.result.get("failed"):
        return Outcome.of(begun)
    assert call.background is not None, "that is what makes it a job"
    job = {"jid": begun.result["ansible_job_id"], "folder": call.background.folder}
    started, pause = time.monotonic(), FIRST_LOOK
    while True:
        walk.pause(min(pause, item.settings.poll))
        pause *= GROWTH
        over = time.monotonic() - started > call.background.limit + GRACE
        try:
            told = walk.batch.ask(item, [NodeCall("async_status", job)], walk.agent(item))
        except HostUnreachable:
            if over:
                raise
            continue
        if told[0].result.get("finished"):
            break
        if over:
            return Outcome.failure(f"the job is not over after its {call.background.limit:g} s", **job)
        seconds = time.monotonic() - started
        walk.run.notes.progress(walk.host.name, f"{item.job.label}: since {seconds:.0f} s of {call.background.limit:g} s in the background")
    walk.batch.ask(item, [NodeCall("async_status", {**job, "mode": "cleanup"})], walk.agent(item))
    item.replies = [unpacked(told[0])]
    outcome = item.concluded()
    outcome.seconds = time.monotonic() - started
    return outcome


def unpacked(reply: Reply) -> Reply:
    """What ``async_status`` answers of a job that is over, as the reply of the step that the job was."""
    own = reply.result.pop(OWN, {})
    return replace(reply, changes=[*reply.changes, *own.get("changes", ())], diffs=own.get("diffs", []), tainted=own.get("tainted"))
