"""The simulator where it lives: a node with systemd and apt. Packages come from the lab's own repository alone: no network is needed."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator

import pytest

from provisioner import lab

pytestmark = [pytest.mark.nodes, pytest.mark.skipif(os.geteuid() != 0, reason="lab nodes need root"), pytest.mark.timeout(300)]

PREPARE = """
set -e
export DEBIAN_FRONTEND=noninteractive
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
url=http://repository.lab:8088
python3 - <<P
import urllib.request
for name in ("cuda.gpg", "libnvidia-container.gpg"):
    data = urllib.request.urlopen("$url/keys/" + name).read()
    open("/usr/share/keyrings/" + name, "wb").write(data)
P
echo "deb [signed-by=/usr/share/keyrings/cuda.gpg] $url/compute/cuda/repos/debian12/x86_64/ /" > /etc/apt/sources.list.d/cuda.list
cat > /etc/apt/preferences.d/branch <<P
Package: nvidia-* libnvidia-* libcuda1 cuda-drivers* firmware-nvidia-gsp
Pin: version 535.*
Pin-Priority: 1001
P
apt-get -q update
"""


class Node:
    """The one node of a lab."""

    def __init__(self, made: lab.Lab) -> None:
        self._lab = made

    def run(self, script: str) -> tuple[str, int]:
        """What a script prints as root, and its exit code."""
        command = lab.ssh_command(self._lab, self._lab.nodes[0], ["sudo", "bash", "-s"])
        done = subprocess.run(command, input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        return done.stdout.strip(), done.returncode

    def __call__(self, script: str) -> str:
        text, code = self.run(script)
        assert code == 0, text
        return text

    def reboot(self) -> None:
        """Reboot and wait for a login in the new boot."""
        before = self("cat /proc/1/stat")
        self.run("systemctl reboot")
        end = time.monotonic() + 60
        while True:
            text, code = self.run("cat /proc/1/stat; systemctl is-system-running --wait >/dev/null")
            if code == 0 and text.split()[21] != before.split()[21]:
                return
            assert time.monotonic() < end, "the node does not come back"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    name = f"s{secrets.token_hex(3)}"
    try:
        yield Node(lab.up(1, name=name, gpus=["2xA100", "T4", "RTX-4090"]))
    finally:
        lab.down(name)


@pytest.fixture(scope="module")
def driven(node: Node) -> Node:
    """The node after the driver of branch 535 was installed, which the first test sees it without."""
    assert node.run("command -v nvidia-smi")[1] == 1
    assert node("lspci -n -d 10de: | wc -l") == "4"
    assert node.run("ls /proc/driver/nvidia")[1] == 2
    node(PREPARE)
    node("DEBIAN_FRONTEND=noninteractive apt-get install -y cuda-drivers-535")
    return node


def test_an_installed_driver_answers_at_once(driven: Node) -> None:
    assert len(driven("nvidia-smi -L").splitlines()) == 4
    loaded = driven(
        "cat /sys/module/nvidia/version; modinfo -F version nvidia-current; nvidia-smi --query-gpu=driver_version --format=csv,noheader"
    )
    assert set(loaded.split()) == {"535.183.06"}
    assert driven("lspci -k -d 10de: | grep -c 'Kernel driver in use: nvidia'") == "4"
    assert driven("stat -c '%t:%T %a' /dev/nvidia0 /dev/nvidiactl") == "c3:0 666\nc3:ff 666"
    assert "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.06" in driven("journalctl -k --no-pager")
    assert driven("dpkg -S /usr/lib/nvidia/current/nvidia-smi").endswith("nvidia-smi: /usr/lib/nvidia/current/nvidia-smi")
    assert driven("dpkg --audit") == ""


def test_the_persistence_daemon_holds_the_gpus(driven: Node) -> None:
    assert driven("systemctl is-active nvidia-persistenced; systemctl is-enabled nvidia-persistenced") == "active\nenabled"
    mode = "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader | sort -u"
    assert driven(mode) == "Enabled"
    assert driven.run("nvidia-smi -r -i 0")[1] == 255
    driven("systemctl stop nvidia-persistenced")
    assert driven(mode) == "Disabled"
    assert driven("nvidia-smi -r -i 0 | head -1") == "GPU 00000000:07:00.0 was successfully reset."
    dropin = "/etc/systemd/system/nvidia-persistenced.service.d"
    start = "ExecStart=\\nExecStart=/usr/bin/nvidia-persistenced --user nvpd --no-persistence-mode --verbose\\n"
    driven(
        f"mkdir -p {dropin}; printf '[Service]\\n{start}' > {dropin}/x.conf; systemctl daemon-reload; systemctl start nvidia-persistenced"
    )
    assert driven("systemctl is-active nvidia-persistenced") == "active"
    assert driven(mode) == "Disabled"
    driven(f"rm -r {dropin}; systemctl daemon-reload; systemctl restart nvidia-persistenced")
    assert driven(mode) == "Enabled"


def test_a_reboot_loses_limits_and_keeps_ecc(driven: Node) -> None:
    fields = "--query-gpu=power.limit,ecc.mode.current,mig.mode.current --format=csv,noheader -i 0"
    driven("nvidia-smi -i 0 -pl 250; nvidia-smi -i 0 -e 0; nvidia-smi -i 0 -mig 1")
    assert driven(f"nvidia-smi {fields}") == "250.00 W, Enabled, Disabled"
    driven.reboot()
    assert driven(f"nvidia-smi {fields}") == "400.00 W, Disabled, Enabled"
    assert driven("systemctl is-active nvidia-persistenced") == "active"
    assert driven("journalctl -k -b --no-pager | grep -c 'NVRM: loading'") == "1"


def test_an_xid_is_found_where_people_look(driven: Node) -> None:
    driven("provision-sim xid 1 79")
    time.sleep(0.3)
    line = "NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    assert line in driven("journalctl -k -o short-iso --no-pager")
    assert line in driven("dmesg")


def test_an_upgrade_without_reboot_is_a_mismatch(driven: Node) -> None:
    driven("rm /etc/apt/preferences.d/branch; DEBIAN_FRONTEND=noninteractive apt-get -y install cuda-drivers")
    text, code = driven.run("nvidia-smi -L")
    assert (text, code) == ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 595.71", 18)
    assert driven("cat /sys/module/nvidia/version; modinfo -F version nvidia-current").split() == ["535.183.06", "595.71.05"]
    assert "NVRM: API mismatch: the client has the version 595.71.05, but" in driven("dmesg")
    assert driven.run("rmmod nvidia")[0].endswith("Module nvidia is in use")
    driven("systemctl stop nvidia-persistenced; rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; modprobe nvidia")
    assert driven("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0") == "595.71.05"


def test_a_removed_driver_takes_its_program_along(driven: Node) -> None:
    driven("DEBIAN_FRONTEND=noninteractive apt-get -y purge 'nvidia-*' 'libnvidia-*' 'cuda-drivers*' libcuda1")
    assert driven.run("command -v nvidia-smi nvidia-persistenced")[1] == 1
    assert driven("dpkg-divert --list '*nvidia*'") == ""
    driven.reboot()
    assert driven.run("ls /proc/driver/nvidia /sys/module/nvidia /dev/nvidia0")[0].count("No such file") == 3
    assert driven("provision-sim status").startswith("SIMULATION")
