"""Where the simulator keeps things in a node.

Every path hangs below one root, ``/`` in a node; ``PROVISION_SIM_ROOT`` moves it, for tests and for looking into a tree from outside.
"""

from __future__ import annotations

import os


class Paths:
    """All paths of one node."""

    def __init__(self, root: str | None = None) -> None:
        self.root = root if root is not None else os.environ.get("PROVISION_SIM_ROOT", "/")
        self.library = self.at("usr/lib/provision-sim")
        self.hardware = self.at("var/lib/provision-sim/hardware.json")
        self.kept = self.at("var/lib/provision-sim/kept.json")  # what a board remembers without power
        self.run = self.at("run/provision-sim")
        self.live = self.at("run/provision-sim/live.json")  # what a reboot loses
        self.lock = self.at("run/provision-sim/lock")
        self.kernel_log = self.at("run/provision-sim/kernel.log")
        self.tree = self.at("run/provision-sim/root")  # the simulated part of /proc and /sys
        self.real = self.at("run/provision-sim/real")  # what lies below it
        self.persistenced = self.at("run/nvidia-persistenced/nvidia-persistenced.pid")
        self.dpkg_status = self.at("var/lib/dpkg/status")

    def at(self, path: str) -> str:
        """``path`` of the node, absolute or not, as a path of this process."""
        return os.path.join(self.root, path.lstrip("/"))

    @property
    def is_node(self) -> bool:
        """True inside a node; False for a tree somewhere else, where nothing is mounted and no process is looked at."""
        return os.path.abspath(self.root) == "/"
