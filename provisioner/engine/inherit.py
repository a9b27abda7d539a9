"""What a task inherits: the directives of its play, roles and blocks folded from the outside in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from provisioner.playbook.model import Directives, Entry, RoleSource, Task
from provisioner.templating.variables import Layer

ADDED = ("when", "tags", "environment", "module_defaults")
MERGED = ("vars",)
OVERRIDDEN = tuple(item.name for item in fields(Directives) if item.name not in ADDED + MERGED)
EMPTY = Directives()


@dataclass
class Inherited:
    """The directives that hold at a place in a play, and where they came from; shared by all hosts.

    roles       uses of roles around this place, outermost first
    vars        ``vars:`` of blocks and of the task, outermost first, each a raw mapping
    maybe       why it is not known whether this place is reached at all
    outer       what holds around the entry this belongs to
    params      variables given to includes, outermost first
    beside      folders of included task files, innermost first
    near        the file that the task is written in
    layers, paths  what ``variables`` makes of all this, kept
    """

    directives: Directives
    roles: tuple[RoleSource, ...] = ()
    vars: tuple[Mapping[str, Any], ...] = ()
    maybe: str | None = None
    outer: Inherited | None = None
    params: tuple[Mapping[str, Any], ...] = ()
    beside: tuple[Path, ...] = ()
    near: str | None = None
    layers: tuple[Layer, ...] | None = field(default=None, repr=False)
    paths: tuple[Path, ...] | None = field(default=None, repr=False)
    _children: dict[int, tuple[Entry, Inherited]] = field(default_factory=dict, repr=False)

    @property
    def role(self) -> RoleSource | None:
        """The innermost role."""
        return self.roles[-1] if self.roles else None

    def within(self, entry: Entry) -> Inherited:
        """What holds inside a block, or for a task; computed once."""
        known = self._children.get(id(entry))
        if known is not None:
            return known[1]
        inner = self.plus(entry.directives, entry.role)
        inner.near = entry.span.file if isinstance(entry, Task) else None
        # The entry is kept with it so that its id cannot be given to another object.
        self._children[id(entry)] = (entry, inner)
        return inner

    def plus(self, directives: Directives, role: RoleSource | None = None) -> Inherited:
        """The same place with more directives, perhaps inside a role."""
        roles = self.roles
        if role is not None and (not roles or roles[-1] is not role):
            roles = (*roles, role)
        variables = (*self.vars, directives.vars) if directives.vars else self.vars
        return replace(self, directives=fold(self.directives, directives), roles=roles, vars=variables, outer=self, **_fresh())

    def included(self, directives: Directives, params: Mapping[str, Any], beside: Path | None, maybe: str | None) -> Inherited:
        """What holds inside a dynamic include that stands here: its ``apply``, its variables, and the folder of the file."""
        folders = (beside, *self.beside) if beside is not None else self.beside
        given = (*self.params, params) if params else self.params
        inner = self.plus(directives)
        return replace(inner, params=given, beside=folders, maybe=maybe or self.maybe, **_fresh())

    def doubtful(self, maybe: str) -> Inherited:
        """The same place, of which it is not known whether it is reached."""
        outer = self.outer.doubtful(maybe) if self.outer is not None else None
        return replace(self, maybe=maybe, outer=outer, **_fresh())


def _fresh() -> dict[str, Any]:
    """Nothing kept yet."""
    return {"layers": None, "paths": None, "_children": {}}


def fold(outer: Directives, inner: Directives) -> Directives:
    """The directives of ``inner`` as they hold inside ``outer``."""
    if inner is EMPTY or inner == EMPTY:
        return outer
    values: dict[str, Any] = {name: getattr(outer, name) + getattr(inner, name) for name in ADDED}
    values["vars"] = {**outer.vars, **inner.vars}
    for name in OVERRIDDEN:
        value = getattr(inner, name)
        values[name] = getattr(outer, name) if value is None or value == () else value
    return Directives(**values)


def mentions(value: Any, words: tuple[str, ...]) -> bool:
    """Whether one of the words occurs in any text inside a raw value."""
    if isinstance(value, str):
        return any(word in value for word in words)
    if isinstance(value, Mapping):
        return any(mentions(key, words) or mentions(child, words) for key, child in value.items())
    if isinstance(value, (list, tuple)):
        return any(mentions(child, words) for child in value)
    return False


def task_mentions(task: Task, words: tuple[str, ...]) -> bool:
    """Whether one of the words occurs in what the task says of itself."""
    parts = (task.args, task.args_template, task.directives.when, task.directives.vars, task.loop and task.loop.terms)
    return any(mentions(part, words) for part in parts)
