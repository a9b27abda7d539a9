"""Put hosts into groups by a value."""

from __future__ import annotations

from ..declare import Module, Params, option


class GroupByParams(Params):
    """Parameters of ``group_by``."""

    key: str = option("The group.")
    parents: list[str] = option("Groups above it.", ["all"])


MODULE = Module(
    name="group_by",
    summary="Put hosts into groups by a value.",
    params=GroupByParams,
    where="controller",
    examples="- group_by: {key: 'os_{{ ansible_distribution }}'}\n",
)
