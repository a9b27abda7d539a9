"""``async_status``: what came of a step in the background."""

from __future__ import annotations

from provisioner.engine.actions.call import Call
from provisioner.engine.background import unpacked
from provisioner.engine.outcome import NodeCall, Outcome, Work


def async_status(call: Call) -> Work:
    """Ask the node; the changes that a finished job made are told as those of this task."""
    params = {**call.params, "folder": call.item.settings.async_dir}
    return Work([NodeCall("async_status", params)], lambda replies: Outcome.of(unpacked(replies[0])), always=True)
