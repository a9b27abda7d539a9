"""What an action gets: its arguments, the variables of its host, and ways to act."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.engine.contents import find_file
from provisioner.engine.jobs import Effect, Item
from provisioner.engine.outcome import NodeCall
from provisioner.ports import Reply, Target
from provisioner.values import Unknown

if TYPE_CHECKING:
    from provisioner.engine.agents import SharedAgent
    from provisioner.engine.walk import HostWalk


class Call:
    """One call of an action for one item of a task on one host.

    written  the arguments as rendered, under the names the task uses
    params   the same checked against the declaration, all parameters present; like ``written`` where nothing is declared
    """

    def __init__(self, walk: HostWalk, item: Item, written: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        self.walk = walk
        self.run = walk.run
        self.item = item
        self.task = item.job.task
        self.scope = item.scope
        self.written = written
        self.params = params

    # Arguments

    def given(self, *names: str, default: Any = None) -> Any:
        """The first of these arguments that was given."""
        for name in names:
            if self.written.get(name) is not None:
                return self.written[name]
        return default

    @property
    def free_form(self) -> str:
        """The free form of the arguments."""
        return str(self.written.get("_raw_params") or "")

    # Variables

    def set(self, values: Mapping[str, Any]) -> None:
        """Set variables of the host as ``set_fact`` does."""
        self._apply("set", values)

    def include(self, values: Mapping[str, Any]) -> None:
        """Set variables of the host as ``include_vars`` does."""
        self._apply("include", values)

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Set facts of the host."""
        self._apply("facts", facts)

    def _apply(self, kind: str, values: Mapping[str, Any]) -> None:
        for name in values:
            self.walk.batch.before_assigning(name)
        known = values if not self.item.maybe else {name: Unknown(self.item.maybe) for name in values}
        self.item.job.apply((self.item.facts_of or self.walk.host) if kind != "include" else self.walk.host, Effect(kind, known))

    # Files of the controller

    def find(self, kind: str, name: str, *, folders: bool = False, argument: str = "src") -> Path:
        """A file in the folders where files of this kind are looked for. Raises ``InputError``."""
        span = self.task.span_of("args", argument)
        return find_file(self.scope.paths, kind, name, span, self.task.span.file, folders=folders)

    # Nodes

    @property
    def target(self) -> Target:
        """Where the task's steps go."""
        return self.walk.target(self.item)

    @property
    def agent(self) -> SharedAgent:
        """The agent there; only for actions that run alone."""
        return self.walk.agent(self.item)

    def ask(self, calls: Sequence[NodeCall], on_data: Callable[[int, bytes, bool], None] | None = None) -> list[Reply]:
        """Run module calls on the node now; only for actions that run alone. Raises ``HostUnreachable``."""
        return self.walk.batch.ask(self.item, calls, self.agent, on_data)
