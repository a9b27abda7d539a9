"""Packages, whatever the package manager."""

from __future__ import annotations

from ..declare import Module, Params, option
from . import apt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

PROGRAMS = (("/usr/bin/apt-get", "apt"),)
MANAGERS = {"apt": apt.MODULE}


class PackageParams(Params):
    """Parameters of ``package``."""

    name: list[str] = option("The packages.", aliases=("pkg",))
    state: str = option("What they shall be: present, absent, latest, or a word of the package manager.", "present")
    use: str = option("Which package manager; found out by default.", "auto")
    options: dict[str, Any] = option("Further parameters go to the package manager's own module.", {}, kind="raw")


def run(node: Node, p: PackageParams) -> dict[str, Any]:
    """Hand over to the module of the node's package manager."""
    name = p.use.rpartition(".")[2]
    if name == "auto":
        name = next((manager for program, manager in PROGRAMS if node.files.exists(program)), "")
    module = MANAGERS.get(name)
    if module is None:
        node.fail(f"the package manager {name or 'of this node'} is not supported; there are {', '.join(MANAGERS)}")
    state = {"installed": "present", "removed": "absent"}.get(p.state, p.state)
    unknown = [key for key in p.options if key not in module.params.__fields__]
    if unknown:
        node.fail(f"{name} has no parameter {', '.join(unknown)}")
    result: dict[str, Any] = module.run(node, module.params(name=p.name, state=state, **p.options))
    return result


MODULE = Module(
    name="package",
    summary="Packages, whatever the package manager.",
    params=PackageParams,
    run=run,
    extra="options",
    resource=(("package", "name"),),
    examples="- package: {name: chrony, state: present}\n",
)
