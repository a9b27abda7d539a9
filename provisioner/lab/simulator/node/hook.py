"""Runs after every dpkg: puts the simulated programs where a package has laid real ones, and takes them away again with it.

The real file is diverted the way dpkg knows (``dpkg-divert``), so upgrades, removals and ``dpkg -S`` stay right. Afterwards the module is
loaded if a driver is on disk and none was loaded, which on a real machine nvidia-modprobe or udev does.
"""

from __future__ import annotations

import os
import subprocess

from .machine import Machine
from .paths import Paths

PROGRAMS = (
    # what a package ships: the simulated program in its place
    ("usr/lib/nvidia/current/nvidia-smi", "nvidia-smi"),
    ("usr/lib/nvidia/tesla-535/nvidia-smi", "nvidia-smi"),
    ("usr/bin/nvidia-smi", "nvidia-smi"),
    ("usr/bin/nvidia-persistenced", "nvidia-persistenced"),
)
SUFFIX = ".real"


def main() -> int:
    """Exit code for dpkg; a failure here is a bug and shall be seen."""
    paths = Paths()
    for path, program in PROGRAMS:
        _cover(paths, paths.at(path), os.path.join(paths.library, "bin", program))
    with Machine.open(paths) as machine:
        if machine.installed.userspace:
            machine.load_module()
        machine.kernel_changed = True
    return 0


def _cover(paths: Paths, path: str, program: str) -> None:
    real = path + SUFFIX
    ours = os.path.islink(path) and os.readlink(path) == program
    if os.path.lexists(path) and not ours:
        if os.path.islink(path):
            return  # an alternative, which leads to a covered file
        _divert(paths, "--add", "--rename", path, real)
        os.symlink(program, path)
    elif os.path.lexists(real) and not os.path.lexists(path):
        os.symlink(program, path)
    elif ours and not os.path.lexists(real):
        os.unlink(path)
        _divert(paths, "--remove", "--no-rename", path, real)


def _divert(paths: Paths, action: str, rename: str, path: str, real: str) -> None:
    def name(at: str) -> str:
        return "/" + os.path.relpath(at, paths.root)

    root = [] if paths.is_node else ["--root", paths.root]
    command = ["dpkg-divert", *root, "--local", "--quiet", rename, "--divert", name(real), action, name(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
