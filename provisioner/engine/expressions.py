"""Rendering raw values and deciding conditions, in the scope of a task on a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostic, Span
from provisioner.errors import InputError
from provisioner.templating.environment import DEFAULT_SYNTAX, Environment, Syntax
from provisioner.templating.lazy import is_shut
from provisioner.templating.natural import OMIT
from provisioner.templating.templar import Templar
from provisioner.templating.variables import Layer, Level, NeedsResult, Pending
from provisioner.templating.variables import Scope as Variables
from provisioner.values import Unknown


@dataclass(frozen=True)
class Truth:
    """Whether all conditions hold; ``condition`` is the one that does not, or is not known."""

    holds: bool | Unknown
    condition: Any = ""


class Expressions:
    """What all scopes of a run share."""

    def __init__(self, environment: Environment, *, read_only: bool, warn: Callable[[Diagnostic], None] | None = None) -> None:
        self.environment = environment
        self.read_only = read_only
        self.warn = warn

    def render(self, value: Any, scope: Scope, span: Span | None = None) -> Any:
        """A raw value with its templates replaced; what depends on an unknown value is ``Unknown``."""
        return scope.render(value, span)

    def truth(self, conditions: Sequence[Any], scope: Scope, span: Span | None = None) -> Truth:
        """Whether all conditions hold; false as soon as one certainly does not, unknown when one is unknown."""
        unknown: Truth | None = None
        templar: Templar | None = None
        for condition in conditions:
            holds: bool | Unknown
            if isinstance(condition, bool):
                holds = condition
            else:
                templar = templar or scope.templar
                try:
                    holds = templar.evaluate(condition, span)
                except InputError:
                    if unknown is not None:
                        # It may only make sense where the earlier, unknown condition holds.
                        continue
                    raise
            if isinstance(holds, Unknown):
                unknown = unknown or Truth(holds, str(condition))
            elif not holds:
                return Truth(False, condition)
        return unknown or Truth(True)


class Scope:
    """The variables that a task sees on a host, and rendering in them."""

    __slots__ = ("_expressions", "paths", "variables")

    omit = OMIT

    def __init__(self, expressions: Expressions, variables: Variables, paths: Sequence[Path] = ()) -> None:
        self._expressions = expressions
        self.variables = variables
        self.paths = paths

    @property
    def templar(self) -> Templar:
        """A templar for this scope."""
        shared = self._expressions
        return Templar(shared.environment, self.variables, search_paths=self.paths, read_only=shared.read_only, warn=shared.warn)

    def raw(self, name: str, default: Any = None) -> Any:
        """A variable as it is written; a pending one raises ``NeedsResult``."""
        found = self.variables.find(name)
        if found is None:
            return default
        if isinstance(found.value, Pending):
            raise NeedsResult(name)
        return found.value

    def written(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of some variables that are defined, as they are written; a pending one raises ``NeedsResult``."""
        found = self.variables.find_all(names)
        for name, item in found.items():
            if isinstance(item.value, Pending):
                raise NeedsResult(name)
        return {name: item.value for name, item in found.items()}

    def lookup(self, name: str, default: Any = None) -> Any:
        """A variable's value; the default when it is not defined."""
        found = self.variables.find(name)
        if found is None:
            return default
        if isinstance(found.value, Pending):
            raise NeedsResult(name)
        if not found.layer.trusted or not is_shut(found.value):
            return found.value
        return self.templar.render(found.value, found.layer.place((name,)))

    def render(self, value: Any, span: Span | None = None, *, spans: Mapping[str, Span] | None = None, at: str = "") -> Any:
        """A raw value with its templates replaced."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return self.templar.render(value, span, spans=spans, at=at)

    def value(self, expression: str, span: Span | None = None) -> Any:
        """The value of a bare expression."""
        return self.templar.value(expression, span)

    def loop_over(self, lookup: str, terms: Any, span: Span | None = None) -> Any:
        """What ``with_LOOKUP: terms`` loops over; ``terms`` is raw."""
        rendered = self.render(terms, span)
        if isinstance(rendered, Unknown):
            return rendered
        if not isinstance(rendered, (list, tuple)):
            rendered = [rendered]
        return self.templar.lookup(lookup, rendered, span)

    def text(self, text: str, file: str, syntax: Syntax = DEFAULT_SYNTAX) -> str | Unknown:
        """The text that a template file gives."""
        return self.templar.text(text, file, syntax=syntax)

    def with_templates(self, templates: Mapping[str, str]) -> Scope:
        """This scope with magic variables of ours that are computed when somebody asks for them."""
        layer = Layer(Level.MAGIC, templates, "magic", trusted=True)
        return Scope(self._expressions, self.variables.child(layer), self.paths)

    def plus(self, variables: Mapping[str, Any]) -> Scope:
        """This scope with variables on top of all others."""
        return Scope(self._expressions, self.variables.plus(variables), self.paths)
