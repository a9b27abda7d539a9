"""What survives what (4.2 of the GPU facts), the driver's version, and upgrades without a reboot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from provisioner.lab.simulator.node import packages
from provisioner.lab.simulator.node.control import main as control
from provisioner.lab.simulator.node.machine import Machine
from tests.lab.simulator.box import Box

A100, H100 = "00000000:07:00.0", "00000000:4E:00.0"


def test_nothing_answers_before_a_driver_is_installed(box: Box) -> None:
    box.boards("A100")
    assert box.smi("-L")[1] == 12
    box.driver("535.309.01")
    assert box.smi("-L")[1] == 0
    assert box.query("driver_version") == [["535.309.01"]]


def test_a_reboot_forgets_the_volatile_settings(four: Box) -> None:
    for line in ("-pm 1", "-i 0 -pl 250", "-i 0 -lgc 1000,1100", "-i 0 -c 3"):
        assert four.smi(*line.split())[1] == 0
    fields = "persistence_mode,power.limit,compute_mode,clocks.sm"
    assert four.query(fields, "-i", "0") == [["Enabled", "250.00", "Exclusive_Process", "1000"]]
    four.reboot()
    assert four.query(fields, "-i", "0") == [["Disabled", "400.00", "Default", "210"]]


def test_settings_go_with_the_last_client_unless_persistence_mode_holds_them(four: Box) -> None:
    four.smi("-i", "0", "-pm", "1")
    four.smi("-i", "0", "-pl", "250")
    assert four.query("power.limit", "-i", "0") == [["250.00"]]
    four.smi("-i", "0", "-pm", "0")
    assert four.query("power.limit", "-i", "0") == [["400.00"]]


def test_ecc_is_pending_until_a_reboot_and_then_kept(four: Box) -> None:
    four.smi("-i", "0", "-e", "0")
    fields = "ecc.mode.current,ecc.mode.pending,ecc.errors.corrected.volatile.total"
    assert four.query(fields, "-i", "0") == [["Enabled", "Disabled", "0"]]
    for _boot in range(2):
        four.reboot()
        assert four.query(fields, "-i", "0") == [["Disabled", "Disabled", "[N/A]"]]


def test_mig_is_stored_on_ampere_and_lost_on_hopper(four: Box) -> None:
    for index in ("0", "3"):
        four.smi("-i", index, "-mig", "1")
    mode = "mig.mode.current,mig.mode.pending,utilization.gpu"
    assert four.query(mode, "-i", "0,3") == [["Enabled", "Enabled", "[N/A]"]] * 2
    four.reboot()
    assert four.query(mode, "-i", "0,3") == [["Enabled", "Enabled", "[N/A]"], ["Disabled", "Disabled", "0"]]


def test_mig_in_use_is_pending_on_ampere_and_refused_on_hopper(four: Box) -> None:
    four.change(lambda machine: [gpu.live["clients"].append({"pid": 1, "name": "x", "memory": 1}) for gpu in machine.gpus])
    text, code = four.smi("-i", "0", "-mig", "1")
    assert code == 0
    assert text.startswith(f"Warning: MIG mode is in pending enable state for GPU {A100}:In use by another client\n{A100} is currently")
    assert four.query("mig.mode.current,mig.mode.pending", "-i", "0") == [["Disabled", "Enabled"]]
    assert "Disabled*" in four.smi("-i", "0")[0]
    refused = f"Unable to enable MIG Mode for GPU {H100}: In use by another client\nTerminating early due to previous errors.\n"
    assert four.smi("-i", "3", "-mig", "1") == (refused, 19)
    four.reboot()
    assert four.query("mig.mode.current", "-i", "0") == [["Enabled"]]


def test_a_held_gpu_cannot_be_reset(four: Box) -> None:
    four.change(lambda machine: machine.gpus[0].live["clients"].append({"pid": 1, "name": "x", "memory": 1}))
    text, code = four.smi("-i", "0", "--gpu-reset")
    assert code == 255
    assert text.startswith(f"GPU {A100} is currently in use by another process.\n\n1 device is currently being used")


def test_the_first_gpus_keep_a_limit_that_a_later_one_refuses(four: Box) -> None:
    four.smi("-pm", "1")
    assert four.smi("-pl", "250")[1] == 2
    assert four.query("power.limit") == [["250.00"], ["70.00"], ["450.00"], ["700.00"]]


def test_an_upgrade_without_reboot_is_a_mismatch_until_reload_or_reboot(four: Box) -> None:
    four.smi("-L")
    four.driver("580.95.05")
    mismatch = ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n", 18)
    for line in ("", "-L", "--query-gpu=index --format=csv", "--help-query-gpu"):
        assert four.smi(*line.split()) == mismatch
    assert "NVRM: API mismatch: the client has the version 580.95.05, but" in four.log()
    four.reboot()
    assert four.query("driver_version", "-i", "0") == [["580.95.05"]]
    four.driver("580.126.16")
    assert four.smi()[1] == 18
    four.change(Machine.unload_module)
    four.change(Machine.load_module)
    assert four.query("driver_version", "-i", "0") == [["580.126.16"]]


def test_a_removed_driver_leaves_its_module_until_the_reboot(four: Box) -> None:
    four.smi("-L")
    four.packages({})
    assert four.smi("-L")[1] == 12
    four.change(lambda machine: None)
    with Machine.open(four.paths) as machine:
        assert machine.module == {"version": "535.309.01", "open": False}
    four.reboot()
    with Machine.open(four.paths) as machine:
        assert machine.module is None


@pytest.mark.parametrize(
    ("version", "names", "seen"),
    [
        ("535.309.01", ("libnvidia-ml1",), ["NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB"]),
        ("595.71.05", ("libnvidia-compute",), ["NVIDIA A100-SXM4-80GB"]),
        ("580.95.05", ("libnvidia-compute-580", "nvidia-dkms-580-open"), ["NVIDIA A100-SXM4-80GB", "NVIDIA B200"]),
        ("580.95.05", ("libnvidia-compute-580", "nvidia-dkms-580"), ["NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB"]),
    ],
)
def test_branch_and_flavour_decide_which_boards_attach(box: Box, version: str, names: tuple[str, ...], seen: list[str]) -> None:
    box.boards("A100", "V100", "B200")
    box.driver(version, *names)
    assert [row[0] for row in box.query("name")] == seen
    assert f"not supported by the NVIDIA {version} driver release." in box.log()


def test_nouveau_keeps_the_module_out_until_it_is_blacklisted_and_rebooted(box: Box) -> None:
    box.boards("A100", nouveau=True)
    box.driver("535.309.01")
    box.reboot()
    assert box.smi()[1] == 9
    Path(box.paths.at("etc/modprobe.d/nvidia.conf")).write_text("# none\nblacklist nouveau\noptions nouveau modeset=0\n", encoding="utf-8")
    assert box.smi()[1] == 9
    box.reboot()
    assert box.smi()[1] == 0


def test_a_cap_from_outside_lowers_the_enforced_limit_alone(four: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    assert control(["set", "3", "external_power_cap=500"]) == 0
    assert four.query("power.limit,enforced.power.limit", "-i", "3") == [["700.00", "500.00"]]


def test_a_board_that_refuses_power_limits_does_so_with_exit_code_0(four: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    control(["set", "0", "power_settable=0"])
    refusal = f"Changing power management limit is not supported for GPU: {A100}.\nTreating as warning and moving on.\nAll done.\n"
    assert four.smi("-i", "0", "-pl", "250") == (refusal, 0)


@pytest.mark.parametrize(
    ("name", "version", "userspace", "kernel"),
    [
        ("libnvidia-ml1", "535.309.01-0+deb12u1", "535.309.01", None),
        ("libnvidia-tesla-470-ml1", "470.256.02-1~deb12u1", "470.256.02", None),
        ("libnvidia-compute-580-server", "580.126.09-0ubuntu0.22.04.1", "580.126.09", None),
        ("libnvidia-compute", "595.71.05-1ubuntu1", "595.71.05", None),
        ("nvidia-kernel-dkms", "535.309.01-0+deb12u1", None, "535.309.01"),
        ("nvidia-dkms-550-server-open", "550.54.15-0ubuntu1", None, "550.54.15"),
        ("nvidia-driver-535", "535.1.1-1", None, None),
        ("libnvidia-container1", "1.17.8-1", None, None),
    ],
)
def test_versions_come_from_dpkg(box: Box, name: str, version: str, userspace: str | None, kernel: str | None) -> None:
    box.packages({name: version})
    found = packages.installed(box.paths.dpkg_status)
    assert (found.userspace, found.kernel) == (userspace, kernel)


def test_a_purged_package_is_no_driver(box: Box) -> None:
    status = Path(box.paths.dpkg_status)
    status.write_text("Package: libnvidia-ml1\nStatus: deinstall ok config-files\nVersion: 535.309.01-1\n", encoding="utf-8")
    assert packages.installed(str(status)).userspace is None
    status.unlink()
    assert packages.installed(str(status)).userspace is None


def test_state_is_written_only_when_it_changes(four: Box) -> None:
    four.smi("-L")
    before = os.stat(four.paths.live).st_mtime_ns
    four.smi("-q")
    assert os.stat(four.paths.live).st_mtime_ns == before
