"""Process groups of the kernel as the record of what belongs to a node: nothing started in one can hide, and no list has to be kept."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from provisioner.errors import ProvisionError

_PARENT = "provision-lab"


def hierarchies(mounts: Path = Path("/proc/self/mounts")) -> list[Path]:
    """Mount points of the trees that systemd uses: the unified one, and the named one of older set-ups."""
    found: list[Path] = []
    for line in mounts.read_text(encoding="utf-8").splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(",")):
            found.append(Path(place))
    return found


def groups(name: str) -> list[Path]:
    """Where the processes of the node with this name are kept, one folder in each tree."""
    return [tree / _PARENT / name for tree in hierarchies()]


def names() -> list[str]:
    """The nodes that have a group, also those nobody has a record of."""
    return sorted({path.name for tree in hierarchies() for path in (tree / _PARENT).glob("*") if path.is_dir()})


def populated(name: str) -> bool:
    """Whether any process of the node is alive."""
    return any(_processes(group) for group in groups(name))


def kill(name: str, *, within: float = 20) -> None:
    """End every process of the node and remove its groups; ProvisionError when one does not die."""
    end = time.monotonic() + within
    remaining = groups(name)
    while remaining := [group for group in remaining if not _removed(group)]:
        for group in remaining:
            for process in _processes(group):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        if time.monotonic() > end:
            raise ProvisionError(f"processes of {name} do not end", why=", ".join(str(pid) for pid in _processes(remaining[0])))
        time.sleep(0.02)
    for tree in hierarchies():
        try:
            (tree / _PARENT).rmdir()
        except OSError:
            continue  # absent, or another node's groups are in it


def _processes(group: Path) -> list[int]:
    """All processes in a group and below it."""
    found: list[int] = []
    for folder, _, _ in os.walk(group):
        try:
            found += [int(line) for line in Path(folder, "cgroup.procs").read_text(encoding="ascii").split()]
        except FileNotFoundError:
            continue  # it went away while we looked
    return [process for process in found if process]


def _removed(group: Path) -> bool:
    """Remove a group with everything below; False while something in it is alive."""
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return not group.exists()
