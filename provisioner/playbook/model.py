"""What a playbook says, typed and frozen: Play, Block, Task, Handler, Role.

Values stay as written (templates are not rendered here); what is inherited is not copied down: the engine walks from the play to the
task and folds ``Directives`` on the way. Every object knows its place, and ``Task.spans`` knows that of every keyword and argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from provisioner.diagnostics import Span

NOWHERE = Span("<generated>")


@dataclass(frozen=True)
class Directives:
    """Keywords that plays, roles, blocks and tasks share. ``None`` means "not said here: the outer one holds".

    ``when`` and ``tags`` add up from the outside in, ``vars`` and ``environment`` merge, all others are overridden by the inner one.
    Values are raw: text may be a template.
    """

    when: tuple[Any, ...] = ()
    tags: tuple[str, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    environment: tuple[Any, ...] = ()
    become: Any = None
    become_user: Any = None
    become_method: Any = None
    become_flags: Any = None
    become_exe: Any = None
    connection: Any = None
    remote_user: Any = None
    port: Any = None
    check_mode: Any = None
    diff: Any = None
    ignore_errors: Any = None
    ignore_unreachable: Any = None
    any_errors_fatal: Any = None
    no_log: Any = None
    run_once: Any = None
    throttle: Any = None
    timeout: Any = None
    delegate_to: Any = None
    delegate_facts: Any = None
    module_defaults: tuple[Any, ...] = ()
    collections: tuple[str, ...] = ()
    debugger: Any = None


@dataclass(frozen=True)
class LoopControl:
    """``loop_control``; ``label``, ``pause`` and ``break_when`` are raw."""

    loop_var: str = "item"
    index_var: str | None = None
    label: Any = None
    pause: Any = None
    extended: Any = None
    extended_allitems: Any = None
    break_when: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Loop:
    """``loop:`` (lookup is None) or ``with_LOOKUP:``; ``terms`` is raw."""

    terms: Any
    lookup: str | None = None
    control: LoopControl = LoopControl()


@dataclass(frozen=True)
class Task:
    """One entry with an action.

    ``action`` is the canonical name (``copy`` for ``ansible.builtin.copy``; other collections keep their full name), ``written`` the
    name in the file. ``args`` holds the arguments (``_raw_params`` the free form); ``args_template`` is set instead of some of them when
    the file gives the whole mapping as one template.
    """

    action: str
    written: str
    args: Mapping[str, Any]
    span: Span = NOWHERE
    name: str | None = None
    args_template: str | None = None
    directives: Directives = Directives()
    loop: Loop | None = None
    register: str | None = None
    notify: tuple[Any, ...] = ()
    listen: tuple[str, ...] = ()
    until: tuple[Any, ...] = ()
    retries: Any = None
    delay: Any = None
    changed_when: tuple[Any, ...] | None = None
    failed_when: tuple[Any, ...] | None = None
    async_: Any = None
    poll: Any = None
    spans: Mapping[str, Span] = field(default_factory=dict)
    role: RoleSource | None = None
    implicit: bool = False
    """True for tasks nobody wrote, such as gathering facts."""

    @property
    def label(self) -> str:
        """The name to show: the task's own, else the action as written."""
        return self.name if self.name is not None else self.written

    def span_of(self, *keys: str) -> Span:
        """The place of a keyword (``span_of("when")``) or argument (``span_of("args", "mode")``), else of the task."""
        for depth in range(len(keys), 0, -1):
            found = self.spans.get(".".join(keys[:depth]))
            if found is not None:
                return found
        return self.span


@dataclass(frozen=True)
class Block:
    """A ``block:`` or what a static import or a role stands for: tasks that share directives."""

    tasks: tuple[Entry, ...]
    rescue: tuple[Entry, ...] = ()
    always: tuple[Entry, ...] = ()
    name: str | None = None
    directives: Directives = Directives()
    span: Span = NOWHERE
    role: RoleSource | None = None
    """Set when this block is the body of a role: the role's defaults, vars and params hold inside."""
    imported: Role | None = None
    """Set when this block is an ``import_role``: the role, whose handlers belong to the play."""


