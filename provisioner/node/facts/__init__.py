"""Facts: what ``setup`` tells of a node, by topic. Read from files and system calls; a program is started only where nothing else knows.

``COLLECTORS`` maps Ansible's gather_subset names to functions that return facts without the ``ansible_`` prefix.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

COLLECTORS = {
    "apparmor": "system",
    "caps": "system",
    "chroot": "system",
    "cmdline": "system",
    "date_time": "system",
    "devices": "storage",
    "distribution": "distribution",
    "dns": "network",
    "env": "system",
    "fips": "system",
    "gpus": "gpus",
    "hardware": "hardware",
    "interfaces": "network",
    "loadavg": "system",
    "local": "local",
    "lsb": "distribution",
    "machine_id": "system",
    "mounts": "storage",
    "network": "network",
    "pkg_mgr": "distribution",
    "platform": "system",
    "processor": "hardware",
    "python": "system",
    "selinux": "system",
    "service_mgr": "distribution",
    "ssh_pub_keys": "system",
    "user": "system",
    "virtual": "virtual",
}
MINIMUM = (
    "apparmor",
    "caps",
    "cmdline",
    "date_time",
    "distribution",
    "dns",
    "env",
    "fips",
    "local",
    "lsb",
    "pkg_mgr",
    "platform",
    "python",
    "selinux",
    "service_mgr",
    "ssh_pub_keys",
    "user",
    "machine_id",
    "loadavg",
    "chroot",
)
COMPOUND = {"hardware": ("hardware", "processor", "devices", "mounts"), "network": ("network", "interfaces", "dns")}
BY_NAME = {"gpus"}
"""Subsets of our own, gathered where they are named only."""
ACCEPTED = {"facter", "ohai", "fibre_channel_wwn", "iscsi", "nvme", "hostnqn", "systemd"}
"""Subsets of Ansible that need programs or hardware we do not look at; asking for them is no error."""


class UnknownSubset(ValueError):
    """A gather_subset that does not exist."""


def chosen(subsets: Iterable[str]) -> list[str]:
    """The collectors that a gather_subset list means, as Ansible reads it: ``all``, ``min``, names, and ``!`` takes away.

    What is named itself stays whatever else is taken away: ``["!all", "network"]`` means the minimum and the network.
    Where nothing is named, taking away leaves the minimum.
    """
    added: set[str] = set()
    named: set[str] = set()
    removed: set[str] = set()
    minimum = True
    for subset in subsets:
        name = subset.lstrip("!")
        if name not in ("all", "min") and name not in COLLECTORS and name not in ACCEPTED:
            raise UnknownSubset(name)
        members = set(COLLECTORS) - BY_NAME if name == "all" else set(MINIMUM) if name == "min" else set(COMPOUND.get(name, (name,)))
        if subset.startswith("!"):
            removed |= members - (set(MINIMUM) if name == "all" else set())
            minimum = minimum and name != "min"
        else:
            added |= members
            named |= members if name not in ("all", "min") else set()
    found = (added - (removed - named)) | (set(MINIMUM) - (removed if not minimum else set()) if minimum else set())
    return sorted(found & set(COLLECTORS))


def gather(subsets: Iterable[str]) -> dict[str, Any]:
    """The facts of these subsets."""
    facts: dict[str, Any] = {}
    for name in chosen(subsets):
        if name == "local":
            continue  # needs the folder's name; setup asks for it by itself
        module = importlib.import_module(f"{__package__}.{COLLECTORS[name]}")
        facts.update(getattr(module, name)())
    return facts
