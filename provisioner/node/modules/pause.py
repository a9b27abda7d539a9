"""Wait for a time, or for the operator."""

from __future__ import annotations

from ..declare import Module, Params, exclusive, option


class PauseParams(Params):
    """Parameters of ``pause``."""

    seconds: int | None = option("How many seconds.", None)
    minutes: int | None = option("How many minutes.", None)
    prompt: str | None = option("What to ask.", None)
    echo: bool = option("Show what is typed.", True)


MODULE = Module(
    name="pause",
    summary="Wait for a time, or for the operator.",
    params=PauseParams,
    where="controller",
    rules=(exclusive("seconds", "minutes"),),
    examples="- pause: {seconds: 1}\n",
)
