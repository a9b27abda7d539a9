"""Installed packages, as facts."""

from __future__ import annotations

from ..declare import Module, Params, option
from ..faults import UnknownReading
from ..wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class PackageFactsParams(Params):
    """Parameters of ``package_facts``."""

    manager: list[str] = option("Which package managers to ask.", ["auto"])
    strategy: str = option("All of them, or the first that answers.", "first", choices=("first", "all"))


def run(node: Node, p: PackageFactsParams) -> dict[str, Any]:
    """Name → list of installed versions."""
    known = {"apt": "/var/lib/dpkg/status", "rpm": "/usr/bin/rpm"}
    wanted = ["apt", "rpm"] if "auto" in p.manager else [{"dnf": "rpm", "yum": "rpm", "dnf5": "rpm"}.get(name, name) for name in p.manager]
    found: dict[str, list[dict[str, Any]]] = {}
    for name in wanted:
        if name not in known:
            node.fail(f"the package manager {name} is not supported; choose from auto, {', '.join(known)}")
        if not node.files.exists(known[name]):
            continue
        try:
            installed = node.packages.all("apt" if name == "apt" else "dnf")
        except UnknownReading as unknown:
            return {"ansible_facts": {"packages": Unknown(unknown.because)}}
        for key, state in installed.items():
            version, _, release = str(state.version).partition("-") if name == "rpm" else (str(state.version), "", "")
            entry: dict[str, Any] = {"name": state.name, "version": version, "arch": state.arch, "source": name}
            if name == "apt":
                entry.update(category="", origin="")
            else:
                entry.update(release=release, epoch=None)
            found.setdefault(key.partition(":")[0], []).append(entry)
        if found and p.strategy == "first":
            break
    if not found:
        node.fail(f"none of these package managers is here: {', '.join(wanted)}")
    return {"ansible_facts": {"packages": found}}


MODULE = Module(
    name="package_facts",
    summary="Installed packages, as facts.",
    params=PackageFactsParams,
    run=run,
    reads_only=True,
    examples="- package_facts:\n",
)
