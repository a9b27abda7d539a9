"""``playbooks/site.yml`` on fresh nodes: the plan changes nothing, says what the apply then does, and the apply does what it said.

The comparison here is written anew, from the two documents alone: what the product compares by itself during an apply must not be the
judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from provisioner.plan.digests import keyed_step
from tests.playbooks.commands import provision
from tests.playbooks.story import LIMITS, SITE, Story

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(900)]

Change = Mapping[str, Any]
Step = Mapping[str, Any]


def made_steps(story: Story) -> list[Step]:
    """The steps of the apply, with the digests of contents keyed as the plan keeps them."""
    return [keyed_step(step, bytes.fromhex(story.plan["key"])) for step in story.made["steps"]]


def comes_to(planned: Any, made: Any) -> bool:
    """Whether a value is what was foreseen; what was called unknown may be anything."""
    if isinstance(planned, Mapping):
        if "unknown" in planned:
            return True
        known = {key: value for key, value in planned.items() if key != "(dependencies)"}
        return isinstance(made, Mapping) and all(key in made and comes_to(value, made[key]) for key, value in known.items())
    return bool(planned == made)


def names_unknown(value: Any) -> bool:
    """Whether somewhere in a change it says what was not known, and why."""
    if isinstance(value, Mapping):
        return bool(value.get("unknown")) or any(map(names_unknown, value.values()))
    return False


def same(planned: Change, made: Change) -> bool:
    return (planned["kind"], planned["target"]) == (made["kind"], made["target"]) and comes_to(planned["after"], made["after"])


def test_a_plan_changes_nothing_at_all(story: Story) -> None:
    for before, after in zip(story.before, story.after, strict=True):
        assert len(before) > 5000
        assert sorted(set(after) ^ set(before)) == []


def test_every_certain_change_is_made(story: Story) -> None:
    made = {(step["host"], step["address"]): step["changes"] for step in made_steps(story)}
    changed = [step for step in story.plan["steps"] if step["status"] == "changed"]
    certain = [(step, change) for step in changed for change in step["changes"] if change["certain"]]
    broken = [
        (step["host"], step["task"], change)
        for step, change in certain
        if not any(same(change, other) for other in made.get((step["host"], step["address"]), ()))
    ]
    assert broken == []
    assert len(certain) >= 2 * 5


def test_every_change_that_is_made_was_listed(story: Story) -> None:
    planned = {(step["host"], step["address"]): step for step in story.plan["steps"]}
    open_ = {(step["host"], step["address"].partition("#")[0]) for step in story.plan["steps"] if step["status"] == "deferred"}
    unlisted = []
    count = 0
    for step in made_steps(story):
        task = step["address"].partition("#")[0]
        if any(host == step["host"] and (task == known or task.startswith(known + "/")) for host, known in open_):
            continue
        listed = planned.get((step["host"], step["address"]), {"changes": ()})["changes"]
        count += len(step["changes"])
        unlisted += [(step["host"], step["task"], change) for change in step["changes"] if not any(same(one, change) for one in listed)]
    assert unlisted == []
    assert count >= 2 * 15


def test_what_is_not_certain_has_its_reason(story: Story) -> None:
    doubtful = [step for step in story.plan["steps"] if step["status"] in ("maybe", "deferred")]
    assert len(doubtful) > 20
    assert [step["task"] for step in doubtful if not step.get("reason") and not any(map(names_unknown, step["changes"]))] == []
    assert not [step for step in story.plan["steps"] if step["status"] == "failed"]


def test_what_an_apply_made_is_not_planned_again(story: Story) -> None:
    assert story.again.code == 0, story.again.all
    assert [step["task"] for step in story.again.document["steps"] if step["status"] not in ("ok", "skipped")] == []


def test_a_saved_plan_is_refused_when_a_node_has_moved(story: Story) -> None:
    """Only what the plan touches counts; what moved is named, and nothing is done anywhere."""
    fleet = story.fleet
    wishes = ("-e", json.dumps({**LIMITS, "nvidia_power_before": ["docker.service"]}))
    planned = provision(fleet.folder, "plan", fleet.inventory, SITE, *wishes, "--tags", "power", "-o", "moved.json")
    assert planned.code == 0, planned.all
    unit = "/etc/systemd/system/nvidia-power-limits.service"
    fleet.on(0, f"echo '# by hand' >> {unit}")
    said = provision(fleet.folder, "apply", "moved.json", *wishes)
    assert said.code == 3, said.all
    assert "moved since the plan was made" in said.all
    assert f"{fleet.names[0]}" in said.all
    assert unit in said.all
    assert "# by hand" in fleet.on(0, f"tail -1 {unit}")
    assert "kubelet" in fleet.on(1, f"cat {unit}")
