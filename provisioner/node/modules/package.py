"""Packages, whatever the package manager."""

from __future__ import annotations

from ..declare import Module, Params, option
from . import apt, dnf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

PROGRAMS = (("/usr/bin/apt-get", "apt"), ("/usr/bin/dnf5", "dnf"), ("/usr/bin/dnf", "dnf"), ("/usr/bin/yum", "dnf"))
MANAGERS = {"apt": apt.MODULE, "dnf": dnf.MODULE, "dnf5": dnf.MODULE, "yum": dnf.MODULE}


class PackageParams(Params):
    """Parameters of ``package``."""

    name: list[str] | None = option(
        "The packages; not needed where only the index is refreshed or everything upgraded.", None, aliases=("pkg",)
    )
    state: str = option("What they shall be: present, absent, latest, or a word of the package manager.", "present")
    use: str = option("Which package manager; found out by default.", "auto")
    update_cache: bool | None = option("Refresh the package index first.", None)
    cache_valid_time: int | None = option("apt: do not refresh an index younger than this many seconds.", None)
    autoremove: bool | None = option("Remove packages that nothing needs any more.", None)
    purge: bool | None = option("apt: remove configuration files, too.", None)
    install_recommends: bool | None = option("apt: install recommended packages.", None)
    allow_downgrade: bool | None = option("Permit an older version.", None)
    lock_timeout: int | None = option("Seconds to wait for the package manager's lock.", None)
    enablerepo: list[str] | None = option("dnf: repositories to use beside the enabled ones.", None)
    disablerepo: list[str] | None = option("dnf: repositories not to use.", None)
    disable_gpg_check: bool | None = option("dnf: accept packages without a valid signature.", None)
    disable_plugin: list[str] | None = option("dnf: plugins not to use.", None)
    options: dict[str, Any] = option("Further parameters go to the package manager's own module.", {}, kind="raw")


COMMON = ("name", "state", "use", "options")


def run(node: Node, p: PackageParams) -> dict[str, Any]:
    """Hand over to the module of the node's package manager."""
    name = p.use.rpartition(".")[2]
    if name == "auto":
        name = next((manager for program, manager in PROGRAMS if node.files.exists(program)), "")
    module = MANAGERS.get(name)
    if module is None:
        node.fail(f"the package manager {name or 'of this node'} is not supported; there are {', '.join(MANAGERS)}")
    given = {key: value for key, value in p.as_dict().items() if key not in COMMON and value is not None}
    given.update(p.options)
    unknown = [key for key in given if key not in module.params.__fields__]
    if unknown:
        node.fail(f"{name} has no parameter {', '.join(unknown)}")
    state = {"installed": "present", "removed": "absent"}.get(p.state, p.state)
    if p.name is not None:
        given["name"] = p.name
    result: dict[str, Any] = module.run(node, module.params(state=state, **given))
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
