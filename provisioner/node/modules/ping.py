"""Answer, to show that a node can be reached and has a usable Python."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class PingParams(Params):
    """Parameters of ``ping``."""

    data: str = option("What to answer; ``crash`` fails.", "pong")


def run(node: Node, p: PingParams) -> dict[str, Any]:
    """Give the data back."""
    if p.data == "crash":
        node.fail("boom")
    return {"ping": p.data}


MODULE = Module(name="ping", summary="Answer, to show that a node can be reached.", params=PingParams, run=run, examples="- ping:\n")
