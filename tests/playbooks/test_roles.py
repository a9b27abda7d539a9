"""The roles on the nodes that ``site.yml`` has provisioned: what they refuse, what they keep, and what is true after a reboot.

Each node has an A100 and a T4. What the roles' own testinfra suites prove is run by ``provision verify`` in the README's test.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.fleet import Said
from tests.playbooks.commands import provision
from tests.playbooks.story import LIMITS, SITE, Story

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(600)]

FIRST, SECOND = 0, 1


def play(story: Story, node: int, tag: str, command: str = "apply", **wishes: Any) -> Said:
    """Run the part of the playbook with a tag on one node, with these variables over those of the site."""
    wanted = json.dumps({**LIMITS, **wishes})
    limit = ("--limit", story.fleet.names[node])
    return provision(story.fleet.folder, command, story.fleet.inventory, SITE, *limit, "--tags", tag, "-e", wanted, "--format", "json")


def refused(said: Said) -> str:
    """Why the one host of a run was refused; nothing was changed by it."""
    (failed,) = [step for step in said.document["steps"] if step["status"] == "failed"]
    assert [step["task"] for step in said.document["steps"] if step["changes"] and step["status"] != "failed"] == []
    message: str = failed["msg"]
    return message


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("cuda-12-2", "brings the newest driver along"),
        ("cuda", "brings the newest driver along"),
        ("cuda-runtime-12-2", "brings the newest driver along"),
        ("cuda-toolkit", "follows the newest toolkit"),
    ],
)
def test_packages_that_bring_a_driver_are_refused(story: Story, package: str, reason: str) -> None:
    message = refused(play(story, SECOND, "cuda", "plan", cuda_toolkit_packages=[package]))
    assert message.startswith(f"{package} is refused: it {reason}")
    assert "cuda-toolkit-12-2" in message


def test_a_toolkit_with_known_holes_is_refused(story: Story) -> None:
    assert "CVE-2025-23266" in refused(play(story, SECOND, "container", "plan", nvidia_container_toolkit_version="1.17.3"))


def test_a_limit_out_of_range_is_refused_and_the_old_one_stays(story: Story) -> None:
    message = refused(play(story, SECOND, "power", nvidia_power_limits={"Tesla T4": 500}))
    assert "500" in message
    assert "60" in message
    assert "70" in message
    assert story.fleet.on(SECOND, "nvidia-smi --query-gpu=power.limit --format=csv,noheader,nounits").split() == ["350.00", "60.00"]


def test_a_selector_that_is_an_index_is_refused(story: Story) -> None:
    assert "is an index, and these move between boots" in refused(play(story, SECOND, "power", nvidia_power_limits={"0": 60}))


def test_settings_of_docker_are_kept(story: Story) -> None:
    mine = '{\n  "log-driver": "local",\n  "runtimes": {"crun": {"path": "/usr/bin/crun"}}\n}\n'
    story.fleet.on(SECOND, f"cat > /etc/docker/daemon.json <<'EOF'\n{mine}EOF")
    said = play(story, SECOND, "container")
    assert said.code == 0, said.all
    assert json.loads(story.fleet.on(SECOND, "cat /etc/docker/daemon.json")) == {
        "log-driver": "local",
        "runtimes": {"crun": {"path": "/usr/bin/crun"}, "nvidia": {"args": [], "path": "nvidia-container-runtime"}},
    }
    kept = story.fleet.on(SECOND, "cat /etc/docker/daemon.json.*~")
    assert kept == mine.strip()
    again = play(story, SECOND, "container")
    assert [step["task"] for step in again.document["steps"] if step["status"] == "changed"] == []


def test_a_configuration_of_docker_that_is_broken_is_left_alone(story: Story) -> None:
    story.fleet.on(SECOND, "cp /etc/docker/daemon.json /root/good.json; echo '{\"log-driver\": ' > /etc/docker/daemon.json")
    said = play(story, SECOND, "container")
    assert said.code == 2, said.all
    assert story.fleet.on(SECOND, "cat /etc/docker/daemon.json; mv /root/good.json /etc/docker/daemon.json") == '{"log-driver":'


def test_secure_boot_refuses_a_module_that_no_enrolled_key_signs(story: Story) -> None:
    """Before anything is changed; and not where a module is loaded already, which proves that it can be."""
    wishes = {"nvidia_own_kernel": True, "nvidia_driver_kernel_module": "dkms", "nvidia_driver_secure_boot_file": "/root/SecureBoot"}
    story.fleet.on(
        SECOND, "printf '\\6\\0\\0\\0\\1' > /root/SecureBoot; systemctl stop nvidia-persistenced; rmmod nvidia_uvm nvidia_modeset nvidia"
    )
    message = refused(play(story, SECOND, "driver", "plan", **wishes))
    assert "Secure Boot is on" in message
    assert "nvidia_driver_key_enrolled: true" in message
    for remedy in ("printf '\\6\\0\\0\\0\\0' > /root/SecureBoot", "modprobe nvidia; printf '\\6\\0\\0\\0\\1' > /root/SecureBoot"):
        story.fleet.on(SECOND, remedy)
        assert "Secure Boot is on" not in play(story, SECOND, "driver", "plan", **wishes).all
    story.fleet.on(SECOND, "systemctl start nvidia-persistenced; nvidia-power-limits")


def test_persistence_is_judged_by_its_effect(story: Story) -> None:
    """The unit as Ubuntu ships it: active, and the mode off."""
    unit = "/lib/systemd/system/nvidia-persistenced.service"
    story.fleet.on(
        FIRST, f"sed -i 's/^ExecStart=.*/& --no-persistence-mode/' {unit}; systemctl daemon-reload; systemctl restart nvidia-persistenced"
    )
    mode = "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader"
    assert story.fleet.on(FIRST, f"systemctl is-active nvidia-persistenced; {mode}").split() == ["active", "Disabled", "Disabled"]
    said = play(story, FIRST, "persistence")
    assert said.code == 0, said.all
    assert story.fleet.on(FIRST, mode).split() == ["Enabled", "Enabled"]
