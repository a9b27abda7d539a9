"""A Debian 12 container with plain sshd, a user with sudo, an inventory written by hand: the real 535 user space, pinned, nothing twice.

No simulator and no repository of ours is in it, so what is installed is what Debian ships; and since it has neither a kernel nor a GPU of
its own, no module is built or loaded, and nothing pretends that a GPU answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.lab.docker import Engine
from tests.e2e.fleet import ROOT, Said
from tests.playbooks.commands import provision
from tests.playbooks.container import Container, make

REASON = "lab images need root" if os.geteuid() != 0 else Engine().unusable()
pytestmark = [pytest.mark.nodes, pytest.mark.timeout(600), pytest.mark.skipif(bool(REASON), reason=f"docker: {REASON}")]

PLAYED = (ROOT / "playbooks/site.yml", "--tags", "driver,motd")

# Another branch than the one asked for, in the names of Debian and in those of Ubuntu, newer than everything.
NEWER = r"""
mkdir -p /srv/newer && cd /srv/newer
for package in nvidia-smi libcuda1 libnvidia-ml1 nvidia-driver-550 cuda-drivers; do
    mkdir -p tree/DEBIAN
    printf 'Package: %s\nVersion: 999.1-1\nArchitecture: amd64\nMaintainer: x\nDescription: newer\n' $package > tree/DEBIAN/control
    dpkg-deb --build --root-owner-group tree $package.deb > /dev/null
done
apt-ftparchive packages . > Packages
echo 'deb [trusted=yes] file:/srv/newer ./' > /etc/apt/sources.list.d/newer.list
apt-get update -qq
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[Container]:
    made = make(folder)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def applied(node: Container, folder: Path) -> Said:
    said = provision(folder, "apply", node.inventory, *PLAYED, "--format", "json")
    assert said.code == 0, said.all
    return said


@pytest.fixture(scope="module")
def installed(node: Container, applied: Said) -> dict[str, str]:
    """Packages and their versions, as the container itself says."""
    listed = node.sh("dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n'").splitlines()
    return {name: version for status, name, version in map(str.split, listed) if status == "installed"}


def test_debian_s_own_user_space_is_installed(node: Container, installed: dict[str, str]) -> None:
    mine = ("libcuda", "libnvidia", "nvidia-smi", "nvidia-alternative")
    driver = {name: version for name, version in installed.items() if name.startswith(mine)}
    assert {"libcuda1", "nvidia-smi", "libnvidia-ml1", "libnvidia-cfg1"} <= set(driver)
    assert {version.split(".")[0] for version in driver.values()} == {"535"}
    assert "nvidia-persistenced" in installed
    assert "bookworm" in node.sh(f"apt-cache madison nvidia-smi | grep -F ' {installed['nvidia-smi']} '")
    assert node.sh("head -c 4 $(readlink -f /usr/bin/nvidia-smi) | tail -c 3") == "ELF"


def test_no_module_is_built_and_no_gpu_pretended(node: Container, installed: dict[str, str]) -> None:
    assert not {name for name in installed if "dkms" in name or name == "make" or name.startswith(("linux-headers", "linux-image"))}
    said = node.sh("nvidia-smi; echo ends with $?", check=False)
    assert "failed" in said.lower()
    assert not said.endswith("ends with 0")


def test_the_second_apply_changes_nothing(node: Container, applied: Said, folder: Path) -> None:
    again = provision(folder, "apply", node.inventory, *PLAYED, "--format", "json")
    assert again.code == 0, again.all
    assert [step["task"] for step in again.document["steps"] if step["status"] == "changed"] == []
    assert sum(len(step["changes"]) for step in applied.document["steps"]) > 10


def test_verify_passes(node: Container, applied: Said, folder: Path) -> None:
    """A fresh plan is empty, and the tests beside the role find what they look for."""
    role = ROOT / "playbooks/roles/nvidia_driver"
    (folder / "driver.yml").write_text(f"- name: Driver\n  hosts: gpu_nodes\n  become: true\n  roles: [{role}]\n")
    said = provision(folder, "verify", node.inventory, "driver.yml", "--format", "json")
    assert said.code == 0, said.all
    assert said.document["stats"]["passed"] >= 5


def test_the_pins_hold(node: Container, installed: dict[str, str]) -> None:
    """Last of all, since it adds a repository: with another branch within reach, and without the holds, apt stays where it is."""
    node.sh(NEWER)
    names = "nvidia-smi libcuda1 libnvidia-ml1"
    assert "999.1-1" in node.sh("apt-cache madison nvidia-smi")
    candidates = node.sh(f"apt-cache policy {names} | sed -n 's/^  Candidate: //p'").split()
    assert candidates == [installed["nvidia-smi"]] * 3
    for other in ("nvidia-driver-550", "cuda-drivers", "nvidia-tesla-470-driver"):
        assert "Candidate: (none)" in node.sh(f"apt-cache policy {other}"), other
    assert set(node.sh("apt-mark showhold").split()) >= {"nvidia-smi", "libcuda1", "libnvidia-ml1"}
    node.sh("apt-mark unhold $(apt-mark showhold)")
    assert node.sh("apt-get -s dist-upgrade | grep -E '^Inst (.*nvidia|libcuda|cuda)' || echo nothing") == "nothing"
