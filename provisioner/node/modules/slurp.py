"""The content of a file on the node, as base64."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class SlurpParams(Params):
    """Parameters of ``slurp``."""

    src: str = option("The file to read.", aliases=("path",), kind="path")


def run(node: Node, p: SlurpParams) -> dict[str, Any]:
    """Read the whole file."""
    import base64

    path = node.files.expand(p.src)
    return {"content": base64.b64encode(node.files.read(path)).decode("ascii"), "encoding": "base64", "source": path}


MODULE = Module(
    name="slurp",
    summary="The content of a file on the node, as base64.",
    params=SlurpParams,
    run=run,
    reads_only=True,
    examples="- slurp: {src: /proc/mounts}\n  register: mounts\n",
)
