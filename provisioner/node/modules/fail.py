"""Stop with a message."""

from __future__ import annotations

from ..declare import Module, Params, option


class FailParams(Params):
    """Parameters of ``fail``."""

    msg: str = option("The message.", "Failed as requested from task")


MODULE = Module(
    name="fail",
    summary="Stop with a message.",
    params=FailParams,
    where="controller",
    examples="- fail: {msg: no GPU here}\n  when: false\n",
)
