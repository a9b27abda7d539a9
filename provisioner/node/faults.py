"""What ends a module's run early: it failed, it met something unknown, or its result cannot be known yet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Fail(Exception):
    """The step failed for a reason a person can act on; ``result`` adds return values (``rc``, ``stderr``…)."""

    def __init__(self, msg: str, **result: Any) -> None:
        super().__init__(msg)
        self.msg = msg
        self.result = result


class UnknownReading(Exception):
    """A decision was asked of something a pending step decides; only raised by the planning side."""

    def __init__(self, because: str) -> None:
        super().__init__(because)
        self.because = because


class ResultUnknown(Exception):
    """A change was recorded whose outcome the module needs, and only the apply can tell; ``result``: what can be said of it already."""

    def __init__(self, because: str, **result: Any) -> None:
        super().__init__(because)
        self.because = because
        self.result = result


class Moved(Exception):
    """The sink found the node in another state than the change was decided on."""


class TimedOut(Exception):
    """The step ran longer than its ``timeout``."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"timed out after {seconds:g} s")
        self.seconds = seconds

    def result(self, module: str) -> dict[str, Any]:
        """The result of the module whose time was up."""
        period = int(self.seconds) if self.seconds == int(self.seconds) else self.seconds
        return {"failed": True, "changed": False, "msg": f"{module} {self}", "timedout": {"period": period}}
