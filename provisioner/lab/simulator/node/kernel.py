"""The kernel's side of simulated GPUs: /proc/driver/nvidia, /sys/module, PCI functions, /proc/modules, device nodes.

``/proc`` and ``/sys`` cannot be written, so a folder that holds our entries and links to all the real ones is bound over the few
folders that need more. Where mounting is not allowed, the same tree still lies in ``/run/provision-sim/root``, the path that
``/etc/provision-sim/root`` names, and readers may put it in front of ``/proc`` and ``/sys``.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess

from .gpu import Gpu
from .machine import Machine

GRAFTS = ("proc/driver", "sys/module", "sys/bus/pci/devices", "sys/bus/pci/drivers")
MODULES = (
    # name, size, what uses it
    ("nvidia_uvm", 1540096, ""),
    ("nvidia_drm", 77824, ""),
    ("nvidia_modeset", 1310720, "nvidia_drm,"),
    ("nvidia", 56717312, "nvidia_uvm,nvidia_modeset,"),
)
_BUILT = {
    # when a branch's module was built, as /proc/driver/nvidia/version says; close enough, nobody parses it
    535: "Fri Sep 12 16:46:12 UTC 2025",
}


def refresh(machine: Machine) -> None:
    """Write the tree anew after a change of module, faults or boards; what is mounted shows it at once."""
    tree = machine.paths.tree
    _driver(machine, os.path.join(tree, "proc/driver"))
    _modules(machine, os.path.join(tree, "sys/module"))
    _functions(machine, os.path.join(tree, "sys/bus/pci/devices"))
    _device_nodes(machine)


def mount(machine: Machine) -> None:
    """Bind the tree over the real folders, once a boot. What the system refuses is kept in ``machine.live["mounts"]``."""
    if not machine.paths.is_node or machine.live.get("mounts") == "done":
        return
    refused = ""
    for folder in GRAFTS:
        refused = refused or _graft(machine, folder)
    if not refused and os.path.exists("/proc/modules"):
        refused = _bind(os.path.join(machine.paths.tree, "proc/modules"), "/proc/modules")
    machine.live["mounts"] = f"refused: {refused}" if refused else "done"
    _kernel_messages(machine)
    _module_index()


def _graft(machine: Machine, folder: str) -> str:
    """Put our folder over the real one, with links to everything real; the refusal, or an empty string."""
    while not os.path.isdir(f"/{folder}"):
        folder = os.path.dirname(folder)
    ours, real = os.path.join(machine.paths.tree, folder), os.path.join(machine.paths.real, folder)
    os.makedirs(ours, exist_ok=True)
    os.makedirs(real, exist_ok=True)
    refused = _bind(f"/{folder}", real)
    if refused:
        return refused
    for name in os.listdir(real):
        source, link = os.path.join(real, name), os.path.join(ours, name)
        if not os.path.lexists(link):
            # A relative link of the kernel still fits, since it is read from the same place.
            os.symlink(os.readlink(source) if os.path.islink(source) else source, link)
    return _bind(ours, f"/{folder}")


def _bind(source: str, target: str) -> str:
    done = subprocess.run(["mount", "--bind", source, target], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def _kernel_messages(machine: Machine) -> None:
    """Give the node's journal a kernel log of its own to read: in a container there is none.

    systemd opens the device for writing before anybody reads, which would block for ever, so a process holds it open, as nspawn does.
    """
    device = machine.paths.at("dev/kmsg")
    if os.path.lexists(device):
        return  # the host's (left alone) or the FIFO that nspawn made
    os.mkfifo(device, 0o644)
    held = os.open(device, os.O_RDWR)
    subprocess.Popen(["sleep", "infinity"], stdin=held, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(held)


def _module_index() -> None:
    """An empty index of modules for the host's kernel, without which ``lspci -k`` says nothing and complains."""
    folder = f"/lib/modules/{os.uname().release}"
    if os.path.exists(folder) or shutil.which("depmod") is None:
        return
    os.makedirs(folder)
    for name in ("modules.order", "modules.builtin"):
        write(os.path.join(folder, name), "")
    subprocess.run(["depmod", os.uname().release], check=True, capture_output=True)


