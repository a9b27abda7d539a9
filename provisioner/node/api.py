"""``Node``: everything a module may know of, and do to, the machine it runs on.

All comparing and deciding lives in the faces below (files, packages, units, accounts, commands, values); a module only says what it wants.
Nothing here, and so no module, can tell whether changes are made or only foreseen: that is the business of the reader and the sink.

    node.files.write("/etc/motd", "hello\\n", mode=0o644)     → True when that took a change
    node.packages.ensure("apt", ["chrony"])
    node.units.ensure("chrony.service", active=True, enabled=True)
"""

from __future__ import annotations

import os
import re

from .accounts import Accounts
from .changes import Change
from .commands import Commands
from .faults import Fail
from .files import Files
from .packages import Packages
from .values import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, NoReturn

    from .content import Content
    from .ports import Reader, Sink
    from .units import Units

_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)


class Recorder:
    """The sink a step sees: keeps each change that went through, and what diffs and notes belong to it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.changes: list[Change] = []
        self.diffs: list[str] = []

    def apply(self, change: Change) -> Any:
        """Pass the change on; it counts once the sink has taken it."""
        position = len(self.changes)
        self.changes.append(change)
        try:
            answer = self._sink.apply(change)
        except Fail:
            # A change that failed as a whole was not made; commands stay, since they did run.
            if change.KIND != "run_command":
                del self.changes[position]
            raise
        if change.KIND == "run_module" and not answer.result.get("changed"):
            del self.changes[position]
        return answer


class Context:
    """What the controller lends to a step: contents and file data over the wire, and progress lines."""

    def __init__(
        self,
        progress: Callable[[str], None] = lambda text: None,
        send: Callable[[Iterator[bytes]], None] | None = None,
        environment: dict[str, str] | None = None,
        diff: bool = False,
        login: str = "",
    ) -> None:
        self.progress = progress
        self.send = send
        self.environment = environment or {}
        self.diff = diff
        self.login = login

    def expand(self, text: str) -> str:
        """``~`` and ``$VARIABLES`` of a word, with the environment that the step is given."""
        home = self.environment.get("HOME")
        text = home + text[1:] if home and (text == "~" or text.startswith("~/")) else os.path.expanduser(text)
        if "$" not in text:
            return text
        known = {**os.environ, **self.environment}
        return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), text)


class Node:
    """The facade. ``recorder.changes`` is what the step has changed so far; ``changed`` says whether that is anything."""

    def __init__(self, reader: Reader, sink: Sink, context: Context | None = None) -> None:
        self.context = context or Context()
        self.reader = reader
        self.recorder = Recorder(sink)
        self.warnings: list[str] = []
        self.accounts = Accounts(self)
        self.files = Files(self)
        self.commands = Commands(self)
        self.packages = Packages(self)
        self.values = Values(self)

    @property
    def units(self) -> Units:
        """Services and other systemd units; the code of this face comes with the modules that use it."""
        from .units import Units

        return Units(self)

    @property
    def changed(self) -> bool:
        """Whether this step has changed anything on the node; refreshing a package index or asking a server does not count."""
        return any(change.KIND not in ("refresh_index", "request") for change in self.recorder.changes)

    def record(self, change: Change) -> Any:
        """Make a change. The faces call this; a module does for kinds that no face wraps."""
        return self.recorder.apply(change)

    def progress(self, text: str) -> None:
        """Tell the operator what a long step is waiting for."""
        self.context.progress(text)

    def warn(self, text: str) -> None:
        """Tell the operator of something that is no failure, but that they should know."""
        self.warnings.append(text)

    def note_diff(self, name: str, before: Content | None, after: Content | None) -> None:
        """Show how a text changes, if diffs were asked for."""
        if self.context.diff:
            from .diff import unified

            self.recorder.diffs.append(unified(name, before, after))

    @staticmethod
    def fail(msg: str, **result: Any) -> NoReturn:
        """End the step as failed, with a message that says what to do and the return values gathered so far."""
        raise Fail(msg, **result)
