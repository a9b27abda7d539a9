"""Set variables of the host."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SetFactParams(Params):
    """Parameters of ``set_fact``."""

    cacheable: bool = option("Also keep them as facts.", False)
    facts: dict[str, Any] = option("The variables.", {}, kind="raw")


MODULE = Module(
    name="set_fact",
    summary="Set variables of the host.",
    params=SetFactParams,
    where="controller",
    extra="facts",
    free_form="",
    examples="- set_fact: {driver_branch: '535'}\n",
)
