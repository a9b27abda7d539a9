"""Arguments of a task against a module's declaration: names, types, choices and rules, all problems at once.

``coerce`` serves both sides of a run: before it, with templates standing in as unknown values, and at each step with the rendered ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from provisioner.diagnostics import Diagnostic, Span, did_you_mean
from provisioner.node.declare import Module, Rule
from provisioner.schema.conversion import CONVERT, FALSE, TRUE, ConversionError, shown
from provisioner.schema.fields import Field, fields_of, spellings
from provisioner.values import Unknown, find_unknown

RAW = "_raw_params"
Spans = Callable[[str], "Span | None"]


def _nowhere(_name: str) -> Span | None:
    return None


def coerce(
    module: Module, args: Mapping[str, Any], spans: Spans = _nowhere, *, defaults: bool = True
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The parameters for ``module.params(**...)`` from the arguments of a task, and what is wrong with them.

    ``args`` may use aliases, and ``_raw_params`` for the free form. None means "not given". ``values.Unknown`` passes through as it is.
    ``spans(option)`` gives the place of an argument. With errors the parameters are incomplete and must not be used.
    ``defaults=False`` leaves out what was not given.
    """
    return _Coercion(module, spans).run(args, defaults)


class _Coercion:
    def __init__(self, module: Module, spans: Spans) -> None:
        self._module = module
        self._spans = spans
        self._fields = fields_of(module.params)
        self._problems: list[Diagnostic] = []

    def _error(self, name: str, message: str, help: str = "", why: str = "", code: str = "option") -> None:
        self._problems.append(Diagnostic(f"{self._module.name}: {message}", self._spans(name), why=why, help=help, code=code))

    def run(self, args: Mapping[str, Any], defaults: bool) -> tuple[dict[str, Any], list[Diagnostic]]:
        given, written = self._named(args)
        values: dict[str, Any] = {}
        failed: set[str] = set()
        for name, value in given.items():
            field = self._fields[name]
            try:
                values[name] = value if field.name == self._module.extra else self._value(field, value)
            except ConversionError as error:
                failed.add(name)
                self._error(written[name], f"{written[name]} {error}", error.help)
        self._require(values, failed)
        complete = {name: field.default for name, field in self._fields.items() if not field.required} | values
        for rule in self._module.rules:
            self._check(rule, values, complete, failed, written)
        return (complete if defaults else values), self._problems

    def _named(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Arguments by field name, and how each was written."""
        known = spellings(self._module)
        given: dict[str, Any] = {}
        written: dict[str, str] = {}
        extra: dict[str, Any] = {}
        for name, value in args.items():
            target = known.get(name)
            if name == RAW and (target is None or self._module.free_form):
                target = self._free_form(value)
                if target is None:
                    continue
            if target is None:
                self._undeclared(name, value, known, extra)
            elif value is not None:
                if target in given:
                    self._twice(target, written[target], name)
                    if name != target:
                        continue
                given[target], written[target] = value, name
        if self._module.extra and extra:
            given[self._module.extra], written[self._module.extra] = extra, self._module.extra
        return given, written

    def _free_form(self, value: Any) -> str | None:
        if self._module.free_form:
            return self._module.free_form
        if isinstance(value, Unknown) or value not in (None, ""):
            said = "" if isinstance(value, Unknown) else f" ({shown(value)})"
            example = f"{self._module.name}: {{{next(iter(self._fields), 'option')}: ...}}"
            self._error(RAW, f"takes no free-form text{said}", f"name the option, e.g. {example}")
        return None

    def _undeclared(self, name: str, value: Any, known: Mapping[str, str], extra: dict[str, Any]) -> None:
        if self._module.extra:
            extra[name] = value
            return
        near = did_you_mean(str(name), known)
        if not near:
            options = [field.name for field in self._fields.values()]
            near = f"options: {', '.join(options)}" if options else "this module has no options"
        if self._module.lenient:
            self._warn(
                name, f"unsupported option {name!r}", f"{self._module.name} passes over what it does not know", near, "unknown-option"
            )
            return
        self._error(name, f"unsupported option {name!r}", near, code="unknown-option")

    def _warn(self, name: str, message: str, why: str, help: str, code: str = "option") -> None:
        place = self._spans(name)
        self._problems.append(Diagnostic(f"{self._module.name}: {message}", place, why=why, help=help, severity="warning", code=code))

    def _twice(self, target: str, first: str, second: str) -> None:
        self._warn(second, f"{first!r} and {second!r} are the same option", f"{target!r} counts", "give one of them")

    def _value(self, field: Field, value: Any) -> Any:
        if isinstance(value, Unknown):
            return value
        if field.type == "list":
            converted: Any = [
                item if item is None or isinstance(item, Unknown) else _convert(field, field.elements or "raw", item)
                for item in CONVERT["list"](value)
            ]
        else:
            converted = _convert(field, field.type, value)
        if field.choices:
            converted = _choose(field, converted)
        return converted

    def _require(self, values: Mapping[str, Any], failed: set[str]) -> None:
        missing = [name for name, field in self._fields.items() if field.required and name not in values and name not in failed]
        if missing:
            name = missing[0] if len(missing) == 1 else ""
            help_ = self._fields[name].help if name else "; ".join(f"{item}: {self._fields[item].help}" for item in missing)
            self._error("", f"missing required arguments: {', '.join(missing)}", help_, code="missing-option")

    def _check(
        self, rule: Rule, given: Mapping[str, Any], complete: Mapping[str, Any], failed: set[str], written: Mapping[str, str]
    ) -> None:
        if failed & {*rule.names, rule.when[0]}:
            return
        # what is unknown may turn out to be omitted, so it satisfies a rule and breaks none
        present = [name for name in rule.names if given.get(name) is not None and not isinstance(given[name], Unknown)]
        absent = [name for name in rule.names if complete.get(name) is None]
        message = _breach(rule, present, absent, given, complete)
        if message:
            place = written.get(present[-1] if present else rule.when[0], "")
            self._error(place, message, code="option-rule")


def _convert(field: Field, kind: str, value: Any) -> Any:
    if kind in ("content", "file") and not isinstance(value, (str, int, float, list, tuple, dict)):
        return value
    if kind not in ("str", "path", "bool", "int", "float") and find_unknown(value) is not None:
        return value
    converted = CONVERT[kind](value)
    return int(converted) if kind == "duration" and field.whole else converted


def _choose(field: Field, value: Any) -> Any:
    if isinstance(value, list):
        return [item if isinstance(item, Unknown) else _choose_one(field, item) for item in value]
    return _choose_one(field, value)


def _choose_one(field: Field, value: Any) -> Any:
    """The choice that a value means: YAML reads an unquoted ``yes`` or ``on`` as a boolean where the choice is that word."""
    if value in field.choices:
        return value
    if value in (True, False, "True", "False"):
        words = TRUE if value in (True, "True") else FALSE
        meant = [choice for choice in field.choices if str(choice).lower() in words]
        if len(meant) == 1:
            return meant[0]
    choices = [str(choice) for choice in field.choices]
    help_ = did_you_mean(str(value), choices)
    raise ConversionError(f"must be one of: {', '.join(choices)}, got: {value}", help_)


def _breach(rule: Rule, present: list[str], absent: list[str], given: Mapping[str, Any], complete: Mapping[str, Any]) -> str:
    """What breaks a rule, or an empty text."""
    if rule.kind == "exclusive":
        return f"parameters are mutually exclusive: {' and '.join(present)}" if len(present) > 1 else ""
    if rule.kind == "one_of":
        return f"one of the following is required: {', '.join(rule.names)}" if len(absent) == len(rule.names) else ""
    if rule.kind == "together":
        lacking = [item for item in rule.names if given.get(item) is None]
        return f"parameters are required together: {', '.join(rule.names)}" if present and lacking else ""
    name, wanted = rule.when
    if rule.kind == "required_by":
        trigger = given.get(name)
        return f"{name} also needs: {', '.join(absent)}" if trigger is not None and not isinstance(trigger, Unknown) and absent else ""
    value = complete.get(name)
    if isinstance(value, Unknown) or value != wanted:
        return ""
    if not absent or (rule.any_of and len(absent) < len(rule.names)):
        return ""
    joined = f"any of: {', '.join(rule.names)}" if rule.any_of else f"all of: {', '.join(absent)}"
    return f"{name} is {wanted} but {joined} are missing"


def problems(module: Module, args: Mapping[str, Any], spans: Spans, is_open: Callable[[Any], bool]) -> Iterator[Diagnostic]:
    """The static check: arguments as written, where ``is_open`` tells which parts are only known at run time (templates)."""
    stand_in = Unknown("a template")

    def opened(value: Any) -> Any:
        if is_open(value):
            if isinstance(value, Mapping):
                return {key: opened(child) for key, child in value.items()}
            if isinstance(value, (list, tuple)):
                return [opened(child) for child in value]
            return stand_in
        return value

    _, found = coerce(module, {name: opened(value) for name, value in args.items()}, spans)
    yield from found
