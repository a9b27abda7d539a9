"""How a step is run: as whom, with which environment and deadline, really or on trial; from the directives that hold for its task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provisioner.engine.expressions import Expressions, Scope
from provisioner.engine.inherit import Inherited, mentions
from provisioner.engine.options import Options
from provisioner.engine.truth import as_bool, as_number
from provisioner.errors import InputError
from provisioner.playbook.model import Directives, Task
from provisioner.ports import Background
from provisioner.templating.failures import UndefinedVariable


@dataclass(frozen=True)
class BecomeSettings:
    """As whom a step runs; ``wanted`` False means as the login user, and the rest says how to become root if others want that."""

    wanted: bool = False
    user: str = "root"
    method: str = "sudo"
    flags: str = ""
    exe: str = ""
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class StepSettings:
    """Everything of a step that is not its module and parameters."""

    become: BecomeSettings = BecomeSettings()
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    diff: bool = False
    quiet: bool = False
    trial: bool = False
    real: bool = False
    background: Background | None = None
    poll: float = 0.0
    """Seconds between two looks at a step in the background; 0: nobody looks."""
    async_dir: str = ""


def step_settings(task: Task, inherited: Inherited, scope: Scope, expressions: Expressions, options: Options) -> StepSettings:
    """The settings for one item of a task."""
    directives = inherited.directives

    def rendered(name: str) -> Any:
        return keyword(inherited, name, scope, task)

    check = rendered("check_mode")
    timeout = rendered("timeout")
    folder = str(scope.lookup("ansible_async_dir", options.async_dir))
    diff = rendered("diff")
    return StepSettings(
        become=_become(rendered, scope, options),
        environment=_environment(task, directives, scope, expressions),
        timeout=options.task_timeout if timeout is None else as_number(timeout, "timeout") or None,
        diff=options.diff if diff is None else as_bool(diff, "diff"),
        quiet=task.changed_when is not None and is_never(task.changed_when),
        trial=check is not None and as_bool(check, "check_mode"),
        real=check is not None and not as_bool(check, "check_mode"),
        background=_background(task, scope, folder),
        poll=_poll(task, scope, options),
        async_dir=folder,
    )


def keyword(inherited: Inherited, name: str, scope: Scope, task: Task | None = None) -> Any:
    """A keyword's value at a place; one that is left out by ``omit`` is what it is outside."""
    raw = getattr(inherited.directives, name)
    if not isinstance(raw, str):
        return raw
    value = scope.render(raw, task.span_of(name) if task is not None else None)
    if value is not scope.omit:
        return value
    outer = inherited.outer
    while outer is not None and getattr(outer.directives, name) == raw:
        outer = outer.outer
    return None if outer is None else keyword(outer, name, scope, task)


def _background(task: Task, scope: Scope, folder: str) -> Background | None:
    """``async``: seconds that the step may go on by itself; 0 is no background at all."""
    if task.async_ is None:
        return None
    value = scope.render(task.async_, task.span_of("async"))
    seconds = 0.0 if value is scope.omit else as_number(value, "async")
    return Background(seconds, folder) if seconds > 0 else None


def _poll(task: Task, scope: Scope, options: Options) -> float:
    value = None if task.poll is None else scope.render(task.poll, task.span_of("poll"))
    return options.poll_interval if value is None or value is scope.omit else as_number(value, "poll")


def is_never(conditions: tuple[Any, ...]) -> bool:
    """Whether the conditions are literally false."""
    return any(
        condition is False or (isinstance(condition, str) and condition.strip().lower() in ("false", "no")) for condition in conditions
    )


def _become(rendered: Any, scope: Scope, options: Options) -> BecomeSettings:
    """Variables win over keywords, keywords over the command line."""

    def pick(keyword: str, default: Any, *variables: str) -> Any:
        for name in variables:
            value = scope.lookup(name, None)
            if value is not None:
                return value
        value = rendered(keyword) if keyword else None
        return default if value is None else value

    wanted = as_bool(pick("become", options.become, "ansible_become"), "become")
    return BecomeSettings(
        wanted,
        str(pick("become_user", options.become_user, "ansible_become_user") or "root"),
        str(pick("become_method", options.become_method, "ansible_become_method")).rpartition(".")[2],
        str(pick("become_flags", options.become_flags, "ansible_become_flags") or ""),
        str(pick("become_exe", options.become_exe, "ansible_become_exe") or ""),
        pick("", options.become_password, "ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"),
    )


def _environment(task: Task, directives: Directives, scope: Scope, expressions: Expressions) -> dict[str, str]:
    merged: dict[str, str] = {}
    for raw in directives.environment:
        try:
            part = expressions.render(raw, scope, task.span_of("environment"))
        except UndefinedVariable:
            if task.action not in ("setup", "gather_facts") or not isinstance(raw, Mapping):
                raise
            part = _known_so_far(task, raw, scope, expressions)
        if part is scope.omit:
            continue
        for mapping in part if isinstance(part, (list, tuple)) else (part,):
            if not mapping or mapping is scope.omit:
                continue
            if not isinstance(mapping, Mapping):
                raise InputError.of(f"environment must be a mapping, not {type(mapping).__name__}", task.span_of("environment"))
            merged.update({str(name): _text(value) for name, value in mapping.items() if value is not scope.omit})
    return merged


def _known_so_far(task: Task, raw: Mapping[str, Any], scope: Scope, expressions: Expressions) -> dict[str, Any]:
    """The environment of a play may be made of facts (``PATH: "{{ ansible_env.PATH }}:/opt/bin"``); while they are read, the rest holds."""
    known: dict[str, Any] = {}
    for name, value in raw.items():
        try:
            known[name] = expressions.render(value, scope, task.span_of("environment"))
        except UndefinedVariable:
            if not mentions(value, ("ansible_env", "ansible_facts")):
                raise
    return known


def _text(value: Any) -> str:
    return "" if value is None else str(value)
