"""Foreign exceptions of a template as our errors: what is missing or wrong, at which line and column of the source, and why.

Nothing here runs before something has failed, so it may be slow: it reads the source file again and parses the template again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.utils import missing as nothing

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.errors import InputError
from provisioner.templating.lazy import dotted
from provisioner.templating.missing import Missing, MissingValueError
from provisioner.templating.natural import UnsupportedValueError, describe, type_name

if TYPE_CHECKING:
    from provisioner.templating.compiler import Template
    from provisioner.templating.evaluation import Evaluation

MOST_KEYS = 12


class UndefinedVariable(InputError):
    """A variable, attribute or element that does not exist was used."""


class PluginFailed(Exception):
    """A filter, test or lookup raised; ``cause`` is what it raised."""

    def __init__(self, kind: str, name: str, cause: Exception) -> None:
        super().__init__(f"{kind} plugin '{name}' failed: {cause}")
        self.kind = kind
        self.name = name
        self.cause = cause


def recursion(chain: Sequence[Sequence[Any]], span: Span | None) -> InputError:
    """Variables that need each other in a circle."""
    circle = " → ".join(dotted(tuple(path)) for path in chain)
    return InputError.of(
        f"Recursive loop detected in template: {circle}",
        span,
        why="rendering the first one needs its own value",
        help="a variable cannot be defined by itself; give the outer one another name",
    )


def needed_by(error: InputError, name: str, span: Span | None) -> InputError:
    """The same error with one more link in the chain of variables that led to it."""
    place = f" ({span})" if span else ""
    link = f"needed by variable '{name}'{place}" if name else ""
    diagnostics = Diagnostics()
    for item in error.diagnostics:
        diagnostics.add(replace(item, why="; ".join(filter(None, (item.why, link)))))
    return type(error)(diagnostics)


def translate(error: Exception, evaluation: Evaluation, outer: Template, where: Callable[[], Span | None]) -> InputError:
    """Our error for an exception that left the template ``outer``."""
    template, line = _innermost(error.__traceback__, outer)
    if isinstance(error, MissingValueError):
        return _missing(error.missing, evaluation, template, line, where)
    if isinstance(error, jinja2.TemplateSyntaxError):
        return syntax(error, error.filename, where())
    if isinstance(error, jinja2.TemplateNotFound):
        searched = ", ".join(map(str, evaluation.template_folders()))
        why = f"looked in {searched}" if searched else "there is no folder to look in"
        return InputError.of(f"template '{error.name}' not found", spot(template, line, re.escape(str(error.name)), where), why=why)
    if isinstance(error, PluginFailed):
        needle = rf"\b{re.escape(error.name)}\b"
        span = spot(template, line, needle, where)
        return InputError.of(f"{error.kind} plugin '{error.name}' failed: {_words(error.cause)}", span, why=_kind(error.cause))
    if isinstance(error, RecursionError):
        return InputError.of("Recursive loop detected in template: it is nested too deeply", spot(template, line, "", where))
    if isinstance(error, UnsupportedValueError):
        return InputError.of(str(error), spot(template, line, "", where), help="call it, or pass it through a filter that gives data")
    return InputError.of(f"Error rendering template: {_words(error)}", spot(template, line, "", where), why=_kind(error))


def outside(error: Exception, evaluation: Evaluation, span: Span | None) -> InputError:
    """Our error for an exception of a plugin that no template called."""
    if isinstance(error, MissingValueError):
        missing = error.missing
        return missing.cause or UndefinedVariable.of(missing.headline, span, help=did_you_mean(str(missing.name), evaluation.scope.names()))
    if isinstance(error, PluginFailed):
        return InputError.of(f"{error.kind} plugin '{error.name}' failed: {_words(error.cause)}", span, why=_kind(error.cause))
    return InputError.of(_words(error), span, why=_kind(error))


def syntax(error: jinja2.TemplateSyntaxError, file: str | None, span: Span | None, source: str | None = None, shift: int = 0) -> InputError:
    """A template that cannot be compiled; ``file`` is set for template files, ``span`` for texts of a YAML file."""
    message = (error.message or "").rstrip(".")
    message = re.sub(r"^(No (filter|test) named '[^']*').*", r"\1", message)
    text = source if source is not None else error.source
    if file is not None:
        place: Span | None = Span(file, error.lineno + shift, _first_mark(text, error.lineno))
    else:
        place = within(span, text or "", error.lineno, _first_mark(text, error.lineno))
    return InputError.of(f"Syntax error in template: {message}", place)


def _words(error: BaseException) -> str:
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text or type(error).__name__


def _kind(error: BaseException) -> str:
    """The type of a Python error says more than its text for some kinds."""
    return f"{type(error).__name__}" if isinstance(error, (TypeError, KeyError, IndexError, ZeroDivisionError, AttributeError)) else ""


def _innermost(traceback: TracebackType | None, outer: Template) -> tuple[Template, int]:
    """The template in which an exception was raised, and the line."""
    template, line = outer, 1
    while traceback is not None:
        inner: Any = traceback.tb_frame.f_globals.get("__jinja_template__")
        if inner is not None:
            template, line = inner, inner.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return template, line


def _missing(missing: Missing, evaluation: Evaluation, template: Template, line: int, where: Callable[[], Span | None]) -> InputError:
    if missing.cause is not None:
        return missing.cause
    if missing.hint:
        return UndefinedVariable.of(missing.hint, spot(template, line, "", where))
    if missing.owner is nothing:
        name = str(missing.name)
        span = spot(template, line, rf"(?<![\w.'\"]){re.escape(name)}\b", where)
        return UndefinedVariable.of(f"'{name}' is undefined", span, help=did_you_mean(name, evaluation.scope.names()))
    key, parent_line, parent = _parent(template, line, missing.name)
    quoted = re.escape(str(key))
    span = spot(template, parent_line, rf"(?<=\.){quoted}\b|(?<=\[['\"]){quoted}(?=['\"]\s*\])|(?<=\[){quoted}(?=\s*\])", where)
    what = f"element {key}" if isinstance(key, int) else f"'{key}'"
    message = f"{what} is missing in '{parent}'" if parent else f"{what} is missing"
    return UndefinedVariable.of(message + _has(missing.owner), span, why=_reason(missing.owner, key), help=_near(missing.owner, key))


def _has(owner: Any) -> str:
    if isinstance(owner, Mapping):
        keys = [str(name) for name in owner]
        if not keys:
            return " (it is empty)"
        return f" (has: {', '.join(keys)})" if len(keys) <= MOST_KEYS else f" (has {len(keys)} keys)"
    if isinstance(owner, (list, tuple)):
        return f" (has {len(owner)} elements)"
    return f" ({describe(owner)})"


def _reason(owner: Any, key: Any) -> str:
    skipped = isinstance(owner, Mapping) and "skipped" in owner and owner["skipped"] is True
    what = f"object has no element {key}" if isinstance(owner, (list, tuple)) else ""
    reason = what or f"object of type '{type_name(owner)}' has no attribute {key!r}"
    return f"{reason}: it is the result of a step that was skipped" if skipped else reason


def _near(owner: Any, key: Any) -> str:
    return did_you_mean(str(key), map(str, owner)) if isinstance(owner, Mapping) else ""


def _parent(template: Template, line: int, name: Any) -> tuple[Any, int, str]:
    """The expression whose element ``name`` was searched near a line, as text: ``gpu`` for ``gpu.limit``."""
    source = f"{{{{ {template.source} }}}}" if template.expression else template.source
    try:
        tree = template.environment.parse(source)
    except jinja2.TemplateSyntaxError:
        return name, line, ""
    best: nodes.Getattr | nodes.Getitem | None = None
    found: Any = tree.find_all((nodes.Getattr, nodes.Getitem))
    for node in found:
        if _key_of(node) == name and (best is None or abs(node.lineno - line) < abs(best.lineno - line)):
            best = node
    if best is None:
        return name, line, ""
    return name, best.lineno, written(best.node)


def _key_of(node: nodes.Getattr | nodes.Getitem) -> Any:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def written(node: nodes.Node) -> str:
    """A simple expression as text; empty for others."""
    if isinstance(node, nodes.Name):
        return str(node.name)
    if isinstance(node, nodes.Getattr):
        return _joined(written(node.node), f".{node.attr}")
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, (nodes.Const, nodes.Name)):
        key = repr(node.arg.value) if isinstance(node.arg, nodes.Const) else node.arg.name
        return _joined(written(node.node), f"[{key}]")
    if isinstance(node, nodes.Filter) and node.node is not None:
        return _joined(written(node.node), f" | {node.name}")
    if isinstance(node, nodes.Call):
        return _joined(written(node.node), "(…)")
    return ""


def _joined(parent: str, end: str) -> str:
    return parent + end if parent else ""


def spot(template: Template, line: int, needle: str, where: Callable[[], Span | None]) -> Span | None:
    """The place of ``needle`` (a regular expression; empty: of the first expression) in a line of a template."""
    lines = template.source.splitlines()
    column = 0
    for number in (line, *range(line + 1, min(line + 10, len(lines)) + 1)):
        text = lines[number - 1] if number <= len(lines) else ""
        found = re.search(needle, text) if needle else None
        if found is not None:
            line, column = number, found.start() + 1
            break
    if not column:
        column = 1 if template.expression else _first_mark(template.source, line)
    if template.path is not None:
        return Span(template.path, line + template.shift, column)
    return within(where(), template.source, line, column)


def _first_mark(source: str | None, line: int) -> int:
    lines = (source or "").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    found = re.search(r"\{\{|\{%|\{#", text)
    return found.start() + 1 if found else 0


def within(span: Span | None, source: str, line: int, column: int) -> Span | None:
    """The place of a line and column of a text that stands at ``span`` in a file; ``span`` itself when it cannot be found again."""
    if span is None or not span.line:
        return span
    lines = source.splitlines()
    wanted = lines[line - 1] if 0 < line <= len(lines) else ""
    text = wanted.strip()
    try:
        present = Path(span.file).read_text("utf-8", "replace").splitlines()
    except OSError:
        return span
    if not text:
        return span
    for index in range(span.line - 1, min(span.line + len(lines) + 1, len(present))):
        start = present[index].find(text, max(span.column - 1, 0) if index == span.line - 1 else 0)
        if start >= 0:
            offset = max(column - 1 - (len(wanted) - len(wanted.lstrip())), 0)
            return Span(span.file, index + 1, start + offset + 1)
    return span
