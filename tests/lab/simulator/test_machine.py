"""The node's side besides nvidia-smi: files of /proc and /sys, the kernel's log, the dpkg hook, the control command and the installer."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from provisioner.errors import UsageError
from provisioner.lab import repository, simulator
from provisioner.lab.simulator.node import hook
from provisioner.lab.simulator.node.control import main as control
from provisioner.lab.simulator.node.machine import Machine
from tests.lab.simulator.box import Box


@pytest.fixture
def here(four: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    """Commands of the package act on this machine."""
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(four.root))
    return four


def kernel(box: Box, path: str) -> str:
    """A file of the simulated /proc or /sys."""
    return (Path(box.paths.tree) / path).read_text(encoding="utf-8")


def test_driver_files(here: Box) -> None:
    here.smi("-L")
    first, second = kernel(here, "proc/driver/nvidia/version").splitlines()
    match = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", first)
    assert match is not None
    assert match[1] == "535.309.01"
    assert first.startswith("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01  ")
    assert second.startswith("GCC version:  gcc version ")
    assert kernel(here, "sys/module/nvidia/version") == "535.309.01\n"
    information = kernel(here, "proc/driver/nvidia/gpus/0000:0f:00.0/information")
    fields = dict(line.split(":", 1) for line in information.splitlines())
    assert fields["Model"].strip() == "Tesla T4"
    assert fields["GPU UUID"].strip() == here.query("uuid")[1][0]
    assert fields["Bus Location"].strip() == "0000:0f:00.0"
    assert fields["Device Minor"].strip() == "1"
    assert kernel(here, "proc/modules").splitlines()[-1].startswith("nvidia 56717312 2 nvidia_uvm,nvidia_modeset, Live")


def test_open_modules_say_so(box: Box) -> None:
    box.boards("H100-SXM")
    box.driver("580.95.05", "libnvidia-ml1", "libcuda1", "nvidia-kernel-open-dkms")
    box.smi("-L")
    assert "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build" in kernel(box, "proc/driver/nvidia/version")
    assert box.query("addressing_mode") == [["HMM"]]


def test_pci_functions_are_there_before_any_driver(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_SIM_ROOT", str(box.root))
    box.boards("T4", "RTX-4090")
    control(["boot"])
    device = "sys/bus/pci/devices/0000:07:00.0"
    found = [kernel(box, f"{device}/{name}").strip() for name in ("vendor", "device", "class", "max_link_width")]
    assert found == ["0x10de", "0x1eb8", "0x030200", "16"]
    assert kernel(box, "sys/bus/pci/devices/0000:0f:00.0/class") == "0x030000\n"
    home = Path(box.paths.tree) / device
    assert (home / "config").read_bytes()[:4] == b"\xde\x10\xb8\x1e"
    assert not (home / "driver").is_symlink()
    assert not (Path(box.paths.tree) / "proc/driver/nvidia").exists()
    box.driver("535.309.01")
    box.smi("-L")
    assert os.readlink(home / "driver").endswith("/nvidia")


def test_lspci_reads_the_functions(here: Box) -> None:
    lspci = Path("/usr/bin/lspci")
    if not lspci.exists():
        pytest.skip("pciutils is not installed")
    control(["lose", "3"])
    tree = Path(here.paths.tree) / "sys/bus/pci"
    done = subprocess.run([lspci, "-O", f"sysfs.path={tree}", "-Dnn", "-d", "10de:"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [re.findall(r"\[([0-9a-f]{4})\].*\[10de:([0-9a-f]{4})\]", line) for line in lines[:3]] == [
        [("0302", "20b2")],
        [("0302", "1eb8")],
        [("0300", "2684")],
    ]
    assert "(rev ff)" in lines[3]


def test_gone_boards_are_off_the_bus(here: Box) -> None:
    control(["lose", "0", "--dead"])
    here.reboot()
    control(["boot"])
    assert not (Path(here.paths.tree) / "sys/bus/pci/devices/0000:07:00.0").exists()
    assert "gone from the bus" in _status(here)


def _status(box: Box) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "from provisioner.lab.simulator.node.control import main; main(['status'])"],
        env={**os.environ, "PROVISION_SIM_ROOT": str(box.root)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_status_names_itself_a_simulation(here: Box, capsys: pytest.CaptureFixture[str]) -> None:
    control(["break", "module"])
    control(["status"])
    text = capsys.readouterr().out
    assert text.startswith("SIMULATION by provision lab")
    assert "broken           module" in text
    control(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["simulation"] is True


XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\).*?: (\d+),")


@pytest.mark.parametrize("code", [13, 31, 48, 63, 79, 94, 119, 140])
def test_xids_have_the_form_of_real_ones(here: Box, code: int) -> None:
    control(["xid", "1", str(code)])
    match = XID.search(here.log())
    assert match is not None
    assert match.groups() == ("0000:0f:00", str(code))


def test_kernel_lines_reach_a_fifo_as_single_records(here: Box) -> None:
    fifo = here.root / "dev/kmsg"
    os.mkfifo(fifo)
    control(["log", "nobody listens yet"])
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        control(["log", "now somebody does"])
        control(["flush"])
        records = []
        while True:
            try:
                records.append(os.read(reader, 8192).decode())
            except BlockingIOError:
                break
    finally:
        os.close(reader)
    heads = [record.split(";")[0].split(",") for record in records]
    assert [record.split(";")[1] for record in records][-2:] == ["nobody listens yet\n", "now somebody does\n"]
    assert [int(head[1]) for head in heads] == list(range(len(records)))
    assert all(head[3] == "-" for head in heads)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["lose", "9"], "no GPU '9'; this node has: 0 (A100-SXM4-80GB, 0000:07:00.0)"),
        (["set", "0", "colour=1"], "not a reading: 'colour=1'"),
        (["set", "0", "temperature=hot"], "temperature takes a number (degrees Celsius), not 'hot'"),
    ],
)
def test_bad_control(here: Box, capsys: pytest.CaptureFixture[str], command: list[str], complaint: str) -> None:
    assert control(command) == 1
    assert complaint in capsys.readouterr().err


def test_readings_can_be_set_and_taken_back(here: Box) -> None:
    fields = "temperature.gpu,clocks_event_reasons.hw_thermal_slowdown,pcie.link.width.current,ecc.errors.uncorrected.aggregate.total"
    healthy = here.query(fields, "-i", "0")
    control(["set", "0", "temperature=91", "link_width=8", "uncorrected=2"])
    assert here.query(fields, "-i", "0") == [["91", "Active", "8", "2"]]
    control(["set", "0", "temperature=", "link_width="])
    here.reboot()
    assert here.query(fields, "-i", "0") == [[*healthy[0][:3], "2"]]


def test_pending_row_remapping_asks_for_a_reset(here: Box) -> None:
    control(["set", "0", "remap_pending=1", "remapped_uncorrectable=1"])
    row = "--query-remapped-rows=remapped_rows.uncorrectable,remapped_rows.pending"
    assert here.smi(row, "--format=csv,noheader", "-i", "0")[0] == "1, 1\n"
    assert here.query("reset_status.reset_required", "-i", "0") == [["Yes"]]
    here.smi("-r", "-i", "0")
    assert here.smi(row, "--format=csv,noheader", "-i", "0")[0] == "1, 0\n"


def test_workloads(here: Box) -> None:
    control(["use", "0", "--pid", "7", "--name", "train", "--memory", "512"])
    assert here.query("utilization.gpu,memory.used,pstate", "-i", "0") == [["97", "512", "P0"]]
    with Machine.open(here.paths) as machine:
        assert machine.unload_module() == "Module nvidia is in use"
    control(["free", "all"])
    with Machine.open(here.paths) as machine:
        assert machine.unload_module() is None


def test_a_hanging_driver_hangs_until_mended(here: Box) -> None:
    control(["break", "hang"])
    code = "import sys; from provisioner.lab.simulator.node.smi import main; sys.exit(main(['-L']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    control(["mend"])
    assert len(process.communicate(timeout=10)[0].splitlines()) == 4
    assert process.returncode == 0


# dpkg


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages with Ubuntu's names, which lay nvidia-smi straight into /usr/bin."""
    return repository.build(tmp_path_factory.mktemp("repository")).folder / "compute/cuda/repos/ubuntu2204/x86_64"


