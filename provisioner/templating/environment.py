"""The shared side of templating: compiled templates by text, the tables of plugins, and syntax options of template files.

One ``Environment`` serves all hosts and threads of a run. It holds nothing of any host.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes

from provisioner.diagnostics import UNLOADED, Diagnostic, Span, did_you_mean
from provisioner.errors import InputError
from provisioner.templating import failures, filters, lookups, tests
from provisioner.templating import globals as template_globals
from provisioner.templating.collected import Table
from provisioner.templating.compiler import Engine, Template
from provisioner.templating.lookups.context import Lookup
from provisioner.templating.syntax import DEFAULT_SYNTAX, Source, Syntax, read_header

_MOST_COMPILED = 50_000


__all__ = ["DEFAULT_SYNTAX", "Environment", "Syntax"]


class Environment:
    """Compiled templates and plugins.

    ``environ`` is what ``lookup('env')`` reads, ``settings`` what ``lookup('config')`` reads, ``read_bytes`` opens a file (the command line
    gives one that decrypts vaulted files).
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        read_bytes: Callable[[Path], bytes] = Path.read_bytes,
    ) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.settings = settings or {}
        self.read_bytes = read_bytes
        self.engine = Engine()
        self.tables: dict[str, Table] = {
            "filter": Table(filters.table()),
            "test": Table(tests.table()),
            "lookup": Table(lookups.table()),
        }
        """Plugins by kind and name."""
        self.engine.filters = self.tables["filter"]
        self.engine.tests = self.tables["test"]
        self.engine.globals = template_globals.table()
        self.lookups: dict[str, Lookup] = self.tables["lookup"]
        self.unloaded: dict[str, dict[Path, str]] = {"filter": {}, "test": {}, "lookup": {}}
        """Plugin files that could not be loaded, with the reason: what is unknown may be in them."""
        self._templates: dict[str, Template] = {}
        self._expressions: dict[str, Template] = {}
        self._engines: dict[Syntax, Engine] = {DEFAULT_SYNTAX: self.engine}
        self._files: dict[Source, Template] = {}

    def template(self, text: str, where: Callable[[], Span | None]) -> Template:
        """The compiled template of a text in a YAML file; raises ``InputError``."""
        found = self._templates.get(text)
        if found is None:
            found = self._compile(self.engine.build, text, where)
            _remember(self._templates, text, found)
        return found

    def expression(self, text: str, where: Callable[[], Span | None]) -> Template:
        """The compiled expression of a condition; raises ``InputError``."""
        found = self._expressions.get(text)
        if found is None:
            found = self._compile(self.engine.build_expression, text, where)
            _remember(self._expressions, text, found)
        return found

    def _compile(self, build: Callable[[str], Template], text: str, where: Callable[[], Span | None]) -> Template:
        try:
            return build(text)
        except jinja2.TemplateSyntaxError as error:
            raise self._refused(error, None, where(), text) from error
        except RecursionError as error:
            raise InputError.of("a template is nested too deeply", where()) from error

    def file(self, source: Source) -> Template:
        """The compiled template of a file; raises ``InputError``."""
        found = self._files.get(source)
        if found is None:
            try:
                found = self._engine(source.syntax).build(source.text, path=source.path)
            except jinja2.TemplateSyntaxError as error:
                raise self._refused(error, source.path, None, source.text, source.shift) from error
            found.shift = source.shift
            _remember(self._files, source, found)
        return found

    def _engine(self, syntax: Syntax) -> Engine:
        found = self._engines.get(syntax)
        if found is None:
            found = self._engines[syntax] = self.engine.variant(syntax.options())
        return found

    def _refused(self, error: jinja2.TemplateSyntaxError, file: str | None, span: Span | None, source: str, shift: int = 0) -> InputError:
        refusal = failures.syntax(error, file, span, source, shift)
        named = re.match(r"No (filter|test) named '([^']*)'", error.message or "")
        if named is None:
            return refusal
        table: Mapping[str, Any] = self.engine.filters if named[1] == "filter" else self.engine.tests
        item = replace(refusal.diagnostics.errors[0], help=self._help(named[1], named[2], table), code=self._code(named[1], named[2]))
        refusal.diagnostics.items[:] = [item]
        return refusal

    def _help(self, kind: str, name: str, table: Mapping[str, Any]) -> str:
        """What a name that no plugin has may be."""
        places = self._defining(kind, name)
        if places:
            return f"it seems to be defined in {' or '.join(places)}"
        elsewhere = f"it may be defined in {', '.join(self.unloaded[kind].values())}" if self.unloaded[kind] else ""
        collection = name.rpartition(".")[0]
        missing = f"install the collection {collection}" if collection.count(".") == 1 else ""
        return "; ".join(filter(None, (did_you_mean(name, table), missing, elsewhere)))

    def _defining(self, kind: str, name: str) -> list[str]:
        """The plugin files that could not be loaded and speak of a name."""
        short = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
        return [place for path, place in self.unloaded[kind].items() if short.search(path.stem) or short.search(_text(path))]

    def _code(self, kind: str, name: str) -> str:
        return UNLOADED if self._defining(kind, name) else ""

    def parse_check(self, text: str, span: Span | None = None) -> Diagnostic | None:
        """The first problem of a template's syntax or plugin names that can be seen without any value, or None."""
        if "{" not in text:
            return None
        return self._check(lambda: self.template(text, lambda: span), text, span)

    def expression_check(self, text: str, span: Span | None = None) -> Diagnostic | None:
        """The same for a bare expression, as in ``when``."""
        return self._check(lambda: self.expression(text, lambda: span), f"{{{{ {text} }}}}", span)

    def file_check(self, text: str, path: str, syntax: Syntax = DEFAULT_SYNTAX) -> Diagnostic | None:
        """The same for a template file."""
        try:
            source = read_header(text, path, syntax)
        except InputError as error:
            return error.diagnostics.errors[0]
        return self._check(lambda: self.file(source), source.text, Span(path))

    def _check(self, build: Callable[[], Template], source: str, span: Span | None) -> Diagnostic | None:
        try:
            template = build()
        except InputError as error:
            return error.diagnostics.errors[0]
        return self._unknown_names(template, source, span)

    def _unknown_names(self, template: Template, source: str, span: Span | None) -> Diagnostic | None:
        """Jinja accepts unknown filters in branches that need not run, and knows nothing of lookups."""
        tree = template.environment.parse(source)
        tables: dict[type, tuple[str, Mapping[str, Any]]] = {
            nodes.Filter: ("filter", self.engine.filters),
            nodes.Test: ("test", self.engine.tests),
        }
        for node in tree.find_all((nodes.Filter, nodes.Test, nodes.Call)):
            kind, table = tables.get(type(node), ("lookup", self.lookups))
            name = _called(node)
            if name is not None and name not in table:
                needle = rf"\b{re.escape(name)}\b"
                place = failures.spot(template, node.lineno, needle, lambda: span)
                message = f"the lookup plugin '{name}' was not found" if kind == "lookup" else f"No {kind} named '{name}'"
                return Diagnostic(message, place, help=self._help(kind, name, table), code=self._code(kind, name))
        return None

    def read_text(self, path: Path) -> str:
        """The text of a template file; raises ``InputError``."""
        try:
            return self.read_bytes(path).decode("utf-8")
        except OSError as error:
            raise InputError.of(f"cannot read {path}: {error.strerror or error}", Span(str(path))) from error
        except UnicodeDecodeError as error:
            raise InputError.of(
                f"{path} is not UTF-8 text", Span(str(path)), why=f"byte {error.start} is {error.object[error.start]:#04x}"
            ) from error

    def add_filters(self, found: Mapping[str, Callable[..., Any]]) -> None:
        """Add filters of a plugin file."""
        self.engine.filters.update(filters.guarded(found))

    def add_tests(self, found: Mapping[str, Callable[..., Any]]) -> None:
        """Add tests of a plugin file."""
        self.engine.tests.update(tests.guarded(found))

    def add_lookups(self, found: Mapping[str, Lookup]) -> None:
        """Add lookups of a plugin file."""
        self.lookups.update(found)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _called(node: nodes.Node) -> str | None:
    """The name of the plugin that a node uses, when the text says it."""
    if isinstance(node, nodes.Call):
        called = isinstance(node.node, nodes.Name) and node.node.name in ("lookup", "query", "q")
        first = node.args[0] if called and node.args else None
        return str(first.value) if isinstance(first, nodes.Const) else None
    return str(node.name)  # type: ignore[attr-defined]


def _remember(cache: dict[Any, Template], key: Any, template: Template) -> None:
    """Texts made at run time must not fill the memory; starting again is rare and cheap."""
    if len(cache) >= _MOST_COMPILED:
        cache.clear()
    cache[key] = template
