"""What is certainly wrong with a task before it runs: options, template syntax, modes in loops, missing files, lost names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioner.diagnostics import UNLOADED, Diagnostic, Span, did_you_mean
from provisioner.node.declare import Module
from provisioner.playbook.actions import Action, ActionReader
from provisioner.playbook.arguments import RAW, has_template
from provisioner.playbook.model import Loop, Task
from provisioner.playbook.normalization import has_braces
from provisioner.playbook.places import TaskSpans
from provisioner.playbook.scope import LoadContext, Scope
from provisioner.playbook.yaml import VAULT_HEADER
from provisioner.schema.conversion import ConversionError, to_mode
from provisioner.schema.convert import problems
from provisioner.schema.fields import Field, fields_of, spellings
from provisioner.values import UnsafeText, WrittenInt

META_ACTIONS = (
    "flush_handlers", "refresh_inventory", "noop", "clear_facts", "clear_host_errors", "end_play", "end_host", "end_batch", "end_role",
    "reset_connection",
)  # fmt: skip

_ITEM = r"\{\{\s*(%s)((?:\.\w+|\['\w+'\]|\[\"\w+\"\])*)\s*\}\}"
_PART = re.compile(r"\w+")
_FOLDERS = {"copy": "files", "template": "templates", "script": "files", "unarchive": "files", "include_vars": "vars"}
_SYNTAX = frozenset(f"{kind}_{end}_string" for kind in ("block", "variable", "comment") for end in ("start", "end"))
_EXPRESSIONS = ("until", "changed_when", "failed_when")
# Texts that are certainly right are most of a playbook; looking at them with Jinja would cost more than all the rest of a load.
_NAME = r"(?!(?:and|or|not|is|in|if|else)\b)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\['[\w.-]+'\]|\[\"[\w.-]+\"\]|\[\d+\])*"
_LITERAL = r"(?:'[^'\\]*'|\"[^\"\\]*\"|-?\d+(?:\.\d+)?|[Tt]rue|[Ff]alse)"
_FILTERED = (
    rf"{_NAME}(?: ?\| ?(?:default\({_LITERAL}\)|default\(omit\)|bool|int|length|lower|upper|string|list|first|last|basename|dirname))*"
)
_TERM = (
    rf"(?:not )?(?:{_FILTERED}(?: (?:==|!=|<=?|>=?) (?:{_LITERAL}|{_FILTERED}))?"
    rf"|{_NAME} is (?:not )?(?:defined|undefined|changed|failed|skipped|succeeded|none|string|mapping))"
)
_PLAIN_EXPRESSION = re.compile(rf"{_TERM}(?: (?:and|or) {_TERM})*")
_PLAIN_TEMPLATE = re.compile(rf"(?:[^{{}}\\]|\{{\{{ ?{_FILTERED} ?\}}\}})*")
_PLAIN = (str, int, float, bool, list, dict, type(None))


def is_open(value: Any) -> bool:
    """Whether a value, or a part of it, is only known during the run: a template, or something that is opened late."""
    if isinstance(value, UnsafeText):
        return False
    if isinstance(value, dict):
        return any(is_open(child) for child in value.values())
    if isinstance(value, list):
        return any(is_open(child) for child in value)
    return not isinstance(value, _PLAIN) or has_template(value)


class TaskChecks:
    """The checks of one load; each template text is looked at once."""

    def __init__(self, context: LoadContext, actions: ActionReader) -> None:
        self._context = context
        self._actions = actions
        self._templates: dict[tuple[str, bool], Diagnostic | None] = {}
        self._unloaded: set[str] = set()
        self._files: set[Path] = set()
        self.checked: set[tuple[str, int]] = set()
        """The places of the tasks that were looked at."""

    def task(self, task: Task, action: Action, scope: Scope) -> None:
        """All checks of one task; ``scope`` includes the task's own conditions."""
        self.checked.add((task.span.file, task.span.line))
        if not action.broken:
            self._options(task, action, scope)
        self._syntax(task, scope)
        if action.name == "meta":
            self._meta(task, scope)
        elif action.name in _FOLDERS and action.args_template is None:
            self._file(task, action, scope)

    def _add(self, diagnostic: Diagnostic, scope: Scope) -> None:
        """Where the playbook copes with a failure, a mistake that would make the task fail is only a warning."""
        if scope.tolerated and diagnostic.severity == "error":
            diagnostic = Diagnostic(diagnostic.message, diagnostic.span, diagnostic.why, diagnostic.help, "warning", diagnostic.code)
        self._context.diagnostics.add(diagnostic)

    def _options(self, task: Task, action: Action, scope: Scope) -> None:
        module = self._actions.declaration(action.info)
        if module is None or task.args_template is not None:
            return
        spans = task.spans
        args, vague = _with_defaults(task, action, scope)
        for problem in problems(module, args, lambda name: _place(task, spans, name), is_open):
            if not (vague and problem.code in ("missing-option", "option-rule")):
                self._add(problem, scope)
        if task.loop is not None:
            for problem in _modes_of_items(module, task, task.loop):
                self._add(problem, scope)

    def _syntax(self, task: Task, scope: Scope) -> None:
        if self._context.check_template is None:
            return
        for text, keys in _templates_of(task):
            self._template(text, False, task, keys, scope)
        for key in ("when", *_EXPRESSIONS):
            conditions = task.directives.when if key == "when" else getattr(task, key)
            for condition in conditions or ():
                if isinstance(condition, str):
                    self._template(condition, not has_braces(condition), task, (key,), scope)

    def _template(self, text: str, expression: bool, task: Task, keys: tuple[str, ...], scope: Scope) -> None:
        if (_PLAIN_EXPRESSION if expression else _PLAIN_TEMPLATE).fullmatch(text):
            return
        if (text, expression) not in self._templates:
            check = self._context.check_template
            self._templates[text, expression] = check(text, expression) if check else None
        wrong = self._templates[text, expression]
        if wrong is not None:
            place = (task.spans.value_of(keys) if isinstance(task.spans, TaskSpans) else None) or task.span_of(*keys)
            self._template_problem(replace(wrong, span=place, code=wrong.code or "template-syntax"), scope)

    def _template_problem(self, problem: Diagnostic, scope: Scope) -> None:
        """What is wrong with a template; what comes of a plugin file that does not load on this machine is said once in a lint."""
        if self._context.linting and problem.code == UNLOADED:
            if problem.message in self._unloaded:
                return
            self._unloaded.add(problem.message)
            problem = replace(problem, severity="warning")
        self._add(problem, scope)

    def _meta(self, task: Task, scope: Scope) -> None:
        word = task.args.get(RAW)
        if word is None or (isinstance(word, str) and not has_template(word) and word not in META_ACTIONS):
            help_ = did_you_mean(str(word), META_ACTIONS) or f"one of: {', '.join(META_ACTIONS)}"
            self._add(Diagnostic(f"meta has no action {word!r}", task.span_of("args"), help=help_, code="meta"), scope)

    def _file(self, task: Task, action: Action, scope: Scope) -> None:
        """A literal file on the controller that is nowhere to be found."""
        name = _source(task, action)
        if not name or name.startswith(("http:", "https:", "~")):
            return
        tried = list(candidates(name, _FOLDERS[action.name], scope))
        found = next((path for path in tried if path.exists()), None)
        if found is not None:
            if action.name == "template" and found.is_file() and not _SYNTAX & set(task.args):
                self._template_file(found, scope)
            return
        certain = scope.sure and not scope.tolerated and not Path(name).is_absolute() and not (scope.role and scope.role.parents)
        self._context.diagnostics.add(
            Diagnostic(
                f"{action.written}: there is no file {name!r}",
                task.span_of("args", "src" if "src" in task.args else "file"),
                why="looked for " + ", ".join(str(path) for path in tried),
                help="create it, or correct the name",
                severity="error" if certain else "warning",
                code="missing-file",
            )
        )

    def _template_file(self, path: Path, scope: Scope) -> None:
        """The syntax of a template that a task names literally; each file once."""
        if self._context.check_file is None or path in self._files:
            return
        self._files.add(path)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        problem = None if text.startswith(VAULT_HEADER) else self._context.check_file(text, str(path))
        if problem is not None:
            self._template_problem(replace(problem, code=problem.code or "template-syntax"), scope)


