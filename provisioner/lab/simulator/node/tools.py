"""SIMULATION in the ways of kmod and dmesg: answers for the nvidia modules, hands everything else to the real program.

A node's kernel is its host's: it has no nvidia module, and its log is not the node's business.
"""

from __future__ import annotations

import os
import sys
import time

from .machine import Machine

_OURS = {"nvidia", "nvidia-current", "nvidia-current-open", "nvidia-uvm", "nvidia-drm", "nvidia-modeset", "nvidia-current-uvm", "nouveau"}
_PLACES = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


def modinfo(argv: list[str]) -> int:
    """``modinfo [-F FIELD] nvidia``: the module on disk, which Debian calls nvidia-current."""
    names = [word for word in argv if not word.startswith("-") and _plain(word) in _OURS - {"nouveau"}]
    if not names:
        return _real("modinfo", argv)
    with Machine.open() as machine:
        disk = machine.installed
    debian = os.path.exists("/var/lib/dpkg/info/nvidia-alternative.list")
    exists = disk.module is not None and (_plain(names[0]).startswith("nvidia-current") == debian)
    if not exists:
        sys.stderr.write(f"modinfo: ERROR: Module {names[0]} not found.\n")
        return 1
    fields = {
        "filename": f"/lib/modules/{os.uname().release}/updates/dkms/{names[0]}.ko",
        "version": str(disk.module),
        "license": "Dual MIT/GPL" if disk.open_module else "NVIDIA",
        "description": "SIMULATION by provision lab",
    }
    wanted = _field(argv)
    for name, value in fields.items():
        if wanted is None:
            sys.stdout.write(f"{name + ':':<16}{value}\n")
        elif wanted == name:
            sys.stdout.write(f"{value}\n")
    return 0


def _field(argv: list[str]) -> str | None:
    for position, word in enumerate(argv):
        if word in ("-F", "--field") and position + 1 < len(argv):
            return argv[position + 1]
        if word.startswith("--field="):
            return word.partition("=")[2]
        if word.startswith("-F") and len(word) > 2:
            return word[2:]
    return None


def modprobe(argv: list[str]) -> int:
    """``modprobe [-r] nvidia``."""
    names = [_plain(word) for word in argv if not word.startswith("-")]
    if not names or any(name not in _OURS for name in names):
        return _real("modprobe", argv)
    remove = "-r" in argv or "--remove" in argv
    return _change("modprobe", names, remove=remove)


def rmmod(argv: list[str]) -> int:
    """``rmmod nvidia_uvm … nvidia``: the last of them counts."""
    names = [_plain(word) for word in argv if not word.startswith("-")]
    if not names or any(name not in _OURS for name in names):
        return _real("rmmod", argv)
    return _change("rmmod", names, remove=True)


def _change(program: str, names: list[str], *, remove: bool) -> int:
    if os.geteuid() != 0:
        sys.stderr.write(f"{program}: ERROR: could not {'remove' if remove else 'insert'} '{names[0]}': Operation not permitted\n")
        return 1
    with Machine.open() as machine:
        complaint: str | None = None
        for name in names:
            if name == "nouveau":
                machine.live["nouveau"] = not remove
            elif name in ("nvidia", "nvidia-current", "nvidia-current-open"):
                complaint = complaint or (machine.unload_module() if remove else machine.load_module())
        machine.kernel_changed = True
    if complaint:
        sys.stderr.write(f"{program}: {'FATAL' if 'not found' in complaint or 'in use' in complaint else 'ERROR'}: {complaint}\n")
        return 1
    return 0


def dmesg(argv: list[str]) -> int:
    """The simulated kernel's log, with ``-T`` and the level filter."""
    levels = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
    shown: set[int] | None = None
    for position, word in enumerate(argv):
        value = word.partition("=")[2] or (argv[position + 1] if position + 1 < len(argv) else "")
        if word.startswith(("-l", "--level")):
            shown = {levels.index(level) for level in value.split(",") if level in levels}
    human = any(word in ("-T", "--ctime", "-H", "--human") for word in argv)
    booted = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    with Machine.open() as machine:
        path = machine.paths.kernel_log
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            head, _, text = line.rstrip("\n").partition(";")
            priority, _sequence, microseconds, _flags = head.split(",")
            seconds = int(microseconds) / 1e6
            if shown is None or int(priority) in shown:
                stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(booted + seconds)) if human else f"{seconds:12.6f}"
                sys.stdout.write(f"[{stamp}] {text}\n")
    return 0


def lsmod(argv: list[str]) -> int:
    """The modules of ``/proc/modules``; the real program fails on a host kernel that has none."""
    with Machine.open() as machine:
        path = "/proc/modules" if os.path.exists("/proc/modules") else os.path.join(machine.paths.tree, "proc/modules")
    if argv or not os.path.exists(path):
        return _real("lsmod", argv)
    sys.stdout.write("Module                  Size  Used by\n")
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, size, count, users = line.split()[:4]
            sys.stdout.write(f"{name:<19} {size:>8}  {count} {users.strip(',-')}".rstrip() + "\n")
    return 0


def lspci(argv: list[str]) -> int:
    """The real lspci on the simulated functions, where they could not be mounted over ``/sys``."""
    with Machine.open() as machine:
        tree = os.path.join(machine.paths.tree, "sys/bus/pci")
        mounted = machine.live.get("mounts") == "done"
    return _real("lspci", argv if mounted else ["-O", f"sysfs.path={tree}", *argv])


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _real(program: str, argv: list[str]) -> int:
    for place in _PLACES:
        path = os.path.join(place, program)
        if os.access(path, os.X_OK):
            os.execv(path, [program, *argv])
    sys.stderr.write(f"{program}: command not found\n")
    return 127


TOOLS = {"modinfo": modinfo, "modprobe": modprobe, "rmmod": rmmod, "lsmod": lsmod, "dmesg": dmesg, "lspci": lspci}


def main() -> int:
    """Which tool it is, says the name it was called by."""
    return TOOLS[os.path.basename(sys.argv[0])](sys.argv[1:])
