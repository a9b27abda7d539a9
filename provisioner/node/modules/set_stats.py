"""Set values that a run reports at its end."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SetStatsParams(Params):
    """Parameters of ``set_stats``."""

    data: dict[str, Any] = option("The values.", kind="raw")
    per_host: bool = option("Keep them host by host.", False)
    aggregate: bool = option("Add to a value that is there.", True)


MODULE = Module(
    name="set_stats",
    summary="Set values that a run reports at its end.",
    params=SetStatsParams,
    where="controller",
    examples="- set_stats: {data: {done: 1}}\n",
)
