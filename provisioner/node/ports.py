"""The two small seams below the ``Node`` facade: what can be read, and where changes go.

Apply is ``Node(live, live)``; a plan is ``Node(overlay, overlay)`` with the overlay copy-on-write over live readings. A fake node for
tests implements the same two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from .changes import Change
    from .content import Content
    from .readings import CommandResult, FileState, GroupState, PackageState, UnitState, UserState

    class Reader(Protocol):
        """Readings. Each may raise ``UnknownReading`` when a pending step decides it. Paths are absolute."""

        def lstat(self, path: str) -> FileState | None:
            """The path itself, links not followed at the end (but on the way)."""
            ...

        def resolve(self, path: str) -> str:
            """The path with every link followed; parts that do not exist stay as they are."""
            ...

        def content(self, path: str) -> Content:
            """The content of a regular file, links followed; ``FileNotFoundError`` or ``IsADirectoryError`` as the system says."""
            ...

        def names(self, path: str) -> list[str]:
            """The names in a directory, sorted."""
            ...

        def users(self) -> dict[str, UserState]:
            """All users by name, with shadow fields where readable."""
            ...

        def groups(self) -> dict[str, GroupState]:
            """All groups by name."""
            ...

        def package(self, manager: str, name: str) -> PackageState | None:
            """An installed package, or None. ``name`` may carry an architecture (``libc6:arm64``)."""
            ...

        def packages(self, manager: str) -> dict[str, PackageState]:
            """All installed packages by name."""
            ...

        def solve(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
            """What the package manager would do: {"install": {name: [old | None, new]}, "remove": {name: old}, "held": [name]}."""
            ...

        def unit(self, name: str, options: dict[str, Any]) -> UnitState:
            """A unit; one that does not exist has load "not-found"."""
            ...

        def value(self, namespace: str, key: str) -> Any:
            """A keyed value (see ``SetValue``), or None."""
            ...

        def query(
            self,
            argv: Sequence[str],
            about: Sequence[tuple[str, str]],
            stdin: bytes | None,
            timeout: float | None,
            environment: dict[str, str],
        ) -> CommandResult:
            """Run a command that only reads; ``about``: the resources its answer depends on."""
            ...

        def account(self) -> tuple[int, int]:
            """uid and gid that new files get."""
            ...

        def umask(self) -> int:
            """The mask of new files."""
            ...

    class Sink(Protocol):
        """Where changes go."""

        def apply(self, change: Change) -> Any:
            """Make the change (or note it). Returns a ``CommandResult`` for commands, else None; raises ``Fail`` with the reason."""
            ...
