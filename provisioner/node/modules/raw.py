"""Run a command without Python on the node."""

from __future__ import annotations

from ..declare import Module, Params, option


class RawParams(Params):
    """Parameters of ``raw``."""

    cmd: str = option("The command line.", aliases=("_raw_params",))
    executable: str | None = option("The shell to use.", None)


MODULE = Module(
    name="raw",
    summary="Run a command without Python on the node.",
    params=RawParams,
    where="controller",
    lenient=True,
    free_form="cmd",
    examples="- raw: apt-get install -y python3\n",
)
