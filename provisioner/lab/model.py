"""What a lab is: data, its addresses, and its form on disk.

Every address follows from the lab's network number and the node's position, so that an inventory can be written before the nodes exist:
node *i* of network *n* is ``10.213.n.i``, this machine is ``10.213.n.254`` there. The lab called ``lab`` always has network 0.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from provisioner.errors import ProvisionError, UsageError

SCHEMA = "provision.lab/1"
DEFAULT = "lab"
MOST_NODES = 250
SSH_PORT = 22
USER = "admin"
REPOSITORY_PORT = 8088
REPOSITORY_HOST = "repository.lab"
GROUP = "gpu_nodes"
"""The inventory group every node is in."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,15}(?<!-)")


@dataclass(frozen=True)
class Node:
    """One throw-away machine: its name in the inventory, its position in the lab (from 1), and where its sshd listens."""

    name: str
    index: int
    address: str
    host_key: str
    port: int = SSH_PORT


@dataclass(frozen=True)
class Lab:
    """A set of nodes that come and go together; ``folder`` holds its key, known hosts, inventory and state."""

    name: str
    folder: Path
    backend: str
    suite: str
    network: int
    nodes: tuple[Node, ...] = ()
    gpus: tuple[str, ...] = ()
    restore: dict[str, str] = field(default_factory=dict)
    """Kernel parameters of this machine that were changed for the lab, with their earlier values."""

    @property
    def key(self) -> Path:
        """The private key that opens every node."""
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The nodes' real host keys."""
        return self.folder / "known_hosts"

    @property
    def inventory(self) -> Path:
        """The inventory of exactly these nodes."""
        return self.folder / "inventory.yml"

    @property
    def gateway(self) -> str:
        """This machine's address in the lab."""
        return f"10.213.{self.network}.254"

    @property
    def subnet(self) -> str:
        """The lab's addresses, as ``10.213.0.0/24``."""
        return f"10.213.{self.network}.0/24"

    @property
    def bridge(self) -> str:
        """The network interface that joins the nodes."""
        return f"provlab{self.network}"

    @property
    def repository(self) -> str:
        """Where the nodes find the local package repository."""
        return f"http://{REPOSITORY_HOST}:{REPOSITORY_PORT}/"

    def node_name(self, index: int) -> str:
        """The name of the node at a position."""
        return f"{self.name}-{index}"

    def address(self, index: int) -> str:
        """The address of the node at a position."""
        return f"10.213.{self.network}.{index}"

    def node(self, name: str) -> Node:
        """A node by name, or by its bare number; UsageError with the names there are when it is none of them."""
        from provisioner.diagnostics import did_you_mean

        names = {node.name: node for node in self.nodes} | {str(node.index): node for node in self.nodes}
        if name in names:
            return names[name]
        known = [node.name for node in self.nodes]
        hint = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "it has no nodes")
        raise UsageError(f"lab {self.name!r} has no node {name!r}", help=hint)

    def hosts(self) -> dict[str, str]:
        """Names every node can resolve: all nodes and the repository."""
        return {node.name: node.address for node in self.nodes} | {REPOSITORY_HOST: self.gateway}

    def to_json(self) -> dict[str, Any]:
        """The document kept in lab.json."""
        data = asdict(self)
        del data["folder"]
        return {"schema": SCHEMA, **data}

    @classmethod
    def from_json(cls, folder: Path, data: dict[str, Any]) -> Lab:
        """Read lab.json back; ProvisionError when another version of the tool wrote it."""
        if data.get("schema") != SCHEMA:
            raise ProvisionError(
                f"{folder / 'lab.json'} has schema {data.get('schema')!r}, this version reads {SCHEMA!r}",
                help=f"take that lab down with the version that made it, or remove {folder}",
            )
        fields = {key: value for key, value in data.items() if key != "schema"}
        fields["nodes"] = tuple(Node(**node) for node in data["nodes"])
        fields["gpus"] = tuple(data["gpus"])
        return cls(folder=folder, **fields)

    def with_nodes(self, nodes: Iterable[Node]) -> Lab:
        """The same lab with other nodes, in order of position."""
        return replace(self, nodes=tuple(sorted(nodes, key=lambda node: node.index)))


def check_name(name: str) -> str:
    """``name`` itself when it can name a lab; it becomes part of host and interface names."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a lab",
            why="a lab's name becomes part of its nodes' host names",
            help="use at most 16 small letters, digits and dashes, with a letter first",
        )
    return name


def check_count(count: int) -> int:
    """``count`` itself when a lab can have so many nodes."""
    if not 1 <= count <= MOST_NODES:
        raise UsageError(f"a lab has 1 to {MOST_NODES} nodes, not {count}", why="its nodes share one /24 network")
    return count


def choose_network(name: str, taken: dict[str, int]) -> int:
    """The network number of a lab: 0 for the default lab, else one that follows from the name, or the next that is free."""
    if name in taken:
        return taken[name]
    if name == DEFAULT:
        return 0
    used = set(taken.values())
    first = zlib.crc32(name.encode())
    for step in range(254):
        number = 1 + (first + step) % 254
        if number not in used:
            return number
    raise UsageError("this machine already has 254 labs", help="provision lab list, then provision lab down NAME")
