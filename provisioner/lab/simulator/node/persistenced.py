"""SIMULATION of ``nvidia-persistenced``: forks, keeps every GPU open and, unless told not to, in persistence mode, until it is stopped.

Stopping it ends persistence mode. Without a driver that answers it fails as the real one does.
"""

from __future__ import annotations

import os
import signal
import sys
import syslog

from .machine import Machine
from .paths import Paths

_HELP = """nvidia-persistenced (SIMULATION by provision lab)
    -h, --help  -v, --version  -V, --verbose  -u USER, --user=USER  -g GROUP, --group=GROUP
    --persistence-mode, --no-persistence-mode, --uvm-persistence-mode, --no-uvm-persistence-mode, --nvidia-cfg-path=PATH
"""


class Options:
    """The command line. Raises ValueError with the complaint."""

    def __init__(self, argv: list[str]) -> None:
        self.user = self.group = ""
        self.persistence = True
        self.verbose = self.help = self.version = False
        words = iter(argv)
        for word in words:
            name, equals, value = word.partition("=")
            if name in ("-u", "--user", "-g", "--group", "--nvidia-cfg-path"):
                value = value if equals else next(words, "")
                if name.lstrip("-")[0] == "u":
                    self.user = value
                elif name.lstrip("-")[0] == "g":
                    self.group = value
            elif name in ("-V", "--verbose"):
                self.verbose = True
            elif name in ("--persistence-mode", "--no-persistence-mode"):
                self.persistence = name == "--persistence-mode"
            elif name in ("-h", "--help"):
                self.help = True
            elif name in ("-v", "--version"):
                self.version = True
            elif name not in ("--uvm-persistence-mode", "--no-uvm-persistence-mode"):
                raise ValueError(f"Unrecognized option: '{word}'.")


def main(argv: list[str] | None = None) -> int:
    """Start the daemon; returns in the parent once it is ready."""
    try:
        options = Options(sys.argv[1:] if argv is None else argv)
    except ValueError as refused:
        sys.stderr.write(f"nvidia-persistenced: {refused}\n")
        return 1
    paths = Paths()
    if options.help:
        sys.stdout.write(_HELP)
        return 0
    syslog.openlog("nvidia-persistenced", syslog.LOG_PID, syslog.LOG_DAEMON)
    if options.version:
        with Machine.open(paths) as machine:
            sys.stdout.write(f"nvidia-persistenced:  version {machine.installed.userspace}  (SIMULATION by provision lab)\n")
        return 0
    problem = _problem(options, paths)
    if problem:
        syslog.syslog(syslog.LOG_ERR, problem)
        sys.stderr.write("nvidia-persistenced failed to initialize. Check syslog for more details.\n")
        return 1
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        return 0 if os.read(ready, 1) == b"1" else 1
    os.close(ready)
    _serve(options, paths, tell)
    return 0


def _problem(options: Options, paths: Paths) -> str:
    import grp
    import pwd

    if os.geteuid() != 0:
        return "Failed to lock PID file: Permission denied"
    for find, name, kind in ((pwd.getpwnam, options.user, "user"), (grp.getgrnam, options.group, "group")):
        try:
            if name:
                find(name)
        except KeyError:
            return f"Failed to find {kind} ID of {kind} '{name}'!"
    with Machine.open(paths) as machine:
        if machine.persistenced_runs():
            return "nvidia-persistenced is already running with the process ID of another instance."
        module, library = machine.module, machine.installed.userspace
        if module is None or module["version"] != library or not machine.attached():
            return (
                "Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist, "
                "and that user 0 has read and write permissions for those files."
            )
    return ""


def _serve(options: Options, paths: Paths, tell: int) -> None:
    """The daemon itself."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    folder = os.path.dirname(paths.persistenced)
    os.makedirs(folder, exist_ok=True)
    with open(paths.persistenced, "w", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    syslog.syslog(syslog.LOG_INFO, f"Started ({os.getpid()})")
    _set(options, paths, on=options.persistence)
    os.write(tell, b"1")
    os.close(tell)
    signal.sigwait(signals)
    syslog.syslog(syslog.LOG_NOTICE, "Received signal 15")
    os.unlink(paths.persistenced)
    _set(options, paths, on=False)
    syslog.syslog(syslog.LOG_NOTICE, f"Shutdown ({os.getpid()})")


def _set(options: Options, paths: Paths, *, on: bool) -> None:
    with Machine.open(paths) as machine:
        for gpu in machine.attached():
            if gpu.fault:
                continue
            gpu.live["persistence"] = on
            if options.verbose:
                syslog.syslog(syslog.LOG_INFO, f"device {gpu.address} - persistence mode {'enabled' if on else 'disabled'}.")
        machine.settle()