Entry: TypeAlias = "Task | Block"
"""An item of a task list. A handler is a Task whose ``listen`` topics and name can be notified."""


@dataclass(frozen=True)
class RoleSource:
    """One use of a role: where it lives, what it brings and the parameters it was given here.

    ``defaults`` and ``vars`` are the merged, raw contents of its files (``origins`` names the file of each variable).
    Two uses of one role are equal when path and params are equal; without ``allow_duplicates`` the second is not run.
    """

    name: str
    path: Path
    defaults: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    collection: str | None = None
    parents: tuple[str, ...] = ()
    """Names of the roles that pulled this one in, outermost first."""
    dependencies: tuple[str, ...] = ()
    needs: tuple[RoleSource, ...] = field(default=(), repr=False)
    """The roles it depends on, and what those depend on before them."""
    allow_duplicates: bool = False
    public: bool = True
    """False for ``include_role`` without ``public``: its defaults and vars end with it."""
    key: str = ""
    """What else tells two uses apart: parameters, conditions, tags, variables and files. Without ``allow_duplicates`` a second use of
    the same ``path`` and ``key`` is not run."""

    def __hash__(self) -> int:
        return hash((self.name, self.path))


@dataclass(frozen=True)
class Role:
    """A loaded role: its source, the block of its tasks (dependencies first, each a Block of its own) and its handlers."""

    source: RoleSource
    body: Block
    handlers: tuple[Entry, ...] = ()
    dependencies: tuple[Role, ...] = ()

    def with_dependencies(self) -> Iterator[Role]:
        """The roles it needs, deepest first, then itself."""
        for role in self.dependencies:
            yield from role.with_dependencies()
        yield self


@dataclass(frozen=True)
class Play:
    """One play; ``hosts`` and everything templated is raw. ``roles`` are loaded; their bodies run between pre_tasks and tasks."""

    hosts: Any
    span: Span = NOWHERE
    name: str | None = None
    directives: Directives = Directives()
    gather_facts: Any = None
    gather_subset: Any = None
    gather_timeout: Any = None
    fact_path: Any = None
    strategy: Any = None
    serial: tuple[Any, ...] = ()
    order: Any = None
    max_fail_percentage: Any = None
    force_handlers: Any = None
    vars_files: tuple[Any, ...] = ()
    vars_prompt: tuple[Mapping[str, Any], ...] = ()
    pre_tasks: tuple[Entry, ...] = ()
    roles: tuple[Role, ...] = ()
    tasks: tuple[Entry, ...] = ()
    post_tasks: tuple[Entry, ...] = ()
    handlers: tuple[Entry, ...] = ()
    imported_roles: tuple[Role, ...] = ()
    """Roles that ``import_role`` brought into the task lists; their handlers come after all others."""
    folder: Path = Path()
    """The folder of the playbook file: base of relative paths."""
    spans: Mapping[str, Span] = field(default_factory=dict)

    def every_role(self) -> Iterator[Role]:
        """All roles of the play, dependencies before the role that needs them: those of ``roles:``, then imported ones."""
        for role in (*self.roles, *self.imported_roles):
            yield from role.with_dependencies()

    @property
    def label(self) -> str:
        """The name to show: the play's own, else its hosts pattern."""
        if self.name:
            return self.name
        return ",".join(map(str, self.hosts)) if isinstance(self.hosts, (list, tuple)) else str(self.hosts)


@dataclass(frozen=True)
class Playbook:
    """All plays of one file, imported playbooks unfolded in place; ``files`` are all files it was read from."""

    path: Path
    plays: tuple[Play, ...]
    files: tuple[Path, ...] = ()


def walk(entries: tuple[Entry, ...]) -> Iterator[Task]:
    """Every task below, blocks opened: tasks, then rescue, then always."""
    for entry in entries:
        if isinstance(entry, Block):
            yield from walk(entry.tasks)
            yield from walk(entry.rescue)
            yield from walk(entry.always)
        else:
            yield entry
