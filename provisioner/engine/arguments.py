"""The arguments of a task on a host: rendered, with defaults from ``module_defaults``, checked against the module's declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Diagnostics, Span
from provisioner.engine.contents import find_file
from provisioner.engine.jobs import Item, Job
from provisioner.engine.state import HostState
from provisioner.errors import InputError, ProvisionError
from provisioner.playbook.model import Task
from provisioner.schema.convert import coerce
from provisioner.schema.fields import fields_of
from provisioner.values import Unknown, UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.walk import HostWalk

BUILTIN = "ansible.builtin"


def arguments_of(walk: HostWalk, item: Item) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments as rendered, and the parameters they make. Raises ``InputError`` with all that is wrong with them."""
    task = item.job.task
    rendered = render_arguments(item)
    defaults = module_defaults(walk, item)
    if defaults:
        rendered = {**defaults, **rendered}
    action = walk.run.action(task)
    if action is not None and action.free:
        return rendered, rendered
    info = walk.run.module(task)
    if not info.declared:
        return rendered, rendered
    module = info.module

    def place(name: str) -> Span | None:
        return task.span_of("args", name)

    params, problems = coerce(module, rendered, place, defaults=action is not None)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise InputError(Diagnostics(errors))
    for problem in problems:
        walk.run.notes.warn(problem.message, problem.span, why=problem.why, help=problem.help)
    for name, field in fields_of(module.params).items():
        value = params.get(name)
        if field.secret and isinstance(value, str):
            walk.run.options.secrets.add(value)
        if field.type == "file" and isinstance(value, str):
            params[name] = walk.run.contents.file(find_file(item.scope.paths, "files", value, task.span_of("args", name), task.span.file))
    return rendered, params


def render_arguments(item: Item) -> dict[str, Any]:
    """The arguments with their templates replaced and omitted ones gone."""
    task, scope = item.job.task, item.scope
    rendered: dict[str, Any] = {}
    if task.args_template is not None:
        whole = scope.render(task.args_template, task.span_of("args"))
        if isinstance(whole, Unknown):
            raise UnknownValueError(whole)
        if not isinstance(whole, Mapping):
            raise InputError.of(f"the arguments must be a mapping, not {type(whole).__name__}", task.span_of("args"))
        rendered.update({str(name): value for name, value in whole.items() if value is not scope.omit})
    if task.args:
        rendered.update(scope.render(task.args, task.span, spans=task.spans, at="args"))
    return rendered


def module_defaults(walk: HostWalk, item: Item) -> dict[str, Any]:
    """What ``module_defaults`` gives the task's module, over what it gives its groups; an inner entry of a name replaces the outer one."""
    task = item.job.task
    found: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    names = {task.action, task.written, f"ansible.builtin.{task.action}", f"ansible.legacy.{task.action}"}
    for raw in item.job.inherited.directives.module_defaults:
        mapping = item.scope.render(raw) if isinstance(raw, str) else raw
        for layer in mapping if isinstance(mapping, (list, tuple)) else (mapping,):
            for name, defaults in (layer or {}).items():
                if name.startswith("group/"):
                    if _in_group(walk, task, name):
                        groups[name] = item.scope.render(defaults or {}, task.span)
                elif name in names:
                    found = dict(item.scope.render(defaults or {}, task.span))
    return {**{key: value for defaults in groups.values() for key, value in defaults.items()}, **found}


def _in_group(walk: HostWalk, task: Task, name: str) -> bool:
    """Whether the task's module belongs to a group that its collection, or ansible-core, declares."""
    collection, _, group = name.removeprefix("group/").rpartition(".")
    bridge = walk.run.bridge
    info = walk.run.module(task)
    return bridge is not None and info.full_name in bridge.routing.group(collection or BUILTIN, group)


def explain(error: ProvisionError, job: Job, host: HostState, keyword: str = "") -> str:
    """A failure in words: what, where when that is not the task itself, why, what to do; and where a registered name was set last."""
    first = error.diagnostics.errors[0] if isinstance(error, InputError) and error.diagnostics.errors else error.diagnostic()
    parts = [f"{keyword}: {first.message}" if keyword else first.message]
    if first.span is not None and first.span.file != job.task.span.file:
        parts[0] += f" ({first.span})"
    if isinstance(error, InputError):
        parts += [other.message for other in error.diagnostics.errors[1:]]
    parts += [text for text in (first.why, first.help) if text]
    text = "; ".join(parts)
    written = repr((job.inherited.directives.when, job.task.args, job.task.args_template, job.task.loop))
    parts = [origin for name, origin in host.origins.items() if "skipped" in origin and f"{name}." in written]
    return "; ".join([text, *parts])
