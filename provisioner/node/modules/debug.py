"""Show a message or a variable."""

from __future__ import annotations

from ..declare import Module, Params, exclusive, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DebugParams(Params):
    """Parameters of ``debug``."""

    msg: Any = option("The message.", "Hello world!", kind="raw")
    var: str | None = option("An expression to show instead.", None)
    verbosity: int = option("Show only with at least this many -v.", 0)


MODULE = Module(
    name="debug",
    summary="Show a message or a variable.",
    params=DebugParams,
    where="controller",
    rules=(exclusive("msg", "var"),),
    examples="- debug: {msg: hello}\n",
)
