"""Add a host or its groups to the inventory of this run."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AddHostParams(Params):
    """Parameters of ``add_host``."""

    name: str = option("The host.", aliases=("host", "hostname"))
    groups: list[str] | None = option("Its groups.", None, aliases=("group", "groupname"))
    variables: dict[str, Any] = option("Its variables.", {}, kind="raw")


MODULE = Module(
    name="add_host",
    summary="Add a host or its groups to the inventory of this run.",
    params=AddHostParams,
    where="controller",
    extra="variables",
    examples="- add_host: {name: gpu99, groups: [gpu_nodes]}\n",
)
