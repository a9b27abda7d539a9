"""``include_tasks`` and ``include_role``: what they name is loaded when a host gets there, and walked in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.engine.clocks import FIRST, Place
from provisioner.engine.inherit import EMPTY, Inherited
from provisioner.engine.jobs import Item
from provisioner.engine.outcome import Outcome
from provisioner.engine.signals import RoleEnds
from provisioner.engine.state import place_text
from provisioner.engine.task import TaskLife
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError, ProvisionError
from provisioner.playbook.model import Directives, Entry, Role, Task
from provisioner.playbook.normalization import texts
from provisioner.playbook.roles import Sources
from provisioner.values import Unknown, UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.actions.call import Call
    from provisioner.engine.walk import HostWalk

_DIRECTIVES = {item.name for item in fields(Directives)}


class IncludeLife(TaskLife):
    """An include as a task: ``when``, loop and arguments as everywhere; what it loads is walked afterwards."""

    def __init__(self, walk: HostWalk, task: Task, inherited: Inherited, place: Place, handler: str | None) -> None:
        super().__init__(walk, task, inherited, place, handler)
        from provisioner.engine.actions import Action

        self.loaded: dict[int, tuple[Item, tuple[Entry, ...], Role | None, Path | None]] = {}
        self.action = Action("", reads_files=True, free=True)

    def perform(self, call: Call) -> Outcome:
        """Load what the include names; as in Ansible ``ignore_errors`` does not help where that is not there."""
        try:
            return self._role(call) if self.task.action == "include_role" else self._tasks(call)
        except ProvisionError:
            call.item.job.tolerated = False
            raise

    def _tasks(self, call: Call) -> Outcome:
        name = call.given("file", "_raw_params")
        if isinstance(name, Unknown):
            raise UnknownValueError(name)
        if not name:
            raise InputError.of(f"{self.task.written} names no file", self.task.span_of("args"))
        loader, role = self.walk.run.loader, self.inherited.role
        entries = loader.load_tasks(
            str(name),
            near=self.task.span.file,
            folder=self.walk.play.play.folder,
            role=role,
            handlers=self.handler is not None,
            collections=self.inherited.directives.collections,
            notify=self._notified(),
            span=self.task.span_of("args"),
        )
        file = _file_of(entries)
        self.loaded[call.item.index] = (call.item, entries, None, Path(file).parent if file else None)
        return Outcome.ok(include=str(name), include_args=_given(call, "file", "_raw_params"))

    def _role(self, call: Call) -> Outcome:
        name = call.given("name", "role")
        if isinstance(name, Unknown):
            raise UnknownValueError(name)
        if not name:
            raise InputError.of("include_role names no role", self.task.span_of("args"))
        role = self.walk.run.loader.load_role(
            str(name),
            near=self.task.span.file,
            folder=self.walk.play.play.folder,
            role=self.inherited.role,
            public=as_bool(call.given("public", default=self.walk.run.loader.context.private_role_vars is False), "public"),
            allow_duplicates=as_bool(call.given("allow_duplicates", default=True), "allow_duplicates"),
            validate=as_bool(call.given("rolespec_validate", default=True), "rolespec_validate"),
            collections=self.inherited.directives.collections,
            notify=self._notified(),
            span=self.task.span_of("args", "name"),
            sources=Sources.of(call.written),
        )
        self.loaded[call.item.index] = (call.item, (role.body,), role, None)
        return Outcome.ok(include_args=_given(call))

    def _notified(self) -> tuple[Any, ...]:
        """What ``apply`` lets every task inside notify."""
        apply = self.task.args.get("apply")
        return texts(apply.get("notify")) if isinstance(apply, Mapping) else ()


def include_tasks(walk: HostWalk, task: Task, inherited: Inherited, place: Place, handler: str | None) -> None:
    """Carry out ``include_tasks`` or ``include_role``."""
    from provisioner.engine.meetings import run_task

    life = IncludeLife(walk, task, inherited, place, handler)
    run_task(walk, life)
    for index in sorted(life.loaded):
        item, entries, role, beside = life.loaded[index]
        _walk(walk, life, item, entries, role, beside)


include_role = include_tasks


def _walk(walk: HostWalk, life: IncludeLife, item: Item, entries: tuple[Entry, ...], role: Role | None, beside: Path | None) -> None:
    outer = life.inherited.outer or life.inherited
    apply = item.scope.render(life.task.args.get("apply")) if life.task.args.get("apply") else None
    inner = outer.included(_applied(apply, life.task), life.task.directives.vars, beside, item.maybe)
    if role is not None:
        walk.play.handlers.add_role(role, walk.play.shared.inherited)
        if role.source.public:
            walk.roles.public.append(role.source)
    variables = _loop_variables(walk, life, item)
    try:
        with walk.with_variables(variables), walk.handling(life.handler):
            walk.entries(entries, inner, (*life.place, FIRST + item.index))
    except RoleEnds as signal:
        if role is None or signal.role is not role.source:
            raise


def _given(call: Call, *left_out: str) -> dict[str, Any]:
    """What the include was told, as Ansible keeps it in the result."""
    given = {name: call.written.get(name, value) for name, value in call.task.args.items() if name not in left_out}
    return {**given, "apply": call.task.args["apply"]} if "apply" in given else given


def _loop_variables(walk: HostWalk, life: IncludeLife, item: Item) -> dict[str, Any]:
    """The loop variables that tasks inside see; an inner loop over the same name is worth a warning."""
    loop = life.task.loop
    if loop is None or not item.extra:
        return {}
    variables = dict(item.extra)
    walk.loop_origins[loop.control.loop_var] = place_text(life.task.span)
    return variables


def warn_of_inner_loop(walk: HostWalk, task: Task) -> None:
    """A loop inside a looped include uses the same variable: the inner value hides the outer one in that task."""
    loop = task.loop
    if loop is None or loop.control.loop_var not in walk.overlay:
        return
    name = loop.control.loop_var
    walk.run.notes.warn(
        f"the loop variable {name!r} is in use by the include at {walk.loop_origins.get(name, '?')} already",
        task.span_of("loop"),
        why=f"in this task {name!r} is the inner item; after it the outer one again",
        help="give one of the loops another name with loop_control: loop_var",
    )


def _applied(apply: Any, task: Task) -> Directives:
    """The keywords of ``apply``."""
    if not apply:
        return EMPTY
    if not isinstance(apply, Mapping):
        raise InputError.of("apply takes a mapping of keywords", task.span_of("args", "apply"))
    unknown = set(apply) - _DIRECTIVES - {"notify"}
    if unknown:
        raise InputError.of(f"apply knows no keyword {', '.join(map(repr, sorted(unknown)))}", task.span_of("args", "apply"))
    values = {name: value for name, value in apply.items() if name != "notify"}
    for name in ("when", "tags", "environment", "module_defaults", "collections"):
        if name in values:
            value = values[name]
            values[name] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return Directives(**values)


def _file_of(entries: tuple[Entry, ...]) -> str:
    return entries[0].span.file if entries else ""
