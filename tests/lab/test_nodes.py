"""Real nodes on this machine: they come up, are what a server is, survive a reboot, and leave nothing behind."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner import lab
from provisioner.errors import ProvisionError, UsageError
from provisioner.lab import backends, cgroups, model, operations, state

pytestmark = [pytest.mark.nodes, pytest.mark.skipif(os.geteuid() != 0, reason="lab nodes need root"), pytest.mark.timeout(300)]


@pytest.fixture(params=["nspawn", "docker", "podman"])
def backend(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    reason = backends.named(name).unusable()
    if reason:
        pytest.skip(f"{name}: {reason}")
    return name


@pytest.fixture
def name() -> Iterator[str]:
    made = f"t{secrets.token_hex(3)}"
    yield made
    if made in {known.name for known in lab.list_labs()}:
        lab.down(made)


def on(made: lab.Lab, node: str, script: str) -> str:
    """What a shell script prints on a node."""
    command = lab.ssh_command(made, made.node(node), [script])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def traces(name: str) -> list[str]:
    """Whatever on this machine still has to do with a lab."""
    found = [line for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if f"/labs/{name}/" in line]
    found += [group for group in cgroups.names() if group.startswith(f"{name}-")]
    for command in (["ip", "netns", "list"], ["iptables-save"], ["ps", "-eo", "args"], ["docker", "ps", "-a"], ["docker", "network", "ls"]):
        try:
            printed = subprocess.run(command, capture_output=True, text=True).stdout
        except FileNotFoundError:
            continue
        found += [line for line in printed.splitlines() if f"{name}-" in line or f"-{name}" in line or f"/{name}/" in line]
    return found + [str(path) for path in (state.lab_folder(state.base_folder(), name),) if path.exists()]


def wait_for_login(made: lab.Lab, node: str) -> None:
    end = time.monotonic() + 60
    command = lab.ssh_command(made, made.node(node), ["true"])
    while subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode != 0:
        assert time.monotonic() < end, f"{node} does not come back"
        time.sleep(0.1)


def test_a_node_from_up_to_down(backend: str, name: str) -> None:
    swappiness = Path("/proc/sys/vm/swappiness").read_text(encoding="ascii")
    made = lab.up(1, name=name, backend=backend)
    assert (
        on(made, "1", "systemctl is-system-running --wait; cat /proc/1/comm; sudo -n id -u; hostname") == f"running\nsystemd\n0\n{name}-1"
    )
    assert on(made, "1", "systemctl list-units --failed --no-legend --plain") == ""

    # The kernel's parameters can be set, and are the node's own.
    on(made, "1", "sudo sysctl -qw vm.swappiness=7 net.ipv4.conf.all.rp_filter=2 && test $(cat /proc/sys/vm/swappiness) = 7")
    assert Path("/proc/sys/vm/swappiness").read_text(encoding="ascii") == swappiness

    # What GPU playbooks touch.
    on(made, "1", "sudo hostnamectl set-hostname other && test $(cat /etc/hostname) = other")
    on(made, "1", "sudo update-initramfs -u && lsinitramfs /boot/initrd.img-$(uname -r) | grep -q modprobe")
    fetch = f"import urllib.request as u; print(u.urlopen('{made.repository}').status)"
    assert on(made, "1", f'python3 -c "{fetch}"') == "200"
    assert "SIMULATION" in on(made, "1", "provision-sim status")

    before = on(made, "1", "cat /proc/sys/kernel/random/boot_id; echo kept > kept")
    subprocess.run(lab.ssh_command(made, made.node("1"), ["sudo systemctl reboot"]), capture_output=True, stdin=subprocess.DEVNULL)
    time.sleep(0.5)
    wait_for_login(made, "1")
    assert on(made, "1", "cat kept; cat /proc/sys/vm/swappiness") == f"kept\n{swappiness.strip()}"
    assert on(made, "1", "cat /proc/sys/kernel/random/boot_id") != before

    # A second up changes nothing; one with more nodes adds them; one with fewer takes them away.
    again = lab.up(1, name=name)
    assert again == made
    assert on(made, "1", "cat kept") == "kept"
    two = lab.up(2, name=name)
    assert on(two, "2", f"getent hosts {name}-1 | cut -d' ' -f1") == made.nodes[0].address
    with pytest.raises(UsageError, match="exists with suite"):
        lab.up(2, name=name, suite="trixie")
    assert [node.name for node in lab.up(1, name=name).nodes] == [f"{name}-1"]

    lab.down(name)
    assert traces(name) == []


@pytest.mark.parametrize("after", [0.3, 0.6, 0.9])
def test_up_that_was_killed_can_be_run_again_and_taken_down(name: str, after: float, backend: str) -> None:
    program = f"from provisioner import lab; lab.up(3, name={name!r}, backend={backend!r})"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2])
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if after < 0.5:
        made = lab.up(3, name=name, backend=backend)
        assert on(made, "3", "echo there") == "there"
        lab.down(name)
    else:
        try:
            lab.down(name)
        except UsageError:
            pass  # killed before there was anything
    assert traces(name) == []


def test_a_powered_off_node_is_made_afresh(name: str) -> None:
    made = lab.up(2, name=name)
    on(made, "1", "echo kept > kept")
    subprocess.run(lab.ssh_command(made, made.node("2"), ["sudo systemctl poweroff --force --force"]), capture_output=True)
    end = time.monotonic() + 30
    while operations.running(made)[f"{name}-2"] and time.monotonic() < end:
        time.sleep(0.1)
    again = lab.up(2, name=name)
    assert on(again, "1", "cat kept") == "kept"
    assert on(again, "2", "echo there") == "there"
    assert again.nodes[1].host_key != made.nodes[1].host_key


def test_the_port_of_the_repository_is_taken(name: str) -> None:
    taken = {known.name: known.network for known in lab.list_labs()}
    gateway = f"10.213.{model.choose_network(name, taken)}.254"
    with socket.socket() as other:
        other.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: the address comes with the lab
        other.bind((gateway, model.REPOSITORY_PORT))
        other.listen()
        with pytest.raises(ProvisionError, match="cannot listen"):
            lab.up(1, name=name)
    assert on(lab.up(1, name=name), "1", "echo there") == "there"


def test_this_machine_as_a_node(name: str) -> None:
    if backends.named("nspawn").unusable():
        pytest.skip("the machine's own root needs nspawn")
    made = lab.up(1, name=name, suite="machine")
    assert on(made, "1", "systemctl is-system-running --wait || true; sudo -n id -u").splitlines()[-1] == "0"
    on(made, "1", "sudo touch /usr/bin/only-in-the-node")
    assert not Path("/usr/bin/only-in-the-node").exists()
    lab.down(name)
    assert traces(name) == []
