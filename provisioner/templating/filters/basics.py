"""Filters about values as such: defaults, truth, choice, type, chance."""

from __future__ import annotations

import random as chance
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import filters as jinja
from jinja2 import pass_environment
from jinja2.environment import Environment
from jinja2.runtime import Undefined

from provisioner.templating.missing import Missing
from provisioner.templating.natural import describe, type_name
from provisioner.values import Unknown

TRUE_WORDS = frozenset({"yes", "on", "1", "true"})


def default(value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    """The value, or another one when it is missing; with ``boolean`` also when it is empty or false."""
    if isinstance(value, Undefined):
        if isinstance(value, Missing):
            value.check()
        return default_value
    if isinstance(value, Unknown):
        return value
    return value if value or not boolean else default_value


def mandatory(value: Any, msg: str | None = None) -> Any:
    """The value; a missing one fails with the message."""
    if not isinstance(value, Undefined):
        return value
    if isinstance(value, Missing):
        value.check()
    name = value.name if isinstance(value, Missing) else None
    raise ValueError(msg if msg is not None else f"Mandatory variable {name!r} not defined." if name else "Mandatory variable not defined.")


def boolean(value: Any) -> bool:
    """Whether a value is one of the words for true, or the number 1."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str):
        return value.strip().lower() in TRUE_WORDS
    return isinstance(value, (int, float)) and value == 1


def ternary(value: Any, true_val: Any, false_val: Any, none_val: Any = None) -> Any:
    """One of two values by the truth of a third; another one for null if it is given. The one that is not chosen may be missing."""
    if isinstance(value, Unknown):
        return value
    if value is None and none_val is not None:
        return none_val
    return true_val if value else false_val


def type_debug(value: Any) -> str:
    """The name of the type."""
    return type_name(value)


@pass_environment
def random(environment: Environment, end: Any, start: Any = None, step: Any = None, seed: Any = None) -> Any:
    """A random element of a list, or number below ``end``; the same one again for the same seed."""
    source: Any = chance.Random(seed) if seed is not None else chance.SystemRandom()
    if isinstance(end, int):
        return source.randrange(start or 0, end, step or 1)
    if start is not None or step is not None:
        raise ValueError("start and step can only be used with integer values")
    if isinstance(end, float) or not isinstance(end, Iterable):
        raise TypeError(f"random can only be used on sequences and integers, not on {describe(end)}")
    elements = list(end)
    return source.choice(elements) if elements else environment.undefined("No random item, sequence was empty.")


def shuffle(elements: Any, seed: Any = None) -> Any:
    """The elements in random order, the same one again for the same seed; what is no list stays as it is."""
    if not isinstance(elements, Iterable):
        return elements
    mixed = list(elements)
    (chance.Random(seed) if seed is not None else chance.SystemRandom()).shuffle(mixed)
    return mixed


@pass_environment
def attr(environment: Environment, value: Any, name: str) -> Any:
    """An attribute (never an element) of a value."""
    if not name.startswith("_") and hasattr(value, name):
        return getattr(value, name)
    return environment.undefined(obj=value, name=name)


def undef(hint: str | None = None) -> Missing:
    """A value that fails when it is used, with the hint as message: for variables that others must set."""
    return Missing(hint or "Mandatory variable has not been overridden")


FILTERS: dict[str, Callable[..., Any]] = {
    **{
        name: jinja.FILTERS[name]
        for name in (
            "abs", "batch", "capitalize", "center", "count", "dictsort", "e", "escape", "filesizeformat", "first", "float", "forceescape",
            "format", "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "pprint",
            "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice", "sort", "string", "striptags",
            "sum", "title", "tojson", "trim", "truncate", "upper", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr",
        )
    },
    "attr": attr,
    "bool": boolean,
    "random": random,
    "shuffle": shuffle,
    "type_debug": type_debug,
}  # fmt: skip

UNGUARDED: dict[str, Callable[..., Any]] = {"default": default, "d": default, "mandatory": mandatory, "ternary": ternary}
"""Filters that are meant for missing values."""

SHALLOW = frozenset(
    {"attr", "batch", "count", "first", "groupby", "items", "last", "length", "list", "map", "reject", "rejectattr", "reverse", "select"}
    | {"selectattr", "slice", "type_debug"}
)
"""Filters that leave the elements of containers alone, or look at each of them by other filters and tests."""
