"""What dpkg shall do with a package: hold it, for instance."""

from __future__ import annotations

from ..declare import Module, Params, option
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class SelectionParams(Params):
    """Parameters of ``dpkg_selections``."""

    name: str = option("The package.")
    selection: str = option("What to do with it.", choices=("install", "hold", "deinstall", "purge"))


def run(node: Node, p: SelectionParams) -> dict[str, Any]:
    """Set the selection of a package that dpkg knows."""
    try:
        before = node.values.get("selection", p.name)
        known = before is not None or node.packages.installed("apt", p.name) is not None
    except UnknownReading:
        before, known = "unknown", True
    if not known:
        node.fail(f"dpkg does not know the package {p.name}; install it first")
    node.values.ensure("selection", p.name, p.selection, target=f"dpkg selection of {p.name}")
    return {"before": before or "not present", "after": p.selection}


MODULE = Module(
    name="dpkg_selections",
    summary="What dpkg shall do with a package: hold it, for instance.",
    params=SelectionParams,
    run=run,
    resource=(("value", "name"),),
    examples="- dpkg_selections: {name: nvidia-driver, selection: hold}\n",
)
