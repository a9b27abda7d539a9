"""Put the simulator into a node's file tree. Only files and links are written, so any backend can lay them over a root."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from provisioner.errors import UsageError
from provisioner.lab.simulator import node
from provisioner.lab.simulator.spec import GpuSpec, entries, specs

LIBRARY = "usr/lib/provision-sim"
BOOT_HOOK = "usr/lib/provision-lab/boot.d/50-gpus"
"""Run by a lab node's first process before systemd; other nodes have the units."""

_LAUNCHER = """\
#!/usr/bin/python3 -IS
# SIMULATION, installed by provision lab: no NVIDIA software, no GPU.
import sys

sys.path.insert(0, "/usr/lib/provision-sim")
from provision_sim.{module} import main

sys.exit(main())
"""
_PROGRAMS = {
    "nvidia-smi": "smi",
    "nvidia-persistenced": "persistenced",
    "provision-sim": "control",
    "dpkg-hook": "hook",
    "modinfo": "tools",
    "modprobe": "tools",
    "rmmod": "tools",
    "lsmod": "tools",
    "dmesg": "tools",
    "lspci": "tools",
}
_ON_PATH = {
    "usr/bin/provision-sim": "provision-sim",
    # In front of the real ones, to which they hand what is not about the simulation.
    "usr/local/sbin/modinfo": "modinfo",
    "usr/local/sbin/modprobe": "modprobe",
    "usr/local/sbin/rmmod": "rmmod",
    "usr/local/bin/lsmod": "lsmod",
    "usr/local/bin/dmesg": "dmesg",
    "usr/local/bin/lspci": "lspci",
}
_DPKG = """\
# SIMULATION, installed by provision lab: the programs of an installed driver are replaced by simulated ones.
post-invoke /usr/lib/provision-sim/bin/dpkg-hook
"""
_BOOT = """\
#!/bin/sh
# SIMULATION, installed by provision lab.
exec /usr/lib/provision-sim/bin/provision-sim boot
"""
_MOTD = """\
#!/bin/sh
echo "SIMULATION: the NVIDIA GPUs of this provision lab node do not exist. See: provision-sim status"
"""
_UNIT = """\
# SIMULATION, installed by provision lab.
[Unit]
Description=Simulated NVIDIA GPUs (provision lab)
DefaultDependencies=no
RequiresMountsFor=/run /usr /var
Before=systemd-journald.service sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
StandardOutput=null
StandardError=null
ExecStart=/usr/lib/provision-sim/bin/provision-sim boot

[Install]
WantedBy=sysinit.target
"""
_LOG_UNIT = """\
# SIMULATION, installed by provision lab.
[Unit]
Description=Kernel log of the simulated GPUs (provision lab)
DefaultDependencies=no
Requires=provision-sim.service
After=provision-sim.service systemd-journald.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/provision-sim/bin/provision-sim flush

[Install]
WantedBy=sysinit.target
"""
_ROOT = "/run/provision-sim/root\n"


def install(root: Path, gpus: Sequence[GpuSpec | str], *, seed: str = "", nouveau: bool = False) -> None:
    """Give the node whose tree is at ``root`` these GPUs, as specs or in words; ``root`` must already hold a system with Python.

    ``seed`` makes the UUIDs and serial numbers, one per node; by default the node's host name does. ``nouveau`` starts the node with the
    nouveau module bound, until a reboot with nouveau blacklisted. Raises UsageError where ``root`` is no such tree.
    """
    if not (root / "usr/bin").is_dir() or not list((root / "usr/bin").glob("python3*")):
        raise UsageError(
            f"{root} holds no system with Python", why="the simulator runs inside the node", help="install python3 there, or use tree()"
        )
    name = root / "etc/hostname"
    tree(root, gpus, seed=seed or (name.read_text(encoding="utf-8").strip() if name.is_file() else ""), nouveau=nouveau)


def tree(destination: Path, gpus: Sequence[GpuSpec | str], *, seed: str = "", nouveau: bool = False) -> None:
    """Write the simulator as a plain tree of files and links that is to be laid over ``/`` of a node."""
    code = destination / LIBRARY / "provision_sim"
    if code.exists():
        shutil.rmtree(code)
    code.mkdir(parents=True)
    for source in sorted(Path(node.__file__).parent.glob("*.py")):
        _write(code / source.name, source.read_text(encoding="utf-8"))
    for program, module in _PROGRAMS.items():
        _write(destination / LIBRARY / "bin" / program, _LAUNCHER.format(module=module), 0o755)
    for link, program in _ON_PATH.items():
        _link(destination / link, f"/{LIBRARY}/bin/{program}")
    _write(destination / "etc/dpkg/dpkg.cfg.d/provision-sim", _DPKG)
    _write(destination / "etc/provision-sim/root", _ROOT)
    _write(destination / "etc/update-motd.d/60-provision-sim", _MOTD, 0o755)
    _write(destination / BOOT_HOOK, _BOOT, 0o755)
    for unit, text in (("provision-sim.service", _UNIT), ("provision-sim-log.service", _LOG_UNIT)):
        _write(destination / "etc/systemd/system" / unit, text)
        _link(destination / "etc/systemd/system/sysinit.target.wants" / unit, f"/etc/systemd/system/{unit}")
    hardware = {
        "about": "SIMULATION by provision lab: the boards of this node",
        "nouveau": nouveau,
        "gpus": entries(specs(gpus), seed),
    }
    _write(destination / "var/lib/provision-sim/hardware.json", json.dumps(hardware, indent=2) + "\n")


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
