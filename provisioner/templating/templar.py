"""``Templar``: renders values and decides conditions in the scope of a task on a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostic, Span
from provisioner.errors import InputError
from provisioner.templating import conditions
from provisioner.templating.environment import Environment
from provisioner.templating.evaluation import Evaluation
from provisioner.templating.lazy import has_marks
from provisioner.templating.natural import OMIT, DecryptedText, join_plain, join_text
from provisioner.templating.syntax import DEFAULT_SYNTAX, Syntax
from provisioner.templating.variables import Scope
from provisioner.values import Unknown, UnknownValueError

Spans = Mapping[str, Span]


class Templar:
    """Renders in one scope.

    ``search_paths`` are the folders in which ``files/`` and ``templates/`` are looked for, nearest first (role, task file, playbook).
    ``read_only``: a plan, in which lookups must not create anything. ``warn`` gets what is accepted though it should be written otherwise.

    Every method raises ``InputError`` (``UndefinedVariable`` for what does not exist) with the place, and ``NeedsResult`` when a value is
    touched that is still on its way; what depends on an unknown value is ``Unknown``.
    """

    def __init__(
        self,
        environment: Environment,
        scope: Scope,
        *,
        search_paths: Sequence[Path] = (),
        read_only: bool = False,
        warn: Callable[[Diagnostic], None] | None = None,
    ) -> None:
        self.environment = environment
        self.scope = scope
        self.search_paths = tuple(search_paths)
        self.read_only = read_only
        self.warn = warn

    def within(self, scope: Scope) -> Templar:
        """The same templar in another scope."""
        return Templar(self.environment, scope, search_paths=self.search_paths, read_only=self.read_only, warn=self.warn)

    def render(self, value: Any, span: Span | None = None, *, spans: Spans | None = None, at: str = "") -> Any:
        """A raw value with all templates in it rendered; ``OMIT`` elements are gone, a value that is ``OMIT`` as a whole is returned.

        ``spans`` gives the places of nested values by dotted path below ``at``, as in ``Task.spans``; ``span`` is the nearest known one.
        """
        if type(value) is str and not has_marks(value):
            return value
        return self._deep(self._evaluation(), value, span, spans or {}, at)

    def _evaluation(self) -> Evaluation:
        evaluation = Evaluation(self.environment, self.scope, self.search_paths, read_only=self.read_only)
        evaluation.warn = self.warn
        return evaluation

    def _deep(self, evaluation: Evaluation, value: Any, span: Span | None, spans: Spans, at: str) -> Any:
        kind = type(value)
        if kind is str:
            return self._leaf(evaluation, value, span) if has_marks(value) else value
        if isinstance(value, Mapping):
            items = ((key, self._below(evaluation, child, span, spans, f"{at}.{key}")) for key, child in value.items())
            return {key: child for key, child in items if child is not OMIT}
        if isinstance(value, (list, tuple)):
            elements = (self._below(evaluation, child, span, spans, f"{at}.{index}") for index, child in enumerate(value))
            return [child for child in elements if child is not OMIT]
        reveal = getattr(kind, "reveal", None)
        return value if reveal is None else DecryptedText(reveal(value))

    def _below(self, evaluation: Evaluation, value: Any, span: Span | None, spans: Spans, at: str) -> Any:
        return self._deep(evaluation, value, spans.get(at.lstrip("."), span), spans, at)

    def _leaf(self, evaluation: Evaluation, text: str, span: Span | None) -> Any:
        try:
            return evaluation.value(text, lambda: span, join_plain)
        except UnknownValueError as error:
            return error.unknown

    def value(self, expression: str, span: Span | None = None) -> Any:
        """The value of a bare expression (``debug: var=``), as plain data."""
        try:
            return self._evaluation().expression(expression, lambda: span, join_plain)
        except UnknownValueError as error:
            return error.unknown

    def evaluate(self, condition: Any, span: Span | None = None) -> bool | Unknown:
        """Whether a condition holds (``when``, ``until``, ``changed_when``, ``failed_when``, ``that``).

        A list holds when all do. Like ansible-core up to 2.18, the truth of values that are no booleans is taken, with a warning.
        """
        if not isinstance(condition, (list, tuple)):
            return conditions.decide(condition, self._evaluation(), span, self._warning(span))
        unknown: Unknown | None = None
        for part in condition:
            holds = self.evaluate(part, span)
            if isinstance(holds, Unknown):
                unknown = unknown or holds
            elif not holds:
                return False
        return True if unknown is None else unknown

    def condition_list(self, text: str, span: Span | None = None) -> list[Any] | None:
        """The list of conditions that a template stands for, for ``evaluate``; None where it gives no list."""
        try:
            return conditions.conditions_of(text, self._evaluation(), span)
        except UnknownValueError:
            return None

    def _warning(self, span: Span | None) -> conditions.Warn:
        def warning(message: str, help: str, broken: bool) -> None:
            if broken and self.environment.settings.get("ALLOW_BROKEN_CONDITIONALS") is False:
                raise InputError.of(message, span, why="allow_broken_conditionals is off", help=help)
            if self.warn is not None:
                self.warn(Diagnostic(message, span, help=help, severity="warning", code="condition"))

        return warning

    def text(self, text: str, file: str, *, syntax: Syntax = DEFAULT_SYNTAX) -> str | Unknown:
        """The text that a template file gives; ``file`` is its path, includes are looked for beside it too."""
        value: str | Unknown | None = self._evaluation().file(text, file, syntax, join_text)
        return "" if value is None else value

    def lookup(self, name: str, terms: Sequence[Any], span: Span | None = None, **options: Any) -> list[Any] | Unknown:
        """What a lookup gives, as a list: for ``with_NAME`` loops. ``terms`` are rendered already."""
        try:
            return self._evaluation().loop(name, list(terms), options, lambda: span)
        except UnknownValueError as error:
            return error.unknown

    def parse_check(self, text: str, span: Span | None = None) -> Diagnostic | None:
        """See ``Environment.parse_check``."""
        return self.environment.parse_check(text, span)
