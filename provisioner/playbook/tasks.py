"""Entries of a task list: tasks and blocks from plain data, with everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Protocol

from provisioner.diagnostics import did_you_mean
from provisioner.playbook import keywords
from provisioner.playbook.actions import Action, ActionReader, Call
from provisioner.playbook.arguments import has_template
from provisioner.playbook.checks import TaskChecks
from provisioner.playbook.model import Block, Entry, Task
from provisioner.playbook.normalization import (
    Reporter,
    directives,
    keyword_value,
    loop_of,
    texts,
    unknown,
    unknown_block_keys,
)
from provisioner.playbook.places import Place, TaskSpans
from provisioner.playbook.scope import LoadContext, Scope
from provisioner.schema.conversion import kind_of, shown

STATIC = ("import_tasks", "import_role")
DYNAMIC = ("include_tasks", "include_role")
_BLOCK_KEYS = ("block", "rescue", "always")
_OWN = ("register", "retries", "delay", "async", "poll", "until", "changed_when", "failed_when", "notify", "listen", "name")
_IDLE_ON_IMPORTS = ("until", "retries", "delay", "async", "poll")
_ALIKE = 0.8
"""How much a word must look like a keyword to be taken for a misspelt one rather than for a module."""
_NOT_AS_HANDLER = ("import_role", "include_role")


class Imports(Protocol):
    """Carries out static imports."""

    def imported(self, task: Task, scope: Scope, report: Reporter) -> Entry | None:
        """The block that stands for an import, or None after reporting why there is none."""
        ...


@dataclass
class TaskReader:
    """Reads task lists; ``includes`` collects the dynamic includes met, with their surroundings."""

    context: LoadContext
    actions: ActionReader
    checks: TaskChecks
    imports: Imports
    includes: list[tuple[Task, Scope]] = field(default_factory=list)

    def entries(self, data: Any, place: Place, scope: Scope, what: str = "tasks") -> tuple[Entry, ...]:
        """A list of tasks and blocks; None is an empty one."""
        if data is None:
            return ()
        report = Reporter(self.context.diagnostics, scope.file, place, scope.tolerated)
        if not isinstance(data, list):
            help_ = "put '- ' before each entry"
            report.error(f"{what} must be a list, not {kind_of(data)}", report.at(), help=help_, code="task-list")
            return ()
        found = []
        for index, item in enumerate(data):
            entry = self.entry(item, report.within(index), scope)
            if entry is not None:
                found.append(entry)
                if _ends_all(entry):
                    scope = scope.inside(doubtful=True)
        return tuple(found)

    def entry(self, data: Any, report: Reporter, scope: Scope) -> Entry | None:
        """One task or block; None after reporting that it is neither."""
        if not isinstance(data, dict):
            why = "an entry of a task list is a mapping with an action" if data is not None else "an entry is empty"
            report.error(f"not a task: {shown(data)}", report.at(), why=why, code="task-list")
            return None
        if any(key in data for key in _BLOCK_KEYS):
            return self._block(data, report, scope)
        return self._task(data, report, scope)

    def _block(self, data: dict[Any, Any], report: Reporter, scope: Scope) -> Block:
        unknown_block_keys(data, report)
        if "block" not in data and (data.get("rescue") or data.get("always")):
            report.error("rescue and always need a block", report.at(), help="add 'block:' with the tasks to watch", code="block")
        shared = directives(data, report, defaults=self.actions.defaults)
        notify = keyword_value(keywords.KEYWORDS["notify"], data.get("notify"), report) or ()
        inner = scope.inside(
            shared.vars,
            doubtful=bool(shared.when) or "never" in shared.tags,
            tolerated=_copes(shared.ignore_errors),
            notify=tuple(notify),
            collections=shared.collections,
            defaults=shared.module_defaults,
        )
        parts = {}
        for key in _BLOCK_KEYS:
            around = inner.inside(tolerated=bool(data.get("rescue"))) if key == "block" else inner
            around = around.inside(doubtful=key == "rescue")
            parts[key] = self.entries(data.get(key), report.within(key).place, around, key)
        name = keyword_value(keywords.KEYWORDS["name"], data.get("name"), report)
        return Block(parts["block"], parts["rescue"], parts["always"], name, shared, report.at(), None)

    def _task(self, data: dict[Any, Any], report: Reporter, scope: Scope) -> Entry | None:
        call = self._call(data, report, scope)
        if call is None:
            return None
        action = self.actions.read(call, data, report, scope)
        if action is None:
            return None
        task = self._assembled(data, action, report, scope)
        if action.name in STATIC:
            self._import_keywords(data, action, report)
            if scope.handlers and action.name in _NOT_AS_HANDLER:
                self._not_a_handler(action, report)
                return None
            return self.imports.imported(task, scope, report)
        inner = self._inside(task, scope)
        if action.name in DYNAMIC:
            if scope.handlers and action.name in _NOT_AS_HANDLER:
                self._not_a_handler(action, report)
                return None
            if action.written.rpartition(".")[2] in DYNAMIC:  # the old include took every keyword
                self._include_keywords(data, action, report)
            self.includes.append((task, inner))
        self.checks.task(task, action, inner)
        return task

    def _inside(self, task: Task, scope: Scope) -> Scope:
        shared = task.directives
        return scope.inside(
            shared.vars,
            doubtful=bool(shared.when) or "never" in shared.tags or task.loop is not None,
            tolerated=_copes(shared.ignore_errors) or task.failed_when is not None,
            defaults=shared.module_defaults,
        )

    def _call(self, data: dict[Any, Any], report: Reporter, scope: Scope) -> Call | None:
        """The key of a task that is its action; every other key must be a keyword."""
        known = keywords.HANDLER if scope.handlers else keywords.TASK
        candidates = []
        for key in data:
            if key in known:
                if key in ("action", "local_action"):
                    candidates.append(key)
            elif not (isinstance(key, str) and self._is_loop(key)):
                candidates.append(key)
        if len(candidates) == 1 and self.actions.is_action(candidates[0], scope):
            return Call(candidates[0], data[candidates[0]])
        return self._doubtful_call(candidates, data, known, report, scope)

    def _is_loop(self, key: str) -> bool:
        if not key.startswith("with_"):
            return False
        lookups = self.context.lookups
        return lookups is None or key[len("with_") :] in lookups or "." in key

    def _doubtful_call(
        self, candidates: list[Any], data: dict[Any, Any], known: Mapping[str, keywords.Keyword], report: Reporter, scope: Scope
    ) -> Call | None:
        """Sort out a task with no action, several, or one that is not known."""
        if not candidates:
            help_ = "name a module, e.g. 'ansible.builtin.command: uptime'"
            report.error("this task has no action", report.at(), help=help_, code="no-action")
            return None
        actions = [key for key in candidates if self.actions.is_action(key, scope)]
        if len(actions) > 1:
            message = f"two actions in one task: {actions[0]} and {actions[1]}"
            report.error(message, report.at(actions[1]), why="a task does one thing", help="make it two tasks", code="two-actions")
            return None
        if actions:
            for key in candidates:
                if key is not actions[0]:
                    unknown(str(key), known, report, "a handler" if scope.handlers else "a task")
            return Call(actions[0], data[actions[0]])
        if len(candidates) == 1:
            return self._unknown_action(candidates[0], data, known, report, scope)
        for key in candidates:
            self._neither(str(key), known, report)
        return None

    def _unknown_action(
        self, key: Any, data: dict[Any, Any], known: Mapping[str, keywords.Keyword], report: Reporter, scope: Scope
    ) -> Call | None:
        name = str(key)
        if not self.actions.exists_elsewhere(name) and (
            keywords.misplaced(name) or name in keywords.REMOVED or get_close_matches(name, known, 1, _ALIKE)
        ):
            unknown(name, known, report, "a handler" if scope.handlers else "a task")
            return None
        if self.actions.unsupported(name, data, report, scope):
            return Call(name, data[key])
        return None

    def _neither(self, name: str, known: Mapping[str, keywords.Keyword], report: Reporter) -> None:
        help_ = did_you_mean(name, known) or self.context.registry.nearest(name)
        where = keywords.misplaced(name)
        why = f"it belongs to {where}" if where else ""
        report.error(f"{name!r} is neither a module nor a keyword of tasks", report.at(name), why=why, help=help_, code="unknown-keyword")

    def _import_keywords(self, data: dict[Any, Any], action: Action, report: Reporter) -> None:
        dynamic = action.name.replace("import", "include")
        why = "an import is carried out once, before the run"
        for key in data:
            if key == "loop" or str(key).startswith("with_"):
                report.error(f"{key} cannot be used with {action.written}", report.at(key), why=why, help=f"use {dynamic}", code="import")
            elif key in _IDLE_ON_IMPORTS:
                report.warning(f"{key} does nothing at {action.written}", report.at(key), why=why, help="leave it out", code="import")

    def _include_keywords(self, data: dict[Any, Any], action: Action, report: Reporter) -> None:
        for key in data:
            if key in keywords.KEYWORDS and key not in keywords.INCLUDE:
                applied = key in keywords.BLOCK
                help_ = f"use apply: {{{key}: …}} among its arguments" if applied else f"move {key} to the tasks of the file"
                why = "it would have to hold for the included tasks, not for the include itself"
                report.error(f"{key} cannot be used with {action.written}", report.at(key), why=why, help=help_, code="include")

    def _not_a_handler(self, action: Action, report: Reporter) -> None:
        help_ = "put the handlers of that role into the play by roles:, or use include_tasks"
        report.error(f"{action.written} cannot be a handler", report.at(action.key), help=help_, code="handler")

    def _assembled(self, data: dict[Any, Any], action: Action, report: Reporter, scope: Scope) -> Task:
        shared = directives(data, report, defaults=self.actions.defaults)
        if action.local and shared.delegate_to is None:
            shared = replace(shared, delegate_to="localhost")
        own: dict[str, Any] = {}
        for key in _OWN:
            if key in data:
                own[key] = keyword_value(keywords.KEYWORDS[key], data[key], report)
        changed, failed = own.get("changed_when"), own.get("failed_when")
        return Task(
            action=action.name,
            written=action.written,
            args=action.args,
            span=report.at(),
            name=own.get("name"),
            args_template=action.args_template,
            directives=shared,
            loop=loop_of(data, report),
            register=own.get("register"),
            notify=(*scope.notify, *texts(own.get("notify"))),
            listen=tuple(str(topic) for topic in own.get("listen") or ()),
            until=own.get("until") or (),
            retries=own.get("retries"),
            delay=own.get("delay"),
            changed_when=changed,
            failed_when=failed,
            async_=own.get("async"),
            poll=own.get("poll"),
            spans=TaskSpans(report.file, report.place, action.key),
            role=scope.role,
        )


def _ends_all(entry: Entry) -> bool:
    """Whether what stands behind this entry is never reached: an unconditional ``fail`` or ``meta: end_play``."""
    if not isinstance(entry, Task) or entry.directives.when or entry.failed_when is not None or _copes(entry.directives.ignore_errors):
        return False
    return entry.action == "fail" or (entry.action == "meta" and entry.args.get("_raw_params") == "end_play")


def _copes(ignore_errors: Any) -> bool:
    """Whether ``ignore_errors`` may hold."""
    return ignore_errors is True or has_template(ignore_errors) or isinstance(ignore_errors, str)