def _dpkg(box: Box, *arguments: str) -> None:
    command = ["dpkg", "--root", str(box.root), "--force-script-chrootless,depends,not-root", "--log=/dev/null", *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def test_packages_bring_the_simulated_program_and_take_it_away(here: Box, packages: Path) -> None:
    for folder in ("info", "updates", "triggers"):
        (here.root / "var/lib/dpkg" / folder).mkdir()
    here.packages({})
    program, library = here.root / "usr/bin/nvidia-smi", str(here.root / "usr/lib/provision-sim/bin/nvidia-smi")

    def install(version: str) -> None:
        names = (f"libnvidia-compute-580_{version}-0ubuntu1_amd64.deb", f"nvidia-utils-580_{version}-0ubuntu1_amd64.deb")
        _dpkg(here, "-i", *(str(packages / name) for name in names))
        assert hook.main() == 0

    assert hook.main() == 0
    assert not program.is_symlink()
    install("580.65.06")
    assert os.readlink(program) == library
    assert here.query("driver_version", "-i", "0") == [["580.65.06"]]
    install("580.95.05")
    assert os.readlink(program) == library
    assert "SIMULATION" in program.with_suffix(".real").read_text(encoding="utf-8")
    assert here.smi()[1] == 18
    listed = subprocess.run(["dpkg-divert", "--root", str(here.root), "--list"], capture_output=True, text=True, check=True).stdout
    assert listed == "local diversion of /usr/bin/nvidia-smi to /usr/bin/nvidia-smi.real\n"
    _dpkg(here, "--purge", "nvidia-utils-580", "libnvidia-compute-580")
    hook.main()
    assert not program.is_symlink()
    assert not list(program.parent.glob("nvidia-smi*"))
    listed = subprocess.run(["dpkg-divert", "--root", str(here.root), "--list"], capture_output=True, text=True, check=True).stdout
    assert listed == ""


# The installer


def test_the_tree_is_files_and_links_that_work_by_themselves(tmp_path: Path) -> None:
    simulator.tree(tmp_path, ["2xA100"], seed="node1")
    hardware = json.loads((tmp_path / "var/lib/provision-sim/hardware.json").read_text(encoding="utf-8"))
    assert [gpu["board"] for gpu in hardware["gpus"]] == ["A100-SXM4-80GB"] * 2
    for path in tmp_path.rglob("*"):
        mode = path.lstat().st_mode
        assert stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)
    for path in (tmp_path / "usr/lib/provision-sim/bin").iterdir():
        assert path.stat().st_mode & 0o777 == 0o755
        assert "SIMULATION" in path.read_text(encoding="utf-8")
    code = "import sys; sys.path.insert(0, 'usr/lib/provision-sim'); from provision_sim.smi import main; sys.exit(main(['-L']))"
    (tmp_path / "var/lib/dpkg").mkdir()
    status = "Package: libnvidia-ml1\nStatus: install ok installed\nVersion: 535.309.01-1\n"
    (tmp_path / "var/lib/dpkg/status").write_text(status, encoding="utf-8")
    environment = {**os.environ, "PROVISION_SIM_ROOT": str(tmp_path)}
    done = subprocess.run([sys.executable, "-ISc", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2


def test_installing_needs_a_system_with_python(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no system with Python"):
        simulator.install(tmp_path, ["T4"])
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").touch()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("gpu7\n", encoding="utf-8")
    simulator.install(tmp_path, ["T4"])
    first = (tmp_path / "var/lib/provision-sim/hardware.json").read_text(encoding="utf-8")
    simulator.install(tmp_path, ["T4"], seed="gpu7")
    assert (tmp_path / "var/lib/provision-sim/hardware.json").read_text(encoding="utf-8") == first


def test_the_node_side_needs_no_more_than_the_library_of_python(tmp_path: Path) -> None:
    """nvidia-smi is called often: what it imports is counted."""
    simulator.tree(tmp_path, ["T4"])
    code = "import sys; sys.path.insert(0, 'usr/lib/provision-sim'); import provision_sim.smi; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-ISc", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    heavy = {"typing", "dataclasses", "inspect", "argparse", "subprocess", "pathlib", "shutil", "logging"}
    assert heavy & set(done.stdout.split()) == set()
