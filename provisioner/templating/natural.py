"""From the values inside an expression to those that leave it: plain data, or text.

Inside, values may be lazy, missing, marked up or iterators. Outside there are only the types of YAML and JSON (``datetime`` too),
``Unknown`` and ``OMIT``.
"""

from __future__ import annotations

import datetime
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Set, ValuesView
from typing import Any

from jinja2.runtime import Undefined
from markupsafe import Markup

from provisioner.templating.missing import Missing
from provisioner.values import Unknown, UnknownValueError, UnsafeText, find_unknown


class Omit:
    """The value of the variable ``omit``: an argument, element or piece of text that gets it is left out."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "omit"

    def __deepcopy__(self, _memo: object) -> Omit:
        return self


OMIT = Omit()


class DecryptedText(UnsafeText):
    """The text of a vaulted value: an ordinary text that is never a template, and that the test ``vault_encrypted`` still knows."""


SCALARS = frozenset({str, int, bool, float, type(None)})
_KEPT = (str, int, float, bytes, datetime.date)
_LISTED = (list, tuple, Set, range, Iterator, KeysView, ValuesView, ItemsView)


class UnsupportedValueError(TypeError):
    """The result of an expression is a thing no variable can hold, such as a function."""


def plain(value: Any) -> Any:
    """A copy with plain containers all the way down; left-out elements are gone; a missing value raises."""
    kind = type(value)
    if kind in SCALARS or kind is Unknown or value is OMIT:
        return value
    if isinstance(value, Undefined):
        return _undefined(value)
    if isinstance(value, Mapping):
        return {_key(key): item for key, item in ((key, plain(item)) for key, item in value.items()) if item is not OMIT}
    if isinstance(value, Markup):
        return str(value)
    if isinstance(value, _KEPT):
        return value
    if isinstance(value, _LISTED):
        return [item for item in map(plain, value) if item is not OMIT]
    if hasattr(kind, "reveal"):
        return DecryptedText(value.reveal())
    raise UnsupportedValueError(f"a {type_name(value)} cannot be the value of a variable")


def _key(key: Any) -> Any:
    if isinstance(key, (Unknown, Undefined)):
        raise UnknownValueError(key) if isinstance(key, Unknown) else UnsupportedValueError("a key is undefined")
    return key if type(key) is str or not isinstance(key, str) else str(key)


def _undefined(value: Undefined) -> Any:
    """Jinja gives its own, silent kind for ``{{ x if y }}`` without else: that is an empty text."""
    if isinstance(value, Missing):
        value.refuse()
    return ""


def text_of(value: Any) -> str:
    """The value as part of a longer text; what is not known raises ``UnknownValueError``."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Unknown):
        raise UnknownValueError(value)
    if isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, (Mapping, list, tuple, Set)):
        value = plain(value)
        unknown = find_unknown(value)
        if unknown is not None:
            raise UnknownValueError(unknown)
    return str(value)


def _shown(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None and value is not OMIT]


def join_native(values: Iterable[Any]) -> Any:
    """The value of a template: that of its only piece, or the text of all; a template without any output is None."""
    pieces = list(values)
    if len(pieces) == 1:
        return pieces[0]
    pieces = _shown(pieces)
    if not pieces:
        return None
    return pieces[0] if len(pieces) == 1 else "".join(map(text_of, pieces))


def join_plain(values: Iterable[Any]) -> Any:
    """The value of a template as plain data."""
    return plain(join_native(values))


def join_block(values: Iterable[Any]) -> Any:
    """The same for macros and ``{% set %}`` blocks, where no output is an empty text."""
    value = join_native(values)
    return "" if value is None else value


def join_text(values: Iterable[Any]) -> str | None:
    """The text of a template file; None when there is no output at all, which is not the same as an empty text (``keep_newlines``)."""
    value = join_native(values)
    return None if value is None or value is OMIT else text_of(value)


def keep_newlines(value: Any, wanted: int, sequence: str = "\n") -> Any:
    """A text with at least the line ends that its template has at the end, since Jinja takes one away."""
    if not wanted or not isinstance(value, str):
        return value
    present = (len(value) - len(value.rstrip(sequence))) // len(sequence)
    return value + sequence * (wanted - present) if present < wanted else value


def trailing_newlines(text: str) -> int:
    """How many line ends there are at the end."""
    return len(text) - len(text.rstrip("\n"))


def type_name(value: Any) -> str:
    """The name of a type as people who write playbooks know it: ``dict``, ``list``, ``str``, ``int``…"""
    for base in (bool, int, float, str, dict, list):
        if isinstance(value, base):
            return base.__name__
    if isinstance(value, Mapping):
        return "dict"
    return type(value).__name__


def describe(value: Any) -> str:
    """What kind of thing a value is, for error messages."""
    words: dict[str, str] = {
        "bool": "a boolean",
        "int": "a number",
        "float": "a number",
        "str": "a text",
        "list": "a list",
        "dict": "a mapping",
    }
    if value is None:
        return "empty (null)"
    return words.get(type_name(value), f"of type {type_name(value)}")
