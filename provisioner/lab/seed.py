"""What one node gets on top of the shared root: its identity, the lab's key, simulated GPUs, and the address of the local repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from provisioner.lab import rootfs
from provisioner.lab.keys import HOST_KEY
from provisioner.lab.machine import apt_settings, resolver
from provisioner.lab.model import Lab, Node

Seed = Callable[[Path], None]
"""Writes a node's own files into its merged root."""


def make(lab: Lab, node: Node, *, public_key: str, host_key: str, simulate: Seed) -> Seed:
    """The seed of ``node``; ``host_key`` is its private host key, ``simulate`` installs the GPU simulator."""

    def write(root: Path) -> None:
        if lab.suite == "machine":
            rootfs.strip(root)
            rootfs.furnish(root, settings=apt_settings())
        rootfs.personalise(
            root,
            name=node.name,
            public_key=public_key,
            host_keys={HOST_KEY: host_key, f"{HOST_KEY}.pub": f"{node.host_key}\n"},
            hosts=lab.hosts(),
            resolver=resolver(),
        )
        simulate(root)

    return write
