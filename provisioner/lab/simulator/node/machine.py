"""The state of the simulated machine: hardware, kernel module, boots, and the files they are kept in.

    with Machine.open() as machine:      # one process at a time
        for gpu in machine.attached(): ...

Opening notices a reboot (the first process of the node is another one), makes pending settings effective, forgets what a reboot forgets and
loads the module that is on disk, so nothing needs to run at boot for the answers to be right.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time

from .gpu import Gpu, new_kept, new_live
from .packages import Installed, installed
from .paths import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Machine:
    """Everything the tools of this package act on."""

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths = paths or Paths()
        self._lock: int | None = None
        self._written: tuple[str, str] = ("", "")
        self._installed: Installed | None = None
        self.hardware: dict[str, Any] = {}
        self.kept: dict[str, Any] = {}
        self.live: dict[str, Any] = {}
        self.gpus: list[Gpu] = []
        self.kernel_changed = False  # the simulated part of /proc and /sys must be written anew

    @classmethod
    def open(cls, paths: Paths | None = None) -> Machine:
        """Lock, read, and boot if this is the first look since the last start."""
        machine = cls(paths)
        machine._acquire()
        try:
            machine._read()
        except BaseException:
            machine._release()
            raise
        return machine

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            self.save()
            if self.kernel_changed and os.access(self.paths.run, os.W_OK):
                from .kernel import refresh

                refresh(self)
        finally:
            self._release()

    # The driver

    @property
    def installed(self) -> Installed:
        """The driver on disk, read once per process."""
        if self._installed is None:
            self._installed = installed(self.paths.dpkg_status)
        return self._installed

    @property
    def module(self) -> dict[str, Any] | None:
        """The loaded kernel module, ``{"version", "open"}``, or None."""
        module: dict[str, Any] | None = self.live["module"]
        return module

    def attached(self) -> list[Gpu]:
        """The GPUs that the loaded module drives, in the order of nvidia-smi; lost ones among them."""
        if self.module is None:
            return []
        version, flavour = self.module["version"], bool(self.module["open"])
        return [gpu for gpu in self.gpus if gpu.on_bus and gpu.driven_by(version, open_module=flavour)]

    def load_module(self) -> str | None:
        """What ``modprobe nvidia`` does. The complaint of a refusal, or None."""
        if self.module is not None:
            return None
        version = self.installed.module
        if version is None:
            return "Module nvidia not found."
        if self.live["nouveau"]:
            self.log("NVRM: GPU is already bound to nouveau.", priority=3)
            return "could not insert 'nvidia': No such device"
        if self.live["broken"] == "module":
            return "could not insert 'nvidia': Key was rejected by service"
        self.live["module"] = {"version": version, "open": self.installed.open_module}
        self.kernel_changed = True
        kind = "Open Kernel Module for x86_64" if self.installed.open_module else "x86_64 Kernel Module"
        self.log("nvidia: SIMULATION by provision lab, there is no hardware behind these messages", priority=5)
        self.log(f"NVRM: loading NVIDIA UNIX {kind}  {version}", priority=4)
        for gpu in self.gpus:
            if gpu.on_bus and not gpu.driven_by(version, open_module=self.installed.open_module):
                identity = f"10de:{gpu.board.device_id:04x}"
                self.log(f"NVRM: The NVIDIA GPU {gpu.address} (PCI ID: {identity})", 3)
                self.log(f"NVRM: installed in this system is not supported by the NVIDIA {version} driver release.", 3)
        for index, gpu in enumerate(self.attached()):
            gpu.index = gpu.minor = index
        return None

    def unload_module(self) -> str | None:
        """What ``rmmod nvidia`` does. The complaint of a refusal, or None."""
        if self.module is None:
            return "Module nvidia is not currently loaded"
        if self.persistenced_runs() or any(gpu.in_use for gpu in self.gpus):
            return "Module nvidia is in use"
        self.live["module"] = None
        self.kernel_changed = True
        for gpu in self.gpus:
            gpu.live["persistence"] = False
            gpu.forget_settings()
        return None

    def persistenced_runs(self) -> bool:
        """Whether the persistence daemon lives; it holds every GPU open."""
        try:
            with open(self.paths.persistenced, encoding="ascii") as file:
                pid = int(file.read())
            os.kill(pid, 0)
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return False
        except PermissionError:
            pass  # it lives, and belongs to somebody else
        return True

    def settle(self) -> None:
        """The last client has closed: GPUs without persistence mode forget their settings."""
        if self.module is None:
            return
        for gpu in self.gpus:
            if not gpu.live["persistence"] and not gpu.in_use:
                gpu.forget_settings()

    # The kernel log

    def log(self, text: str, priority: int = 4) -> None:
        """One line of the kernel's log; syslog's priorities, 3 is an error. Without root's rights nothing can be kept, and nothing is."""
        if not os.access(self.paths.run, os.W_OK):
            return
        line = f"{priority},{self.live['sequence']},{time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000},-;{text}\n"
        self.live["sequence"] += 1
        with open(self.paths.kernel_log, "a", encoding="utf-8") as file:
            file.write(line)
        self.flush_log()

    def flush_log(self) -> None:
        """Hand lines to the journal, once it listens.

        In a container ``/dev/kmsg`` is a FIFO that only this journal reads; a real ``/dev/kmsg`` belongs to the host and stays untouched.
        """
        device = self.paths.at("dev/kmsg")
        if not os.path.exists(device) or not stat.S_ISFIFO(os.stat(device).st_mode):
            return
        try:
            descriptor = os.open(device, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            if problem.errno == errno.ENXIO:
                return  # nobody listens yet; the lines stay in kernel.log
            raise
        # O_DIRECT keeps records apart: a reader gets one a read, as from the kernel. It cannot be given when a FIFO is opened.
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_WRONLY | os.O_NONBLOCK | os.O_DIRECT)
        try:
            with open(self.paths.kernel_log, encoding="utf-8") as file:
                lines = file.readlines()
            for line in lines[self.live["delivered"] :]:
                os.write(descriptor, line.encode())
                self.live["delivered"] += 1
        except (FileNotFoundError, BlockingIOError):
            pass  # an empty log, or a full pipe: the next call goes on from here
        finally:
            os.close(descriptor)

    # Files

    def save(self) -> None:
        """Write what changed; a caller who may not write (nvidia-smi runs for every user) leaves the files alone."""
        kept, live = json.dumps(self.kept, indent=1), json.dumps(self.live, indent=1)
        try:
            if kept != self._written[0]:
                _replace(self.paths.kept, kept)
            if live != self._written[1]:
                _replace(self.paths.live, live)
        except PermissionError:
            return
        self._written = kept, live

    def _acquire(self) -> None:
        try:
            os.makedirs(self.paths.run, mode=0o755, exist_ok=True)
            self._lock = os.open(self.paths.lock, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except PermissionError:
            return  # nobody with the right to write has been here since the boot, and this user only looks
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read(self) -> None:
        self.hardware = _load(self.paths.hardware) or {"gpus": []}
        self.kept = _load(self.paths.kept) or {}
        self.live = _load(self.paths.live) or {}
        self._written = json.dumps(self.kept, indent=1), json.dumps(self.live, indent=1)
        boot = self._boot_identity()
        started = self.live.get("boot") == boot
        if not started:
            self.live = {"boot": boot, "module": None, "nouveau": False, "broken": None, "sequence": 0, "delivered": 0, "gpus": {}}
        memories, states = self.kept.setdefault("gpus", {}), self.live["gpus"]
        self.gpus = []
        for index, entry in enumerate(self.hardware["gpus"]):
            uuid = entry["uuid"]
            memory = memories.setdefault(uuid, new_kept())
            gpu = Gpu(index, entry, memory, states.setdefault(uuid, new_live()))
            if not started:
                gpu.reset()
            self.gpus.append(gpu)
        if not started:
            self._boot()
        if self.module is None and self.live["broken"] != "module" and self.installed.module and os.access(self.paths.run, os.W_OK):
            self.load_module()  # as nvidia-modprobe and udev do on a real machine
        for index, gpu in enumerate(self.attached()):
            gpu.index = gpu.minor = index

    def _boot(self) -> None:
        """The start of the machine: what was lost comes back or is gone, and nouveau binds where nobody forbids it."""
        for gpu in self.gpus:
            if gpu.kept.pop("dying", False):
                gpu.kept["gone"] = True
        self.live["nouveau"] = bool(self.hardware.get("nouveau")) and not self._nouveau_blacklisted()
        if os.access(self.paths.run, os.W_OK):
            with open(self.paths.kernel_log, "w", encoding="utf-8"):
                pass  # the log of the boot before, where /run outlives a boot

    def _nouveau_blacklisted(self) -> bool:
        for folder in ("etc/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"):
            path = self.paths.at(folder)
            names = sorted(os.listdir(path)) if os.path.isdir(path) else []
            for name in names:
                try:
                    with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                        lines = [line.split() for line in file]
                except (FileNotFoundError, IsADirectoryError):
                    continue  # a dangling link, such as Debian's alternatives leave
                if ["blacklist", "nouveau"] in lines:
                    return True
        return False

    def _boot_identity(self) -> str:
        """Changes with every start of the node: containers share the kernel's boot id, so the first process stands for it."""
        override = self.paths.at("run/provision-sim/boot")
        if not self.paths.is_node:
            try:
                with open(override, encoding="ascii") as file:
                    return file.read().strip()
            except FileNotFoundError:
                return "0"
        with open("/proc/1/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]


def _load(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    value: dict[str, Any] = json.loads(content)
    return value


def _replace(path: str, text: str) -> None:
    temporary = f"{path}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)
