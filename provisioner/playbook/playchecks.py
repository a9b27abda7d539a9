"""What only shows over a whole play: handlers that do not exist, files that includes name, loop variables that hide each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Diagnostics, did_you_mean
from provisioner.playbook.arguments import RAW, has_template
from provisioner.playbook.files import first_file, missing, task_file_candidates
from provisioner.playbook.model import Block, Entry, Play, Role, Task, walk
from provisioner.playbook.roles import Sources, Use
from provisioner.playbook.scope import Scope

if TYPE_CHECKING:
    from provisioner.playbook.loader import Loader

_ALIKE = 0.8
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


@dataclass
class Reached:
    """What the literal includes of a play lead to. ``open``: something is included whose name is only known during the run."""

    entries: list[Entry] = field(default_factory=list)
    roles: list[Role] = field(default_factory=list)
    handlers: list[Entry] = field(default_factory=list)
    open: bool = False


def check_play(play: Play, loader: Loader) -> None:
    """Follow literal includes, then check what tasks notify."""
    reached = followed(loader)
    everything = [*play.pre_tasks, *play.tasks, *play.post_tasks, *play.handlers, *reached.entries]
    for role in (*play.every_role(), *reached.roles):
        everything += [role.body, *role.handlers]
    names = _HandlerNames(open=reached.open)
    for role in (*play.every_role(), *reached.roles, *loader.imported_roles):
        names.add(role.handlers)
    names.add([*play.handlers, *reached.handlers])
    check_notify(walk(tuple(everything)), names, loader, certain=True, why=f"the play {play.label!r} at {play.span} has none of this name")


# includes --------------------------------------------------------------------------------------------------------------------------


def followed(loader: Loader) -> Reached:
    """Load what literal includes name, and what that includes in turn."""
    reached = Reached()
    seen: set[tuple[Any, ...]] = set()
    position = 0
    while position < len(loader.tasks.includes):
        task, inner = loader.tasks.includes[position]
        position += 1
        if not loader.context.follow_includes:
            reached.open = True
        elif task.action == "include_role":
            _follow_role(task, inner, loader, reached, seen)
        else:
            _follow_tasks(task, inner, loader, reached, seen)
    reached.open = reached.open or loader.roles.missed
    return reached


def _follow_tasks(task: Task, scope: Scope, loader: Loader, reached: Reached, seen: set[tuple[Any, ...]]) -> None:
    name = task.args.get(RAW, task.args.get("file"))
    if not isinstance(name, str) or has_template(name) or task.args_template:
        reached.open = True
        return
    candidates = task_file_candidates(name.strip(), scope.file, scope.folder, scope.role.path if scope.role else None)
    path = first_file(candidates)
    if path is None:
        certain = scope.sure and not scope.tolerated
        missing("file of tasks", name.strip(), candidates, task.span_of("args"), loader.context.diagnostics, certain=certain)
        return
    key = (path, id(scope.role), scope.handlers)
    if key in seen:
        return
    seen.add(key)
    inner = replace(scope, sure=scope.sure and not _doubtful(task)).entering(str(path))
    what = "handlers" if scope.handlers else "tasks"
    remembered = ("tasks", str(path), id(scope.role), scope.handlers, inner.sure, inner.tolerated, str(scope.folder), str(scope.defaults))

    def load() -> tuple[Entry, ...]:
        document = loader.files.document(path)
        return loader.tasks.entries(document.data, document.places, inner, what)

    with _doubts(loader, not inner.sure):
        entries = loader.once(remembered, load)
    reached.entries += entries
    if scope.handlers:
        reached.handlers += entries
    _clobbered(task, entries, loader)


@contextmanager
def _doubts(loader: Loader, doubtful: bool) -> Iterator[None]:
    """What is wrong with a file that may never be included does not keep the run from starting."""
    outer = loader.context.diagnostics
    if not doubtful:
        yield
        return
    mine = loader.context.diagnostics = Diagnostics()
    try:
        yield
    finally:
        loader.context.diagnostics = outer
        for item in mine:
            outer.add(item if item.severity != "error" else replace(item, severity="warning"))


def _follow_role(task: Task, scope: Scope, loader: Loader, reached: Reached, seen: set[tuple[Any, ...]]) -> None:
    name = task.args.get("name", task.args.get("role"))
    sources = Sources.of(task.args)
    if not isinstance(name, str) or has_template(name) or has_template(list(sources)) or task.args_template:
        reached.open = True
        return
    path, _, _ = loader.roles.find(name, scope)
    key = (path or name, sources, id(scope.role))
    if key in seen:
        return
    seen.add(key)
    if path is None and not (scope.sure and not scope.tolerated):
        help_ = did_you_mean(name, loader.roles.names(scope))
        loader.context.diagnostics.warning(f"there is no role {name!r}", task.span_of("args"), help=help_, code="missing-role")
        return
    if f"role {path}:{sources.tasks}" in scope.chain:
        return  # an include may lead back to where it stands: whether it does, its condition decides
    role = loader.roles.load(Use(name, task.span, directives=task.directives, sources=sources), scope)
    if role is not None:
        reached.roles += list(role.with_dependencies())
        reached.entries.append(role.body)
        _clobbered(task, role.body.tasks, loader)


def _doubtful(task: Task) -> bool:
    return bool(task.directives.when) or task.loop is not None


def _clobbered(include: Task, entries: Iterable[Entry], loader: Loader) -> None:
    """Warn where a loop inside an included file takes the loop variable of the include."""
    if include.loop is None:
        return
    name = include.loop.control.loop_var
    for task in walk(tuple(entries)):
        if task.loop is not None and task.loop.control.loop_var == name:
            loader.context.diagnostics.warning(
                f"the loop here hides {name!r} of the loop at {include.span}",
                task.span_of("loop") if task.loop.lookup is None else task.span_of(f"with_{task.loop.lookup}"),
                why="both loops use the same variable; inside, only the inner item can be seen",
                help="give one of them another name with loop_control: {loop_var: ...}",
                code="loop-variable",
            )
            return


# handlers --------------------------------------------------------------------------------------------------------------------------


@dataclass
class _HandlerNames:
    """Everything that ``notify`` may name. ``open``: more handlers may turn up during the run."""

    names: set[str] = field(default_factory=set)
    patterns: list[re.Pattern[str]] = field(default_factory=list)
    open: bool = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Handlers, and what is inside blocks and imports of handlers."""
        for entry in entries:
            if isinstance(entry, Block):
                self.add((*entry.tasks, *entry.rescue, *entry.always))
                continue
            own = [*entry.listen, *([] if entry.name is None else [entry.name])]
            qualified = list(own)
            if entry.role is not None:
                qualified += [f"{entry.role.name} : {name}" for name in own]
                if entry.role.collection:
                    qualified += [f"{entry.role.collection}.{entry.role.name} : {name}" for name in own]
            for name in qualified:
                if has_template(name):
                    self.patterns.append(re.compile(".*".join(re.escape(part) for part in _TEMPLATE.split(name)), re.DOTALL))
                else:
                    self.names.add(name)

    def knows(self, name: str) -> bool:
        """Whether a handler or topic of this name exists, or may."""
        return name in self.names or any(pattern.fullmatch(name) for pattern in self.patterns)


def check_notify(tasks: Iterator[Task], names: _HandlerNames, loader: Loader, *, certain: bool, why: str = "") -> None:
    """Report what is notified and exists nowhere. Silent where includes with unknown names may bring handlers.

    ``certain=False``: there may be handlers elsewhere, so only what looks like a misspelt name is reported, as a warning.
    """
    if names.open:
        return
    seen: set[tuple[str, object]] = set()
    for task in tasks:
        for name in task.notify:
            if not isinstance(name, str) or has_template(name) or names.knows(name) or (name, task.span) in seen:
                continue
            seen.add((name, task.span))
            if not certain and not get_close_matches(name, names.names, 1, _ALIKE):
                continue
            help_ = did_you_mean(name, names.names) or "define it under handlers:, or correct the name"
            report = loader.context.diagnostics.error if certain else loader.context.diagnostics.warning
            report(f"no handler is called {name!r}", task.span_of("notify"), why=why, help=help_, code="unknown-handler")


def handler_names(roles: Iterable[Role], entries: Iterable[Entry], *, open: bool = False) -> _HandlerNames:
    """The names that these roles and handlers offer."""
    names = _HandlerNames(open=open)
    for role in roles:
        names.add(role.handlers)
    names.add(entries)
    return names
