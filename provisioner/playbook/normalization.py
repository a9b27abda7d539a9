"""Keyword values as the model holds them: one condition or a list of them, tags as words, loops, directives; problems go to ``Reporter``.

Nothing is rendered here: where a value holds a template it stays as it is, and only what is certainly wrong is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from keyword import kwlist
from typing import Any

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.playbook.arguments import has_template
from provisioner.playbook.keywords import BLOCK, KEYWORDS, LOOP_CONTROL, REMOVED, SHARED, Keyword, misplaced
from provisioner.playbook.model import Directives, Loop, LoopControl
from provisioner.playbook.places import Place, below, key_of, span
from provisioner.schema.conversion import ConversionError, kind_of, shown, to_bool, to_float, to_int

IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PERCENT = re.compile(r"\s*[0-9]+(?:\.[0-9]+)?\s*%?\s*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NOT_NAMES = frozenset({*kwlist, "true", "false", "none"})


@dataclass(frozen=True)
class Reporter:
    """Where problems of one mapping of a file go. ``tolerated``: the playbook copes with a failure here, so errors are warnings."""

    diagnostics: Diagnostics
    file: str
    place: Place
    tolerated: bool = False

    def at(self, key: str | None = None) -> Span:
        """The place of a key, or of the mapping."""
        return span(self.file, self.place if key is None else key_of(self.place, key))

    def value_at(self, *path: Any) -> Span:
        """The place of a value."""
        return span(self.file, below(self.place, *path))

    def error(self, message: str, place: Span, *, why: str = "", help: str = "", code: str = "") -> None:
        """Report an error."""
        self.diagnostics.error(message, place, why=why, help=help, code=code)

    def warning(self, message: str, place: Span, *, why: str = "", help: str = "", code: str = "") -> None:
        """Report a warning."""
        self.diagnostics.warning(message, place, why=why, help=help, code=code)

    def within(self, *path: Any) -> Reporter:
        """The same for a part of the mapping."""
        return Reporter(self.diagnostics, self.file, below(self.place, *path), self.tolerated)


def keyword_value(keyword: Keyword, value: Any, report: Reporter) -> Any:
    """Check a value against its keyword's kind and return the form the model holds; None where it cannot be used."""
    if value is None:
        return None
    handler = _KINDS.get(keyword.kind)
    return value if handler is None else handler(keyword, value, report)


def _wrong(keyword: Keyword, value: Any, report: Reporter, wanted: str, help: str = "") -> None:
    report.error(f"{keyword.name} takes {wanted}, not {shown(value)}", report.value_at(keyword.name), help=help, code="keyword-value")


def _bool(keyword: Keyword, value: Any, report: Reporter) -> Any:
    return _converted(keyword, value, report, to_bool, "a boolean", "write true or false")


def _int(keyword: Keyword, value: Any, report: Reporter) -> Any:
    return _converted(keyword, value, report, to_int, "a whole number")


def _number(keyword: Keyword, value: Any, report: Reporter) -> Any:
    return _converted(keyword, value, report, to_float, "a number")


def _converted(keyword: Keyword, value: Any, report: Reporter, convert: Callable[[Any], Any], wanted: str, help: str = "") -> Any:
    """A plain value is checked now and a boolean text becomes one; a template is left alone."""
    if has_template(value):
        return value
    try:
        converted = convert(value)
    except ConversionError:
        _wrong(keyword, value, report, wanted, help)
        return None
    return converted if convert is to_bool else value


def _percent(keyword: Keyword, value: Any, report: Reporter) -> Any:
    if not has_template(value) and not _PERCENT.fullmatch(str(value)):
        _wrong(keyword, value, report, "a percentage")
        return None
    return value


def _text(keyword: Keyword, value: Any, report: Reporter) -> Any:
    if isinstance(value, (list, dict)):
        _wrong(keyword, value, report, "a text")
        return None
    return value


def _name(keyword: Keyword, value: Any, report: Reporter) -> str | None:
    if isinstance(value, (list, dict)):
        _wrong(keyword, value, report, "a text")
        return None
    return str(value)


def _variable(keyword: Keyword, value: Any, report: Reporter) -> str | None:
    text = _name(keyword, value, report)
    if text is None or is_variable(text) or (not keyword.static and has_template(text)):
        return text
    why = "names are letters, digits and _, and do not start with a digit"
    place = report.value_at(keyword.name)
    report.error(f"{keyword.name}: Invalid variable name {shown(value)}", place, why=why, code="variable-name")
    return None


def is_variable(name: object) -> bool:
    """Whether this can be the name of a variable."""
    return isinstance(name, str) and IDENTIFIER.fullmatch(name) is not None and name not in _NOT_NAMES


