"""Simulated NVIDIA GPUs for lab nodes.

    from provisioner.lab import simulator

    simulator.install(root, simulator.parse("4xA100-SXM4-80GB, T4"), seed="node1")

What a node gets, and from which facts, is in docs/simulator.md.
"""

from __future__ import annotations

from provisioner.lab.simulator.install import BOOT_HOOK, install, tree
from provisioner.lab.simulator.spec import GpuSpec, models, parse

__all__ = ["BOOT_HOOK", "GpuSpec", "install", "models", "parse", "tree"]
