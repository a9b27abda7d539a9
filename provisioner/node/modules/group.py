"""A group."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class GroupParams(Params):
    """Parameters of ``group``."""

    name: str = option("The group.")
    state: str = option("Whether it shall exist.", "present", choices=("present", "absent"))
    gid: int | None = option("Its number.", None)
    system: bool = option("Take a number of the system range when it is created.", False)
    force: bool = option("Remove it though it is a user's primary group.", False)
    local: bool = option("Only the local files are meant; the tools used here write these anyway.", False)
    non_unique: bool = option("Let several groups have the number.", False)
    gid_min: int | None = option("Smallest number to choose from.", None)
    gid_max: int | None = option("Largest number to choose from.", None)


def run(node: Node, p: GroupParams) -> dict[str, Any]:
    """Bring the group to its state."""
    result: dict[str, Any] = {"name": p.name, "state": p.state}
    if p.state == "absent":
        node.accounts.remove_group(p.name)
        return result
    options = {"non_unique": p.non_unique, "gid_min": p.gid_min, "gid_max": p.gid_max}
    node.accounts.ensure_group(p.name, gid=p.gid, system=p.system, options={key: value for key, value in options.items() if value})
    state = node.accounts.group(p.name)
    if state is not None:
        result["gid"] = state.gid
    result["system"] = p.system
    return result


MODULE = Module(
    name="group",
    summary="A group.",
    params=GroupParams,
    run=run,
    resource=(("group", "name"),),
    examples="- group: {name: gpu, system: true}\n",
)
