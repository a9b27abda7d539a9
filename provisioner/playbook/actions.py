"""The action of a task: which module a key means, and its arguments from text, mapping, ``args:``, ``action:`` and ``local_action:``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.diagnostics import Span
from provisioner.errors import InputError
from provisioner.node.declare import Module
from provisioner.playbook.arguments import COMMANDS, ArgumentTextError, action_and_rest, has_template, parse
from provisioner.playbook.groups import PREFIX, ActionGroups
from provisioner.playbook.normalization import Reporter
from provisioner.playbook.scope import LoadContext, Scope
from provisioner.schema.conversion import kind_of, shown
from provisioner.schema.elsewhere import is_known
from provisioner.schema.registry import ModuleInfo

FREE_FORM = COMMANDS | {
    "group_by", "import_playbook", "import_role", "import_tasks", "include", "include_role", "include_tasks", "include_vars",
    "meta", "set_fact",
}  # fmt: skip
"""Actions whose text may be a free form even where no declaration says so."""

_EXPLICIT = ("action", "local_action")
_OTHERWISE = "do it in another way, or under a condition that does not hold on these hosts"
_OUR_PREFIXES = ("ansible.builtin.", "ansible.legacy.")


@dataclass(frozen=True)
class Call:
    """The key of a task that is its action, and the value there."""

    key: str
    value: Any


@dataclass(frozen=True)
class Action:
    """A task's action, read. ``key``: the task's key that gives it; ``local``: it was a ``local_action``.

    ``broken``: the arguments could not be read, which was reported; ``args`` are not all of them.
    """

    key: str
    name: str
    written: str
    args: Mapping[str, Any]
    args_template: str | None = None
    info: ModuleInfo | None = None
    local: bool = False
    broken: bool = False


class ActionReader:
    """Reads actions; what a name means is looked up once."""

    def __init__(self, context: LoadContext) -> None:
        self._context = context
        self._declared: dict[str, Module | None] = {}
        self.groups = ActionGroups(lambda: context.registry.collections)

    def find(self, name: str, scope: Scope) -> ModuleInfo | None:
        """The module a name means here."""
        return self._context.registry.find(name, scope.collections)

    def is_action(self, key: object, scope: Scope) -> bool:
        """Whether a task's key is an action we know."""
        return isinstance(key, str) and (key in _EXPLICIT or self.find(key, scope) is not None)

    def canonical(self, name: str) -> str:
        """The name that ``Task.action`` has: ours where we have the module, else as written without ``ansible.builtin.``."""
        return self._canonical(name, self._context.registry.find(name))

    def defaults(self, written: Any, report: Reporter) -> Any:
        """``module_defaults`` by the names that ``Task.action`` has; groups become their modules, whose own defaults win."""
        if not isinstance(written, dict):
            return written
        found: dict[str, Any] = {}
        for key, value in sorted(written.items(), key=lambda item: not str(item[0]).startswith(PREFIX)):
            name = str(key)
            members = self.groups.members(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else (name,)
            if members is None:
                why = "collections declare groups under action_groups in meta/runtime.yml"
                help_ = "install its collection, or correct the name: group/NAMESPACE.COLLECTION.GROUP"
                report.error(f"there is no {name}", report.at("module_defaults"), why=why, help=help_, code="defaults-group")
                continue
            for module in map(self.canonical, members):
                known = found.get(module)
                found[module] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
        return found

    def _canonical(self, name: str, info: ModuleInfo | None) -> str:
        if info is not None:
            return info.full_name if info.origin == "collection" else info.name
        for prefix in _OUR_PREFIXES:
            if name.startswith(prefix):
                return name[len(prefix) :]
        return name

    def declaration(self, info: ModuleInfo | None) -> Module | None:
        """The declaration of a module that has one; a broken module file is reported once."""
        if info is None or not info.declared:
            return None
        key = info.full_name if info.path is None else str(info.path)
        if key not in self._declared:
            try:
                self._declared[key] = info.module
            except InputError as error:
                self._declared[key] = None
                for item in error.diagnostics:
                    self._context.diagnostics.add(item)
        return self._declared[key]

    def exists_elsewhere(self, name: str) -> bool:
        """Whether the name is that of a module of Ansible or, as far as one can tell, of a collection."""
        stripped = self._canonical(name, None)
        if self._context.registry.rejection(name):
            return True
        return stripped.count(".") >= 2 or is_known(stripped) or self._context.registry.action_plugin(stripped) is not None

    def unsupported(self, name: str, data: Mapping[str, Any], report: Reporter, scope: Scope) -> bool:
        """Report a module we do not have; True when it exists elsewhere, so that the task may stay and fail when it is reached."""
        place = report.at(name) if name in data else report.at()
        rejection = self._context.registry.rejection(name)
        if rejection:
            report.error(f"module {name!r} may not be used", place, why=rejection, help="take it off that list", code="rejected-module")
            return False
        if not self.exists_elsewhere(name):
            help_ = self._context.registry.nearest(name)
            report.error(f"unknown module {name!r}", place, help=help_, code="unknown-module")
            return False
        self._unsupported(name, self._absence(name), place, data, report, scope)
        return True

    def _absence(self, name: str) -> tuple[str, str]:
        """Why a module was not found, and what to do about it."""
        if self._context.registry.action_plugin(name) is not None:
            return "it is an action plugin of Ansible's kind, and those are not run", _OTHERWISE
        if self._context.bridge is None:
            return "it belongs to Ansible or to a collection, and has no counterpart here", _OTHERWISE
        return self._context.bridge.absence(name)

    def _unsupported(
        self, name: str, because: tuple[str, str], place: Span, data: Mapping[str, Any], report: Reporter, scope: Scope
    ) -> None:
        """A module that exists and cannot be run is an error where its task is sure to be reached."""
        message, (why, help_) = f"module {name!r} is not supported", because
        if not scope.sure or scope.tolerated or data.get("when") is not None or data.get("ignore_errors"):
            report.warning(message, place, why=f"{why}; the task fails if it is reached", help=help_, code="unsupported-module")
        else:
            report.error(message, place, why=why, help=help_, code="unsupported-module")

    def read(self, call: Call, data: Mapping[str, Any], report: Reporter, scope: Scope) -> Action | None:
        """The action with its arguments; None after reporting what is wrong."""
        written, value, inner = call.key, call.value, None
        if written in _EXPLICIT:
            explicit = self._explicit(call, report)
            if explicit is None:
                return None
            written, value, inner = explicit
        if has_template(written):
            own, template = self._arguments(value, written, True, report.value_at(call.key), report) or ({}, None)
            return Action(call.key, written, written, own, template, None, call.key == "local_action")
        info = self.find(written, scope)
        if info is None and written not in data and not self.unsupported(written, data, report, scope):
            return None
        refused = self._context.bridge.refusal(info) if info is not None and self._context.bridge is not None else None
        if refused is not None:
            self._unsupported(written, refused, report.at(call.key), data, report, scope)
        name = self._canonical(written, info)
        if written.rpartition(".")[2] == "include":
            why = "Ansible removed it; it is read as include_tasks"
            report.warning("include is gone", report.at(call.key), why=why, help="use include_tasks or import_tasks", code="removed")
        module = self.declaration(info)
        free = name in FREE_FORM or (module is not None and bool(module.free_form))
        first = self._arguments(value, name, free, report.value_at(call.key), report)
        second = self._more(data.get("args"), name, report)
        own, template = first or ({}, None)
        more, more_template = second or ({}, None)
        args = {**more, **own, **(inner if isinstance(inner, dict) else {})}
        broken = first is None or second is None
        return Action(call.key, name, written, args, template or more_template, info, call.key == "local_action", broken)

    def _explicit(self, call: Call, report: Reporter) -> tuple[str, Any, Any] | None:
        """Name, arguments and inner ``args`` of ``action:`` and ``local_action:``."""
        value = call.value
        if isinstance(value, str) and value.strip():
            name, rest = action_and_rest(value)
            return name, rest, None
        if isinstance(value, dict) and isinstance(value.get("module"), str):
            name, rest = action_and_rest(value["module"])
            others = {key: child for key, child in value.items() if key not in ("module", "args")}
            inner = value.get("args")
            if rest:
                parsed, _ = self._arguments(rest, name, name in FREE_FORM, report.value_at(call.key), report) or ({}, None)
                others = {**others, **parsed}
            return name, others, inner
        why = f"{call.key} takes a text that starts with a module, or a mapping with 'module'"
        report.error("this task has no action", report.value_at(call.key), why=why, code="no-action")
        return None

    def _arguments(self, value: Any, name: str, free: bool, place: Span, report: Reporter) -> tuple[dict[str, Any], str | None] | None:
        """Arguments written at the action: none, a mapping, or a text; None after reporting that they cannot be read."""
        if value is None:
            return {}, None
        if isinstance(value, dict):
            return {str(key): child for key, child in value.items()}, None
        if isinstance(value, str):
            if not free and _is_one_template(value):
                return {}, value
            try:
                return dict(parse(value, command=name in COMMANDS)), None
            except ArgumentTextError as error:
                report.error(f"arguments of {name}: {error}", place, help="close it, or write the arguments as a mapping", code="arguments")
                return None
        help_ = "write a mapping of options" if not free else "quote the text"
        report.error(f"{name} takes a mapping or a text, not {kind_of(value)}", place, help=help_, code="arguments")
        return None

    def _more(self, value: Any, name: str, report: Reporter) -> tuple[dict[str, Any], str | None] | None:
        """The ``args:`` keyword."""
        if value is None or isinstance(value, dict) or (isinstance(value, str) and not has_template(value) and "=" in value):
            return self._arguments(value, name, False, report.value_at("args"), report)
        if isinstance(value, str) and has_template(value):
            return {}, value
        report.error(f"args takes a mapping or a template, not {shown(value)}", report.value_at("args"), code="arguments")
        return None


def _is_one_template(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("{{") and stripped.endswith("}}") and stripped.count("{{") == 1