def candidates(name: str, folder: str, scope: Scope) -> Iterator[Path]:
    """Where a file that a task names is looked for: in the role, beside the file of tasks, beside the playbook."""
    if Path(name).is_absolute():
        yield Path(name)
        return
    bases = [scope.role.path] if scope.role else []
    bases += [Path(scope.file).parent, scope.folder]
    seen: set[Path] = set()
    for base in bases:
        for path in (base / folder / name, base / name):
            if path not in seen:
                seen.add(path)
                yield path


def _with_defaults(task: Task, action: Action, scope: Scope) -> tuple[Mapping[str, Any], bool]:
    """The arguments over the ``module_defaults`` around the task, and whether there are defaults nobody knows yet."""
    if not scope.defaults:
        return task.args, False
    merged: dict[str, Any] = {}
    vague = False
    for defaults in scope.defaults:
        if not isinstance(defaults, dict) or any(has_template(key) for key in defaults):
            vague = True
            continue
        found = defaults.get(action.name)
        vague = vague or (found is not None and not isinstance(found, dict))
        merged.update(found if isinstance(found, dict) else {})
    return {**merged, **task.args}, vague


def _source(task: Task, action: Action) -> str:
    """The literal name of the file a task reads on the controller, or an empty text."""
    args = task.args
    if action.name == "script":
        value = args.get(RAW, args.get("cmd"))
        value = value.split()[0] if isinstance(value, str) and value.split() and not has_template(value) else value
    elif action.name == "include_vars":
        value = args.get(RAW, args.get("file")) if "dir" not in args else None
    else:
        on_node = args.get("remote_src", "copy" in args) if action.name != "template" else False
        value = args.get("src") if on_node in (False, None, "no", "false") and args.get("content") is None else None
    return value if isinstance(value, str) and not has_template(value) else ""


