"""A node's own root: a writable layer over a shared, read-only tree."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab.tools import call, succeeds

_MEMORY = "2G"
"""The most a node may write where its layer has to live in memory."""

# What a node made of this machine's own root must not see: other people's data, and trees that are big, live or nested.
_HIDDEN = (
    "home",
    "media",
    "mnt",
    "root",
    "run",
    "srv",
    "tmp",
    "var/cache/apt/archives",
    "var/lib/containerd",
    "var/lib/containers",
    "var/lib/docker",
    "var/log",
    "var/tmp",
)


class Layer:
    """The layer in ``folder``: ``root`` is the merged tree, ``upper`` what differs from ``lower``."""

    def __init__(self, lower: Path, folder: Path) -> None:
        self.lower = lower
        self.folder = folder
        self.root = folder / "root"
        self.upper = folder / "layer" / "upper"
        self._work = folder / "layer" / "work"

    def mount(self) -> None:
        """Put the merged tree in place; the layer is on disk where the file system allows it, else in memory."""
        self.root.mkdir(parents=True, exist_ok=True)
        machine = self.lower == Path("/")
        if not machine and self._overlay(str(self.lower)):
            return
        (self.folder / "layer").mkdir(exist_ok=True)
        call("mount", "-t", "tmpfs", "-o", f"size={_MEMORY},mode=755", "provision-lab", str(self.folder / "layer"))
        lower = self.lower
        if machine:
            # Only a bind mount has no other file systems in it; its folder lies in memory, outside of the tree that is stacked.
            lower = self.folder / "layer" / "lower"
            lower.mkdir()
            call("mount", "--bind", "/", str(lower))
            self._hide()
        if not self._overlay(str(lower)):
            raise ProvisionError(
                f"overlayfs does not work over {self.lower}",
                why="neither a layer on disk nor one in memory can be mounted",
                help="use --backend docker",
            )

    def _overlay(self, lower: str) -> bool:
        self.upper.mkdir(parents=True, exist_ok=True)
        self._work.mkdir(exist_ok=True)
        # volatile: a node is thrown away, so nothing it syncs needs to reach the disk.
        for extra in (",volatile", ""):
            options = f"lowerdir={lower},upperdir={self.upper},workdir={self._work}{extra}"
            if succeeds("mount", "-t", "overlay", "-o", options, "provision-lab", str(self.root)):
                return True
        return False

    def _hide(self) -> None:
        """Empty folders in the layer that let nothing through from below."""
        for name in _HIDDEN:
            below = Path("/", name)
            if not below.is_dir() or below.is_symlink():
                continue
            path = self.upper / name
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(stat.S_IMODE(below.stat().st_mode))
            os.setxattr(path, "trusted.overlay.opaque", b"y")

    def unmount(self) -> None:
        """Take the merged tree away; the layer's content stays unless it was in memory."""
        for path in (self.root, self.folder / "layer" / "lower", self.folder / "layer"):
            while os.path.ismount(path):
                if not succeeds("umount", str(path)):
                    call("umount", "--lazy", str(path))  # a process that is just ending still holds it

    def remove(self) -> None:
        """Unmount and delete everything."""
        self.unmount()
        if self.folder.exists():
            shutil.rmtree(self.folder)
