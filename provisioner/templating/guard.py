"""The border between the template engine and the functions of plugins.

Functions of filters, tests and lookups are written for plain values. Around each of them stands a guard that lets a missing value
raise its own error instead of an obscure one, gives ``Unknown`` for what depends on an unknown value, opens lazy containers, turns
iterators into lists, and names the plugin in errors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2.runtime import Undefined

from provisioner.errors import ProvisionError
from provisioner.templating.failures import PluginFailed
from provisioner.templating.lazy import LazyDict, LazyList
from provisioner.templating.missing import Missing, MissingValueError
from provisioner.templating.natural import OMIT, SCALARS, plain
from provisioner.templating.variables import Carried, NeedsResult
from provisioner.values import Unknown, UnknownValueError, find_unknown

PASSED_ON = (UnknownValueError, NeedsResult, Carried, MissingValueError, PluginFailed, ProvisionError)
"""Exceptions that are not the plugin's own."""


_OF_NOTHING = {"extract": 2, "map": 1, "reject": 1, "rejectattr": 1, "select": 1, "selectattr": 1}
"""Filters that give a missing value in their first arguments on, so that ``x | map(...) | default([])`` works."""


def guard(kind: str, name: str, function: Callable[..., Any], *, shallow: bool = False) -> Callable[..., Any]:
    """The guarded function.

    ``shallow``: the function only looks at containers from outside, so unknown, missing and unrendered elements may stay in them.
    """
    first = 1 if hasattr(function, "jinja_pass_arg") else 0
    giving = _OF_NOTHING.get(name, 0) if kind == "filter" else 0

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            for arg in args:
                if type(arg) not in SCALARS:
                    for subject in args[first : first + giving]:
                        if isinstance(subject, Missing):
                            return subject
                    args = tuple([_admitted(arg, shallow) for arg in args])
                    break
            if kwargs:
                kwargs = {key: _admitted(arg, shallow) for key, arg in kwargs.items()}
            result = function(*args, **kwargs)
            return list(result) if isinstance(result, Iterator) else result
        except UnknownValueError as error:
            return error.unknown
        except PASSED_ON:
            raise
        except Exception as error:
            raise PluginFailed(kind, name, error) from error

    return guarded


def _admitted(arg: Any, shallow: bool) -> Any:
    """An argument as the function may see it."""
    if type(arg) in SCALARS or arg is OMIT:
        return arg
    if isinstance(arg, Unknown):
        raise UnknownValueError(arg)
    if isinstance(arg, Undefined):
        return refused(arg)
    if shallow:
        return list(arg) if isinstance(arg, Iterator) else arg
    if isinstance(arg, (LazyDict, LazyList, Iterator)) or (isinstance(arg, Mapping) and not isinstance(arg, dict)):
        arg = plain(arg)
    if Unknown.exists:
        unknown = find_unknown(arg)
        if unknown is not None:
            raise UnknownValueError(unknown)
    return arg


def refused(value: Undefined) -> Any:
    """A missing value raises; Jinja's silent kind is an empty text."""
    if isinstance(value, Missing):
        value.refuse()
    return ""


def guard_all(
    kind: str, functions: Mapping[str, Callable[..., Any]], shallow: frozenset[str] = frozenset()
) -> dict[str, Callable[..., Any]]:
    """All functions of a table guarded."""
    return {name: guard(kind, name, function, shallow=name in shallow) for name, function in functions.items()}


def with_full_names(table: Mapping[str, Any], *collections: str) -> dict[str, Any]:
    """A table with each name also in the given collections: ``ansible.builtin.default``."""
    full = {f"{collection}.{name}": value for collection in collections for name, value in table.items()}
    return {**table, **full}
