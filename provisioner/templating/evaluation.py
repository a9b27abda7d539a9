"""One evaluation: variables resolved for one value or condition, each rendered at most once, and errors given their place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.utils import missing as nothing

from provisioner.diagnostics import Diagnostic, Span
from provisioner.errors import InputError, ProvisionError
from provisioner.templating import failures
from provisioner.templating.compiler import CURRENT, Names, Template
from provisioner.templating.lazy import LazyDict, LazyList, dotted, has_marks, wrap
from provisioner.templating.lazy import Path as VariablePath
from provisioner.templating.lookups.context import run_lookup
from provisioner.templating.missing import Missing
from provisioner.templating.natural import OMIT, DecryptedText, join_native, keep_newlines, plain
from provisioner.templating.syntax import Syntax, read_header
from provisioner.templating.variables import Carried, Layer, Level, NeedsResult, Pending, Scope
from provisioner.templating.views import HostVars, Vars
from provisioner.values import UnknownValueError

if TYPE_CHECKING:
    from provisioner.templating.environment import Environment

Join = Callable[[Iterable[Any]], Any]

Where = Callable[[], "Span | None"]
"""Finds the place of the text that is rendered; only asked when something is wrong with it."""


class Evaluation:
    """The state of one evaluation; ``search_paths`` are the folders with ``files/`` and ``templates/`` in them, nearest first."""

    __slots__ = ("_chain", "_peers", "_values", "beside", "environment", "read_only", "scope", "search_paths", "warn")

    def __init__(self, environment: Environment, scope: Scope, search_paths: Sequence[Path] = (), *, read_only: bool = False) -> None:
        self.environment = environment
        self.scope = scope
        self.search_paths = search_paths
        self.read_only = read_only
        self.warn: Callable[[Diagnostic], None] | None = None
        self.beside: tuple[Path, ...] = ()
        """The folder of the template file that is rendered: includes are looked for there too."""
        self._values: dict[str, Any] = {}
        self._chain: list[VariablePath] = []
        self._peers: dict[str, Any] = {}

    def resolve(self, name: str, *, private: bool = False) -> Any:
        """The value of a variable, ``nothing`` when there is none. ``private``: a copy that the template may change."""
        try:
            value = self._values[name]
        except KeyError:
            value = self._values[name] = self._resolve(name)
        if private and isinstance(value, (dict, list)):
            value = self._values[name] = plain(value) if isinstance(value, (LazyDict, LazyList)) else copy.deepcopy(value)
        return value

    def _resolve(self, name: str) -> Any:
        if name == "omit":
            return OMIT
        if name == "vars":
            return Vars(self)
        if name == "hostvars":
            return HostVars(self)
        found = self.scope.find(name)
        if found is None:
            return nothing
        if isinstance(found.value, Pending):
            raise NeedsResult(name)
        if self.scope.merge and isinstance(found.value, dict):
            return self._merged(name)
        return self.open(found.value, (name,)) if found.layer.trusted else found.value

    def _merged(self, name: str) -> Any:
        """``hash_behaviour = merge``: mappings of all levels laid over each other."""
        merged: Any = None
        for found in self.scope.definitions(name):
            if isinstance(found.value, Pending):
                raise NeedsResult(name)
            value = self.open(found.value, (name,)) if found.layer.trusted else found.value
            merged = _overlaid(merged, value) if isinstance(merged, dict) and isinstance(value, dict) else value
        return merged

    def open(self, raw: Any, path: VariablePath) -> Any:
        """The value of a raw value of a trusted layer; containers are opened when touched."""
        kind = type(raw)
        if kind is str:
            return self._text(raw, path) if has_marks(raw) else raw
        if kind is dict or kind is list:
            return wrap(raw, self.open, path)
        reveal = getattr(kind, "reveal", None)
        return raw if reveal is None else self._sealed(reveal, raw, path)

    def _sealed(self, reveal: Callable[[Any], str], raw: Any, path: VariablePath) -> Any:
        """A vaulted value, which is data, not a template; one that no password fits is only an error for those who use it."""
        try:
            return DecryptedText(reveal(raw))
        except InputError as error:
            cause = failures.needed_by(error, dotted(path), self.scope.place(path))
            return Missing(cause=cause, broken=True, ciphertext=getattr(raw, "ciphertext", None))

    def _text(self, text: str, path: VariablePath) -> Any:
        """Render a text inside another evaluation. A failure becomes a ``Missing``: it may be that nobody uses it."""
        if path in self._chain:
            raise failures.recursion([*self._chain[self._chain.index(path) :], path], self.scope.place(path))
        if path:
            self._chain.append(path)
        try:
            return self.value(text, lambda: self.scope.place(path))
        except UnknownValueError as error:
            return error.unknown
        except failures.UndefinedVariable as error:
            return Missing(cause=failures.needed_by(error, dotted(path), self.scope.place(path)))
        except InputError as error:
            return Missing(cause=failures.needed_by(error, dotted(path), self.scope.place(path)), broken=True)
        finally:
            if path:
                self._chain.pop()

    def value(self, text: str, where: Where, join: Join = join_native) -> Any:
        """The native value of a template; with ``join_plain`` it is plain data."""
        template = self.environment.template(text, where)
        return keep_newlines(self.run(template, join, where), template.newlines)

    def expression(self, text: str, where: Where, join: Join = join_native) -> Any:
        """The value of a bare expression."""
        return self.run(self.environment.expression(text, where), join, where)

    def file(self, text: str, path: str, syntax: Syntax, join: Join) -> Any:
        """What a template file gives. Includes are looked for beside it too."""
        source = read_header(text, path, syntax)
        if not source.syntax.marks(source.text):
            return source.text
        template = self.environment.file(source)
        outer = self.beside
        self.beside = (Path(path).parent, *outer)
        try:
            value = self.run(template, join, lambda: Span(path))
            return keep_newlines(value, template.newlines, source.syntax.newline_sequence)
        except UnknownValueError as error:
            return error.unknown
        finally:
            self.beside = outer

    def run(self, template: Template, join: Join, where: Where) -> Any:
        """Run a compiled template and join its pieces; foreign exceptions become ``InputError`` with their place."""
        outer = CURRENT.evaluation
        CURRENT.evaluation = self
        try:
            return join(template.pieces(Names(self)))
        except Carried as carried:
            if outer is None:
                raise carried.error from None
            raise
        except (UnknownValueError, NeedsResult, ProvisionError):
            raise
        except Exception as error:
            raise failures.translate(error, self, template, where) from error
        finally:
            CURRENT.evaluation = outer

    def loop(self, name: str, terms: list[Any], options: dict[str, Any], where: Where) -> list[Any]:
        """What a lookup gives outside of any template, for ``with_NAME``."""
        outer = CURRENT.evaluation
        CURRENT.evaluation = self
        try:
            return [plain(item) for item in run_lookup(self, name, terms, options)]
        except Carried as carried:
            raise carried.error from None
        except (UnknownValueError, NeedsResult, ProvisionError):
            raise
        except Exception as error:
            raise failures.outside(error, self, where()) from error
        finally:
            CURRENT.evaluation = outer

    def host_variables(self, host: str) -> Any:
        """The variables of a host as a mapping; raises ``KeyError`` for hosts that are not in the inventory."""
        found = self._peers.get(host)
        if found is None:
            scope = self.scope
            if host not in scope.peers:
                raise KeyError(host)
            if host != scope.host and scope.on_hostvars is not None:
                try:
                    scope.on_hostvars(host)
                except (NeedsResult, ProvisionError):
                    raise
                except Exception as error:
                    raise Carried(error) from error
            peer = Evaluation(self.environment, scope.peers[host], self.search_paths, read_only=self.read_only)
            found = self._peers[host] = Vars(peer)
        return found

    def derived(self, below: Mapping[str, Any], above: Mapping[str, Any]) -> Evaluation:
        """An evaluation with more data below and above all variables of the scope."""
        layers = (Layer(Level.COMMAND_LINE, below, "template", trusted=False), Layer(Level.EXTRA, above, "template_vars", trusted=False))
        evaluation = Evaluation(self.environment, self.scope.child(*layers), self.search_paths, read_only=self.read_only)
        evaluation.warn = self.warn
        evaluation.beside = self.beside
        return evaluation

    def template_folders(self) -> list[Path]:
        """Where templates are looked for, nearest first."""
        return [*self.beside, *(folder for base in self.search_paths for folder in (base / "templates", base))]

    def find_template(self, name: str) -> Path:
        """The file of an included, imported or extended template; raises Jinja's ``TemplateNotFound``."""
        for folder in self.template_folders():
            path = folder / name
            if path.is_file():
                return path
        raise jinja2.TemplateNotFound(name)

    def read(self, path: Path) -> str:
        """The text of a template file."""
        return self.environment.read_text(path)


def _overlaid(below: dict[Any, Any], above: dict[Any, Any]) -> dict[Any, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        merged[key] = _overlaid(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
