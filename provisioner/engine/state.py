"""What is known of a host during a run, and what of it a play adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioner.diagnostics import Span
from provisioner.playbook.model import RoleSource

Undo = Callable[[], None]
FACTS = "ansible_facts"
_ABSENT: Any = object()


@dataclass
class HostState:
    """One host over all plays of a run; only its own thread writes here.

    facts       what ``ansible_facts`` holds (names without their prefix)
    injected    the same facts as top-level variables
    values      registered results and ``set_fact``
    included    variables of ``include_vars``
    pending     registered names whose result is still on its way, and for how many tasks
    unsettled   how many steps that read facts are on their way
    origins     for registered names: what set them last, for error messages
    earlier     handlers that a run before this one left notified on the node
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    injected: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    included: dict[str, Any] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    unsettled: int = 0
    origins: dict[str, str] = field(default_factory=dict)
    gathered: bool = False
    failed: bool = False
    unreachable: bool = False
    started: bool = True
    earlier: dict[str, None] = field(default_factory=dict)
    addresses: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> bool:
        """Whether later plays may use the host."""
        return not (self.failed or self.unreachable)

    def expect(self, name: str | None, facts: bool) -> None:
        """A task was queued that will set this name, and maybe bring facts."""
        if name:
            self.pending[name] = self.pending.get(name, 0) + 1
        self.unsettled += facts

    def arrived(self, name: str | None, facts: bool) -> None:
        """Such a task has its result, or will not run after all."""
        if name:
            left = self.pending.pop(name, 1) - 1
            if left > 0:
                self.pending[name] = left
        self.unsettled -= facts

    def assign(self, name: str, value: Any) -> Undo:
        """Set a registered result or fact variable; the returned function takes it back."""
        return _put(self.values, name, value)

    def assign_all(self, values: Mapping[str, Any]) -> Undo:
        """Set several."""
        return _all([_put(self.values, name, value) for name, value in values.items()])

    def include(self, variables: Mapping[str, Any]) -> Undo:
        """Add variables of ``include_vars``."""
        return _all([_put(self.included, name, value) for name, value in variables.items()])

    def learn(self, facts: Mapping[str, Any]) -> Undo:
        """Add facts as a module returned them, with or without their ``ansible_`` prefix."""
        undo: list[Undo] = []
        for name, value in facts.items():
            short = name[8:] if name.startswith("ansible_") and name != "ansible_local" else name
            undo.append(_put(self.facts, short, value))
            undo.append(_put(self.injected, name, value))
        return _all(undo)

    def forget_facts(self) -> None:
        """``meta: clear_facts``."""
        self.facts.clear()
        self.injected.clear()
        self.gathered = False

    def address(self, wanted: str) -> str:
        """The address itself, or with ``~2`` and so on when the host has used it already."""
        self.addresses[wanted] += 1
        count = self.addresses[wanted]
        return wanted if count == 1 else f"{wanted}~{count}"


def _put(target: dict[str, Any], name: str, value: Any) -> Undo:
    before = target.get(name, _ABSENT)
    target[name] = value

    def undo() -> None:
        if before is _ABSENT:
            target.pop(name, None)
        else:
            target[name] = before

    return undo


def _all(undo: list[Undo]) -> Undo:
    def back() -> None:
        for step in reversed(undo):
            step()

    return back


@dataclass
class RolesSeen:
    """Roles of a play as one host sees them.

    ran         roles of which at least one task was not skipped here
    completed   roles that ran to their end: a second equal use is not run again
    public      roles included on the way whose variables stay for the rest of the play
    """

    ran: set[int] = field(default_factory=set)
    completed: list[RoleSource] = field(default_factory=list)
    public: list[RoleSource] = field(default_factory=list)

    def is_done(self, role: RoleSource) -> bool:
        """Whether an equal use of the role was completed and it may not be repeated."""
        return any(id(done) in self.ran for done in self._equal(role))

    def may_be_done(self, role: RoleSource) -> bool:
        """The same while tasks of that use may still be queued: whether any of them really runs is not known yet."""
        return bool(self._equal(role))

    def _equal(self, role: RoleSource) -> list[RoleSource]:
        if role.allow_duplicates:
            return []
        return [done for done in self.completed if done.path == role.path and done.key == role.key]


def place_text(span: Span) -> str:
    """``file:line`` for messages and addresses."""
    return f"{span.file}:{span.line}" if span.line else span.file
