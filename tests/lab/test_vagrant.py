"""The Vagrantfile: it is valid, and its containers are nodes that an inventory reaches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from provisioner.lab import vagrant
from provisioner.lab.docker import CONTAINER_OPTIONS, Engine

ROOT = Path(__file__).parents[2]
needs_vagrant = pytest.mark.skipif(shutil.which("vagrant") is None, reason="vagrant is not installed")


@pytest.fixture
def engine() -> None:
    """Vagrant refuses even to read the file where the provider's daemon does not answer."""
    if reason := Engine().unusable():
        pytest.skip(f"docker: {reason}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Vagrantfile", tmp_path)
    return tmp_path


def call(project: Path, *words: str, timeout: float = 60) -> str:
    environment = {
        **os.environ,
        "VAGRANT_HOME": str(project / "home"),
        "VAGRANT_DEFAULT_PROVIDER": "docker",
        "PROVISION_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["vagrant", *words], cwd=project, env=environment, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_containers_get_what_the_lab_gives_them() -> None:
    text = (ROOT / "Vagrantfile").read_text(encoding="utf-8")
    written = text.split("CONTAINER = %w[", 1)[1].split("]", 1)[0].split()
    assert written == list(CONTAINER_OPTIONS)


def test_the_overlay_holds_simulator_and_repository_but_no_keys(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "gpu-1.tar.gz"
    assert vagrant.main(["overlay", "gpu-1", str(file), "T4"]) == 0
    with tarfile.open(file) as archive:
        names = archive.getnames()
        assert {(entry.uid, entry.gid) for entry in archive.getmembers()} == {(0, 0)}
    assert "etc/systemd/system/provision-sim.service" in names
    assert f"{vagrant.REPOSITORY}/repository.json" in names
    assert "etc" not in names
    assert not [name for name in names if "private" in name or "secret" in name or name.endswith(("lock", ".key"))]


@pytest.mark.parametrize("words", [[], ["image"], ["image", "bokworm", "/k"], ["overlay", "n", "/x", "H900"]])
def test_what_cannot_be_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert vagrant.main(words) == 1
    assert "error:" in capsys.readouterr().err


@needs_vagrant
@pytest.mark.usefixtures("engine")
def test_the_file_is_valid(project: Path) -> None:
    assert "successfully" in call(project, "validate")


@needs_vagrant
@pytest.mark.nodes
@pytest.mark.usefixtures("engine")
def test_a_container_from_up_to_destroy(project: Path) -> None:
    try:
        call(project, "up", "gpu-1", timeout=240)
        assert "HostName" in call(project, "ssh-config", "gpu-1")
        group = yaml.safe_load((project / ".vagrant/inventory.yml").read_text(encoding="utf-8"))["gpu_nodes"]
        host = group["hosts"]["gpu-1"]
        command = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-i", host["ansible_ssh_private_key_file"], "-p", str(host["ansible_port"])]
        command += [*group["vars"]["ansible_ssh_common_args"].split(), f"{host['ansible_user']}@{host['ansible_host']}"]
        script = "systemctl is-system-running --wait; sudo -n id -u; hostname; getent hosts gpu-1 | wc -l; provision-sim status | head -1"
        assert {"cuda_repository_fingerprint", "nvidia_container_toolkit_fingerprint"} <= set(group["vars"])
        done = subprocess.run([*command, script], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        state, user, name, known, simulated = done.stdout.splitlines()
        assert (state, user, name, known) == ("running", "0", "gpu-1", "1"), done.stderr
        assert simulated.startswith("SIMULATION")
    finally:
        call(project, "destroy", "--force", timeout=120)
    assert yaml.safe_load((project / ".vagrant/inventory.yml").read_text(encoding="utf-8"))["gpu_nodes"]["hosts"] == {}
