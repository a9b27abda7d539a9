"""What a plan makes of a foreign module: it is asked what it would do, and is not taken at its word.

It sees the node as it is, without what is noted in the overlay, so after any noted change its answer is a guess.
"""

from __future__ import annotations

from .faults import UnknownReading
from .readings import ModuleReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .overlay import Overlay


def rehearse(overlay: Overlay, change: Any) -> ModuleReport:
    """The report of a ``RunModule`` change that is not to be made. Raises ``UnknownReading`` when the module cannot say."""
    name, blind = change.target, overlay.anything_noted()
    result = change.perform(True)
    if overlay.trial:
        return ModuleReport(result=result or {"skipped": True, "msg": f"{name} does not support check mode"})
    if result is None:
        raise UnknownReading(f"running {name}, which cannot say what it would do")
    if blind:
        overlay.tainted = f"an earlier change that {name} cannot see"
    elif result.get("changed"):
        overlay.tainted = f"the word of {name} alone"
    if overlay.tainted is None or result.get("failed"):
        return ModuleReport(result=result)
    overlay.fold(change)
    return ModuleReport(result=result, doubt=f"running {name}")
