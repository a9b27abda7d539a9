"""A module with a free form and options of any name."""

from __future__ import annotations

from provisioner.node.declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Talk(Params):
    """Parameters of ``talk``."""

    line: str | None = option("What to say.", None)
    loud: bool = option("Whether to shout.", False)
    rest: dict[str, Any] = option("Everything else.", {})


MODULE = Module(name="talk", summary="Say something.", params=Talk, free_form="line", extra="rest", where="controller")
