"""Wait until a host can be reached."""

from __future__ import annotations

from ..declare import Module, Params, option


class WaitForConnectionParams(Params):
    """Parameters of ``wait_for_connection``."""

    timeout: int = option("Seconds to wait at most.", 600)
    delay: int = option("Seconds to wait before the first try.", 0)
    sleep: int = option("Seconds between two tries.", 1)
    connect_timeout: int = option("Seconds for one try.", 5)


MODULE = Module(
    name="wait_for_connection",
    summary="Wait until a host can be reached.",
    params=WaitForConnectionParams,
    where="controller",
    examples="- wait_for_connection: {timeout: 60}\n",
)
