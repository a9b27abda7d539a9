"""Stop unless conditions hold."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AssertParams(Params):
    """Parameters of ``assert``."""

    that: Any = option("The conditions.", kind="raw")
    fail_msg: Any = option("What to say when one does not hold.", None, aliases=("msg",), kind="raw")
    success_msg: Any = option("What to say when all hold.", None, kind="raw")
    quiet: bool = option("Say less.", False)


MODULE = Module(
    name="assert",
    summary="Stop unless conditions hold.",
    params=AssertParams,
    where="controller",
    examples="- assert: {that: [1 < 2]}\n",
)