def texts(value: Any) -> tuple[Any, ...]:
    """A text or a list of texts as a tuple; None is none."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _texts(keyword: Keyword, value: Any, report: Reporter) -> tuple[Any, ...]:
    found = []
    for item in _flat(value):
        if isinstance(item, dict):
            _wrong(keyword, item, report, "texts")
        elif item is not None:
            found.append(item)
    return tuple(found)


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [item for child in value for item in _flat(child)]


def _tags(keyword: Keyword, value: Any, report: Reporter) -> tuple[str, ...]:
    """Words; ``a, b`` in one text are two."""
    found: list[str] = []
    for item in _flat(value):
        if isinstance(item, dict):
            _wrong(keyword, item, report, "a list of words")
        elif has_template(item):
            found.append(item)
        elif item is not None:
            found += [part.strip() for part in str(item).split(",") if part.strip()]
    return tuple(dict.fromkeys(found))


def has_braces(condition: str) -> bool:
    """Whether a condition contains templates; ``'{{' in text`` asks for two characters."""
    bare = _QUOTED.sub("''", condition)
    return "{{" in bare or "{%" in bare


def _conditions(keyword: Keyword, value: Any, report: Reporter) -> tuple[Any, ...]:
    found = []
    for index, item in enumerate(texts(value)):
        place = report.value_at(keyword.name, index) if isinstance(value, list) else report.value_at(keyword.name)
        if isinstance(item, (dict, list)):
            report.error(f"{keyword.name} takes expressions, not {kind_of(item)}", place, code="keyword-value")
            continue
        if isinstance(item, str) and has_braces(item) and keyword.name != "until":
            report.warning(
                f"{keyword.name} is an expression already and needs no {{{{ }}}}", place, help="write the bare expression", code="braces"
            )
        if item is not None:
            found.append(item)
    return tuple(found)


def _mapping(keyword: Keyword, value: Any, report: Reporter) -> Any:
    if not isinstance(value, dict):
        _wrong(keyword, value, report, "a mapping")
        return None
    return value


def _environment(keyword: Keyword, value: Any, report: Reporter) -> tuple[Any, ...]:
    found = []
    for item in texts(value):
        if isinstance(item, dict) or has_template(item):
            found.append(item)
        elif item is not None:
            _wrong(keyword, item, report, "a mapping, a list of mappings, or a template")
    return tuple(found)


_KINDS: dict[str, Callable[[Keyword, Any, Reporter], Any]] = {
    "bool": _bool,
    "int": _int,
    "number": _number,
    "percent": _percent,
    "text": _text,
    "name": _name,
    "variable": _variable,
    "texts": _texts,
    "tags": _tags,
    "conditions": _conditions,
    "mapping": _mapping,
    "environment": _environment,
    "defaults": _environment,
}

_ADDING = {"when", "tags", "environment", "module_defaults", "collections"}
NOTHING = Directives()


def directives(data: Mapping[str, Any], report: Reporter, *, defaults: Callable[[Any, Reporter], Any] | None = None) -> Directives:
    """The shared keywords of a play, role entry, block or task; ``defaults`` reads an entry of ``module_defaults``."""
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key in SHARED and value is not None:
            keyword = KEYWORDS[key]
            if key == "vars":
                values["vars"] = variables(value, report)
            else:
                checked = keyword_value(keyword, value, report)
                if checked is not None:
                    values[key] = checked
    if not values:
        return NOTHING
    if defaults is not None and "module_defaults" in values:
        values["module_defaults"] = tuple(defaults(item, report) for item in values["module_defaults"])
    return Directives(**values)


def variables(value: Any, report: Reporter, key: str = "vars") -> dict[str, Any]:
    """``vars:`` as a mapping of valid names."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        report.error(f"{key} takes a mapping of names to values, not {kind_of(value)}", report.value_at(key), code="keyword-value")
        return {}
    for name in value:
        if not is_variable(name):
            place = span(report.file, key_of(below(report.place, key), name))
            report.error(f"{shown(name)} is no variable name", place, help="use letters, digits and _", code="variable-name")
    return value


def loop_of(data: Mapping[str, Any], report: Reporter) -> Loop | None:
    """``loop`` or ``with_X`` with its ``loop_control``."""
    given = [key for key in data if key == "loop" or (isinstance(key, str) and key.startswith("with_"))]
    if len(given) > 1:
        report.error(f"two loops in one task: {given[0]} and {given[1]}", report.at(given[1]), help="keep one", code="loop")
    control = _loop_control(data.get("loop_control"), report)
    if not given or data[given[0]] is None:
        if given and given[0] != "loop":
            report.error(f"{given[0]} has no value", report.at(given[0]), help="give it what to loop over", code="loop")
        return None
    key = given[0]
    terms = data[key]
    if key == "loop":
        if not isinstance(terms, list) and not has_template(terms):
            help_ = f'a variable is written "{{{{ {terms} }}}}"' if is_variable(terms) else "write a list, or a template that gives one"
            report.error(f"loop takes a list, not {shown(terms)}", report.value_at("loop"), help=help_, code="loop")
        return Loop(terms, None, control)
    return Loop(terms, key[len("with_") :], control)


def _loop_control(value: Any, report: Reporter) -> LoopControl:
    if value is None:
        return LoopControl()
    if not isinstance(value, dict):
        why = "it may hold templates, but cannot be one"
        report.error("loop_control takes a mapping", report.value_at("loop_control"), why=why, code="keyword-value")
        return LoopControl()
    inner = report.within("loop_control")
    found: dict[str, Any] = {}
    for key, child in value.items():
        keyword = LOOP_CONTROL.get(key)
        if keyword is None:
            unknown(str(key), LOOP_CONTROL, inner, "loop_control")
            continue
        checked = keyword_value(keyword, child, inner)
        if checked is not None:
            found[key] = checked
    return LoopControl(**found)


def unknown(key: str, known: Mapping[str, Keyword], report: Reporter, where: str) -> None:
    """Report a keyword that does not exist, or not here."""
    elsewhere = misplaced(key)
    if key in REMOVED:
        report.error(f"keyword {key!r} does not exist any more", report.at(key), help=REMOVED[key], code="unknown-keyword")
    elif elsewhere:
        report.error(f"keyword {key!r} cannot stand in {where}", report.at(key), why=f"it belongs to {elsewhere}", code="misplaced-keyword")
    else:
        help_ = did_you_mean(key, known) or f"keywords of {where}: {', '.join(sorted(known))}"
        report.error(f"unknown keyword {key!r} in {where}", report.at(key), help=help_, code="unknown-keyword")


def unknown_block_keys(data: Mapping[str, Any], report: Reporter) -> None:
    """Report what cannot stand in a block."""
    for key in data:
        if key not in BLOCK:
            unknown(str(key), BLOCK, report, "a block")