def write(path: str, text: str) -> None:
    """One file of the tree; the same inode is kept, since it may be bound somewhere."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _clear(path: str) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def _driver(machine: Machine, folder: str) -> None:
    """/proc/driver/nvidia."""
    home = os.path.join(folder, "nvidia")
    _clear(home)
    os.makedirs(folder, exist_ok=True)
    if machine.module is None:
        return
    version, opened = machine.module["version"], bool(machine.module["open"])
    built = _BUILT.get(int(version.split(".")[0]), "Tue Aug 19 21:43:20 UTC 2025")
    if opened:
        first = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (root@provision-sim)  {built}"
    else:
        first = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  {built}"
    write(os.path.join(home, "version"), f"{first}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14) (SIMULATION by provision lab)\n")
    write(os.path.join(home, "params"), _PARAMETERS)
    write(os.path.join(home, "capabilities/mig/config"), "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
    for gpu in machine.attached():
        write(os.path.join(home, "gpus", gpu.address, "information"), _information(machine, gpu))


_PARAMETERS = (
    "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
    'EnableGpuFirmware: 18\nRmProfilingAdminOnly: 1\nPreserveVideoMemoryAllocations: 0\nRegistryDwords: ""\n'
)


def _information(machine: Machine, gpu: Gpu) -> str:
    version = machine.module["version"] if machine.module and gpu.board.gsp else "N/A"
    return (
        f"Model: \t\t {gpu.board.name}\n"
        f"IRQ:   \t\t {64 + gpu.minor}\n"
        f"GPU UUID: \t {gpu.uuid}\n"
        f"Video BIOS: \t {gpu.board.vbios.lower()}\n"
        "Bus Type: \t PCIe\n"
        "DMA Size: \t 47 bits\n"
        "DMA Mask: \t 0x7fffffffffff\n"
        f"Bus Location: \t {gpu.address}\n"
        f"Device Minor: \t {gpu.minor}\n"
        f"GPU Firmware: \t {version}\n"
        "GPU Excluded:\t No\n"
    )


def _modules(machine: Machine, folder: str) -> None:
    """/sys/module/nvidia* and /proc/modules."""
    for name, _size, _users in MODULES:
        _clear(os.path.join(folder, name))
    _clear(os.path.join(folder, "nouveau"))
    os.makedirs(folder, exist_ok=True)
    lines = ""
    loaded: tuple[tuple[str, int, str], ...] = MODULES if machine.module else ()
    if machine.module is None and machine.live["nouveau"]:
        loaded = (("nouveau", 2433024, ""),)
    for name, size, users in loaded:
        home = os.path.join(folder, name)
        count = users.count(",")
        write(os.path.join(home, "refcnt"), f"{count}\n")
        write(os.path.join(home, "coresize"), f"{size}\n")
        write(os.path.join(home, "initstate"), "live\n")
        os.makedirs(os.path.join(home, "holders"), exist_ok=True)
        for user in filter(None, users.split(",")):
            link = os.path.join(home, "holders", user)
            if not os.path.lexists(link):
                os.symlink(f"../../{user}", link)
        if machine.module:
            write(os.path.join(home, "version"), f"{machine.module['version']}\n")
        lines += f"{name} {size} {count} {users or '-'} Live 0x0000000000000000 (O)\n"
    real = os.path.join(machine.paths.real, "proc/modules")
    source = real if os.path.exists(real) else machine.paths.at("proc/modules")
    if not os.path.exists(real) and os.path.exists(source) and not os.path.ismount(source):
        with open(source, encoding="utf-8") as file:
            write(real, file.read())
    known = ""
    if os.path.exists(real):
        with open(real, encoding="utf-8") as file:
            known = file.read()
    write(os.path.join(machine.paths.tree, "proc/modules"), lines + known)


def _functions(machine: Machine, folder: str) -> None:
    """PCI functions: what lspci and facts read, including a configuration space."""
    os.makedirs(folder, exist_ok=True)
    drivers = os.path.join(os.path.dirname(folder), "drivers")
    for name in ("nvidia", "nouveau"):
        _clear(os.path.join(drivers, name))
    for gpu in machine.gpus:
        home = os.path.join(folder, gpu.address)
        _clear(home)
        if not gpu.on_bus:
            continue
        lost = gpu.fault == "lost"
        board = gpu.board
        subclass = board.pci_class >> 8 & 0xFF
        generation, width = gpu.link
        speeds = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}
        files = {
            "vendor": "0x10de",
            "device": f"0x{board.device_id:04x}",
            "subsystem_vendor": "0x10de",
            "subsystem_device": f"0x{board.subsystem_id:04x}",
            "class": f"0x{board.pci_class:06x}",
            "revision": "0xff" if lost else "0xa1",
            "irq": str(64 + gpu.minor),
            "enable": "1",
            "numa_node": "0",
            "current_link_speed": f"{speeds[generation]} GT/s PCIe",
            "current_link_width": str(width),
            "max_link_speed": f"{speeds[board.link_generation]} GT/s PCIe",
            "max_link_width": str(board.link_width),
            "modalias": f"pci:v000010DEd{board.device_id:08X}sv000010DEsd{board.subsystem_id:08X}bc03sc{subclass:02X}i00",
            "resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13),
        }
        for name, value in files.items():
            write(os.path.join(home, name), f"{value}\n")
        with open(os.path.join(home, "config"), "wb") as file:
            file.write(b"\xff" * 64 if lost else _configuration(gpu))
        driver = "nvidia" if gpu in machine.attached() else ("nouveau" if machine.live["nouveau"] else "")
        uevent = f"PCI_CLASS={board.pci_class:X}\nPCI_ID=10DE:{board.device_id:04X}\nPCI_SLOT_NAME={gpu.address}\n"
        write(os.path.join(home, "uevent"), (f"DRIVER={driver}\n" if driver else "") + uevent)
        if driver:
            os.makedirs(os.path.join(drivers, driver), exist_ok=True)
            os.symlink(f"../../devices/{gpu.address}", os.path.join(drivers, driver, gpu.address))
            os.symlink(f"../../drivers/{driver}", os.path.join(home, "driver"))


def _configuration(gpu: Gpu) -> bytes:
    """The standard header of the PCI configuration space, little endian."""
    board = gpu.board
    head = struct.pack("<HHHH", 0x10DE, board.device_id, 0x0406, 0x0010)
    head += bytes([0xA1, board.pci_class & 0xFF, board.pci_class >> 8 & 0xFF, board.pci_class >> 16, 0, 0, 0, 0])
    return (head.ljust(0x2C, b"\0") + struct.pack("<HH", 0x10DE, board.subsystem_id)).ljust(64, b"\0")


def _device_nodes(machine: Machine) -> None:
    """/dev/nvidia*: real character devices of the driver's major number, which no driver answers; plain files where those are refused."""
    folder = machine.paths.at("dev")
    if not os.path.isdir(folder):
        return
    wanted = {f"nvidia{gpu.minor}": (195, gpu.minor) for gpu in machine.attached()}
    if machine.module:
        wanted.update({"nvidiactl": (195, 255), "nvidia-modeset": (195, 254), "nvidia-uvm": (510, 0), "nvidia-uvm-tools": (510, 1)})
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.startswith("nvidia") and name not in wanted and not os.path.isdir(path):
            os.unlink(path)
    for name, (major, minor) in wanted.items():
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            continue
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        except PermissionError:
            os.mknod(path, 0o666 | stat.S_IFREG)
        os.chmod(path, 0o666)
