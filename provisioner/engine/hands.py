"""What the controller itself does to the world outside the nodes' agents: really, or only on paper.

Actions call these and cannot tell which of the two they have.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from provisioner.engine.outcome import Outcome
from provisioner.ports import Executed


class Hands(Protocol):
    """The effects an action may have."""

    def wait(self, sleep: Callable[[float], None], seconds: float) -> None:
        """Let time pass."""
        ...

    def ask(self, ask: Callable[[], Any], because: str) -> Any:
        """Ask the operator; an unknown value when nobody is asked."""
        ...

    def command(self, run: Callable[[], Executed], shown: str) -> Executed | Outcome:
        """Run a command outside any agent; on paper an outcome that says that it would run."""
        ...

    def file(self, path: Path, data: bytes) -> None:
        """Put a file on the controller."""
        ...

    def until(self, attempt: Callable[[], None]) -> None:
        """Do something that only makes sense after what came before has really happened."""
        ...


class LiveHands:
    """Does it."""

    def wait(self, sleep: Callable[[float], None], seconds: float) -> None:
        """See ``Hands``."""
        sleep(seconds)

    def ask(self, ask: Callable[[], Any], because: str) -> Any:  # noqa: ARG002  # part of the protocol
        """See ``Hands``."""
        return ask()

    def command(self, run: Callable[[], Executed], shown: str) -> Executed | Outcome:  # noqa: ARG002  # part of the protocol
        """See ``Hands``."""
        return run()

    def file(self, path: Path, data: bytes) -> None:
        """See ``Hands``: beside the target, then renamed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def until(self, attempt: Callable[[], None]) -> None:
        """See ``Hands``."""
        attempt()


class PlannedHands:
    """Says what would be done."""

    def wait(self, sleep: Callable[[float], None], seconds: float) -> None:
        """Nothing is waited for."""

    def ask(self, ask: Callable[[], Any], because: str) -> Any:  # noqa: ARG002  # part of the protocol
        """The answer is not known."""
        from provisioner.values import Unknown

        return Unknown(because)

    def command(self, run: Callable[[], Executed], shown: str) -> Executed | Outcome:  # noqa: ARG002  # part of the protocol
        """A certain change whose result is not known."""
        change = {"kind": "run_command", "target": shown, "before": None, "after": "run", "certain": True}
        return Outcome({"changed": True}, [change], unknown=f"running {shown!r}")

    def file(self, path: Path, data: bytes) -> None:
        """Nothing is written."""

    def until(self, attempt: Callable[[], None]) -> None:
        """Nothing has happened, so there is nothing to wait for."""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