def _place(task: Task, spans: Mapping[str, Span], name: str) -> Span:
    if name == RAW or not name:
        return task.span_of("args")
    if isinstance(spans, TaskSpans):
        return spans.get(f"args.{name}") or task.span_of("args")
    return task.span_of("args", name)


def _templates_of(task: Task) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every text with Jinja marks in a task, with the keys that lead to it."""
    for name, value in task.args.items():
        for text in _texts(value):
            yield text, ("args", name)
    if task.args_template:
        yield task.args_template, ("args",)
    for value, key in ((task.directives.vars, "vars"), (task.directives.environment, "environment"), (task.name, "name")):
        for text in _texts(value):
            yield text, (key,)
    if task.loop is not None:
        key = "loop" if task.loop.lookup is None else f"with_{task.loop.lookup}"
        for text in _texts(task.loop.terms):
            yield text, (key,)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not isinstance(value, UnsafeText) and ("{{" in value or "{%" in value):
            yield value
    elif isinstance(value, Mapping):
        for child in value.values():
            yield from _texts(child)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _texts(child)


def _modes_of_items(module: Module, task: Task, loop: Loop) -> Iterator[Diagnostic]:
    """Numbers that a literal loop hands to an option that takes a file mode."""
    if not isinstance(loop.terms, list) or loop.lookup not in (None, "items", "list"):
        return
    fields = fields_of(module.params)
    known = spellings(module)
    pattern = re.compile(_ITEM % re.escape(loop.control.loop_var))
    for name, value in task.args.items():
        field: Field | None = fields.get(known.get(name, ""))
        match = pattern.fullmatch(value.strip()) if isinstance(value, str) else None
        if field is None or field.type != "mode" or match is None:
            continue
        path = _PART.findall(match.group(2))
        for index, item in enumerate(loop.terms):
            found = _follow(item, path)
            if not isinstance(found, WrittenInt):
                continue
            try:
                to_mode(found)
            except ConversionError as error:
                place = _term_place(task, loop, index, path)
                yield Diagnostic(f"{module.name}: {name} {error}", place, help=error.help, code="option")


def _follow(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _term_place(task: Task, loop: Loop, index: int, path: list[str]) -> Span:
    key = "loop" if loop.lookup is None else f"with_{loop.lookup}"
    if isinstance(task.spans, TaskSpans):
        found = task.spans.deep(key, index, *path)
        if found is not None:
            return found
    return task.span_of(key)
