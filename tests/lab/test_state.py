"""The files of a lab on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from provisioner.errors import ProvisionError, UsageError
from provisioner.lab import keys, listing, operations, state
from provisioner.lab.model import Lab, Node

KEYS = {"cuda": "A" * 40, "libnvidia-container": "B" * 40}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = state.lab_folder(tmp_path, "lab")
    folder.mkdir(parents=True)
    node = Node("lab-1", 1, "10.213.0.1", "ssh-ed25519 AAAA lab-1")
    odd = Node("lab-2", 2, "127.0.0.1", "ssh-ed25519 BBBB lab-2", port=2222)
    made = Lab("lab", folder, "nspawn", "bookworm", 0, nodes=(node, odd))
    state.save(made)
    return made


def test_what_is_saved_is_loaded(tmp_path: Path, lab: Lab) -> None:
    assert state.names(tmp_path) == ["lab"]
    assert state.load(tmp_path, "lab") == lab


def test_an_unknown_lab_gets_the_nearest_name(tmp_path: Path, lab: Lab) -> None:
    with pytest.raises(UsageError, match="no lab 'lba'") as caught:
        state.load(tmp_path, "lba")
    assert caught.value.help == "did you mean 'lab'?"


def test_no_lab_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        state.load(tmp_path, "lab")
    assert "provision lab up" in caught.value.help


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "provision.lab/1"}'])
def test_a_damaged_record_names_the_file(tmp_path: Path, lab: Lab, text: str) -> None:
    (lab.folder / "lab.json").write_text(text, encoding="utf-8")
    with pytest.raises(ProvisionError, match=r"lab\.json"):
        state.load(tmp_path, "lab")


def test_the_base_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PROVISION_STATE", raising=False)
    assert state.base_folder() == Path("/var/lib/provision")
    monkeypatch.setenv("PROVISION_STATE", str(tmp_path))
    assert state.base_folder() == tmp_path
    assert state.base_folder(tmp_path / "x") == tmp_path / "x"


def test_a_lab_that_is_being_changed_refuses_a_second_command(tmp_path: Path) -> None:
    with state.locked(tmp_path, "lab"):
        with pytest.raises(ProvisionError, match="another provision lab command"), state.locked(tmp_path, "lab"):
            pytest.fail("two at once")
        with state.locked(tmp_path, "other"):
            pass


def test_the_key_pair_is_made_once_and_usable(lab: Lab) -> None:
    public = keys.ensure_user_key(lab)
    assert keys.ensure_user_key(lab) == public
    assert lab.key.stat().st_mode & 0o777 == 0o600
    told = subprocess.run(["ssh-keygen", "-y", "-f", str(lab.key)], capture_output=True, text=True, check=True).stdout
    assert told.split()[:2] == public.split()[:2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_belong_to_the_person_behind_sudo(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1235")
    keys.ensure_user_key(lab)
    status = lab.key.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 1235, 0o600)


def test_known_hosts_names_addresses_and_ports(lab: Lab) -> None:
    assert keys.known_hosts(lab).splitlines() == [
        "10.213.0.1,lab-1 ssh-ed25519 AAAA",
        "[127.0.0.1]:2222,[lab-2]:2222 ssh-ed25519 BBBB",
    ]


def test_the_inventory_is_plain_yaml(lab: Lab) -> None:
    group = yaml.safe_load(listing.text(lab, KEYS))["gpu_nodes"]
    assert group["hosts"] == {"lab-1": {"ansible_host": "10.213.0.1"}, "lab-2": {"ansible_host": "127.0.0.1", "ansible_port": 2222}}
    assert group["vars"]["ansible_user"] == "admin"
    assert group["vars"]["ansible_ssh_private_key_file"] == str(lab.key)
    assert group["vars"]["ansible_ssh_common_args"] == f"-o UserKnownHostsFile={lab.known_hosts}"
    assert listing.text(lab, KEYS).startswith("# Written by provision lab up")


def test_the_checked_in_inventory_fits_the_default_lab() -> None:
    made = Lab("lab", Path("/var/lib/provision/labs/lab"), "nspawn", "bookworm", 0)
    made = made.with_nodes(Node(made.node_name(i), i, made.address(i), "ssh-ed25519 K") for i in (1, 2))
    path = Path(__file__).parents[2] / "inventory" / "lab.yml"
    kept = yaml.safe_load(path.read_text(encoding="utf-8"))["gpu_nodes"]
    wanted = listing.document(made, KEYS)["gpu_nodes"]
    assert kept["hosts"] == wanted["hosts"]
    base = kept["vars"].pop("lab_base")
    assert base == "{{ lookup('env', 'PROVISION_STATE') or '/var/lib/provision' }}"
    # The keys are made on each machine, so the file looks their fingerprints up; the limits are the demo's own.
    for variable, key in (("cuda_repository_fingerprint", "cuda"), ("nvidia_container_toolkit_fingerprint", "libnvidia-container")):
        looked_up = kept["vars"].pop(variable)
        assert looked_up == f"{{{{ lookup('file', lab_base ~ '/repository/public/keys/{key}.fingerprint') }}}}"
        wanted["vars"].pop(variable)
    kept["vars"].pop("nvidia_power_limits")
    plain = {key: str(value).replace("{{ lab_base }}", "/var/lib/provision") for key, value in kept["vars"].items()}
    assert plain == {key: str(value) for key, value in wanted["vars"].items()}


@pytest.mark.parametrize("verb", ["up", "down"])
def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str) -> None:
    monkeypatch.setattr("provisioner.lab.operations.os.geteuid", lambda: 1000)
    with pytest.raises(ProvisionError, match=f"provision lab {verb} must be run by root") as caught:
        operations.up(1, folder=tmp_path) if verb == "up" else operations.down(folder=tmp_path)
    assert f"sudo provision lab {verb}" in caught.value.help
