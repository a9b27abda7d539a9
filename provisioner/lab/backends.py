"""The ways to run a node, and the choice between them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from provisioner.diagnostics import did_you_mean
from provisioner.errors import ProvisionError, UsageError
from provisioner.lab.docker import Engine
from provisioner.lab.image import Progress
from provisioner.lab.model import Lab, Node
from provisioner.lab.nspawn import Nspawn
from provisioner.lab.seed import Seed


class Backend(Protocol):
    """Starts and stops nodes; MUST find what it made by the lab's and the node's names alone, so that a killed ``up`` can be cleaned up."""

    @property
    def name(self) -> str:
        """What ``--backend`` calls it."""
        ...

    def unusable(self) -> str:
        """Why this machine cannot run it, or an empty text."""
        ...

    def prepare(self, lab: Lab, base: Path, say: Progress) -> Path:
        """Make what the nodes share; returns the root they start from. MAY be called when all of it is there."""
        ...

    def start(self, lab: Lab, node: Node, root: Path, seed: Seed) -> None:
        """Boot a node of which nothing exists; returns before it has booted."""
        ...

    def running(self, lab: Lab, node: Node) -> bool:
        """Whether the node's machine is there, booted or booting."""
        ...

    def console(self, lab: Lab, node: Node) -> str:
        """The last lines of the node's console, for an error."""
        ...

    def stop(self, lab: Lab, node: Node) -> None:
        """Remove every trace of a node; nothing happens where there is none."""
        ...

    def clean(self, lab: Lab) -> None:
        """Remove what the nodes shared, except the image."""
        ...


NAMES = ("nspawn", "docker", "podman")
"""In the order in which ``auto`` tries them."""


def named(name: str) -> Backend:
    """The backend of that name, usable here or not."""
    if name == "nspawn":
        return Nspawn()
    if name in NAMES:
        return Engine(name)
    raise UsageError(f"unknown backend {name!r}", help=did_you_mean(name, (*NAMES, "auto")) or f"use auto or one of {', '.join(NAMES)}")


def choose(name: str) -> Backend:
    """The backend to use: the one that is asked for, or the first that works; ProvisionError says why none does."""
    if name != "auto":
        backend = named(name)
        reason = backend.unusable()
        if reason:
            raise ProvisionError(
                f"the {name} backend does not work here", why=reason, help="provision lab up --backend auto takes one that does"
            )
        return backend
    reasons: list[str] = []
    for candidate in map(named, NAMES):
        reason = candidate.unusable()
        if not reason:
            return candidate
        reasons.append(f"{candidate.name}: {reason}")
    raise ProvisionError("no backend for lab nodes works here", why="\n".join(reasons), help="apt install systemd-container mmdebstrap")
