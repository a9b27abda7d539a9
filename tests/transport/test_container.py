"""Agents in containers, by Docker; other engines take the same commands."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest

from provisioner.errors import HostUnreachable
from provisioner.lab import image, state
from provisioner.lab.docker import Engine
from provisioner.ports import Become, Target
from provisioner.transport.connect import Connector

pytestmark = pytest.mark.nodes


@pytest.fixture(scope="module")
def box() -> Iterator[str]:
    """A running container with Python and nothing else going on."""
    if reason := Engine().unusable():
        pytest.skip(f"docker: {reason}")
    root = image.ensure("bookworm", state.base_folder(), print)
    Engine().image(root, print)
    command = ["docker", "run", "-d", "--rm", "--init", f"provision-lab:{root.name}", "sleep", "600"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    name = made.stdout.strip()
    yield name
    subprocess.run(["docker", "rm", "-f", name], capture_output=True)


def test_an_agent_in_a_container(box: str, connect: Connector) -> None:
    agent = connect(Target("box", "docker", container=box), "apply")
    assert (agent.info.user, agent.info.hostname) == ("root", box[:12])
    assert len(agent.execute("head -c 10485760 /dev/zero; true").stdout) == 10 << 20
    agent.close()


def test_other_users(box: str, connect: Connector) -> None:
    subprocess.run(["docker", "exec", box, "useradd", "-m", "svc"], check=True)
    for target in (
        Target("box", "docker", container=box, user="svc"),
        Target("box", "docker", container=box, become=Become("su", "svc")),
        Target("box", "community.docker.docker", container=box, become=Become("runuser", "svc")),
    ):
        agent = connect(target, "plan")
        assert agent.info.user == "svc"
        agent.close()


def test_root_needs_no_sudo_to_be_root(box: str, connect: Connector) -> None:
    agent = connect(Target("box", "docker", container=box, become=Become(exe="no-sudo-in-here")), "plan")
    assert agent.info.user == "root"
    agent.close()


def test_nothing_is_left_in_the_container(box: str, connect: Connector) -> None:
    agent = connect(Target("box", "docker", container=box), "plan")
    agent.close()
    for _ in range(100):
        left = subprocess.run(["docker", "top", box, "-o", "pid,args"], capture_output=True, text=True, check=True).stdout
        if "python" not in left:
            return
        time.sleep(0.05)
    pytest.fail(left)


def test_raw(box: str, connect: Connector) -> None:
    end = connect.raw(Target("box", "docker", container=box), "echo out; echo err >&2; exit 4")
    assert (end.rc, end.stdout, end.stderr) == (4, b"out\n", b"err\n")


def test_a_container_that_is_not_there(box: str, connect: Connector) -> None:
    target = Target("box", "docker", container="no-such-box")
    with pytest.raises(HostUnreachable, match="the container no-such-box is not running"):
        connect(target, "plan")
    with pytest.raises(HostUnreachable, match="the container no-such-box is not running"):
        connect.raw(target, "true")


def test_an_engine_that_is_not_here(connect: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(HostUnreachable, match="there is no podman on this machine"):
        connect(Target("box", "podman"), "plan")


def test_a_connection_nobody_knows(connect: Connector) -> None:
    with pytest.raises(HostUnreachable, match="connection 'winrm' is not supported"):
        connect(Target("box", "winrm"), "plan")
