"""Lookups that only rearrange their terms: for ``with_items`` and its relatives."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from typing import Any

from provisioner.templating.filters.collections import flatten
from provisioner.templating.filters.collections import subelements as pairs_of
from provisioner.templating.lookups.context import Lookup, LookupContext
from provisioner.templating.natural import describe


def items(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """The terms, lists among them opened one level."""
    opened: list[Any] = []
    for term in terms:
        opened.extend(term if isinstance(term, list) else [term])
    return opened


def as_list(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """The terms as they are."""
    return terms


def dictionary(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """Mappings as lists of key and value."""
    for term in terms:
        if not isinstance(term, Mapping):
            raise TypeError(f"the lookup needs mappings, not {describe(term)}")
    return [{"key": key, "value": value} for term in terms for key, value in term.items()]


def _rows(terms: list[Any], name: str) -> list[list[Any]]:
    if not terms:
        raise ValueError(f"with_{name} requires at least one element in each list, and there is no list")
    return [term if isinstance(term, list) else [term] for term in terms]


def nested(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """All combinations of one element of each list."""
    return [flatten(row, skip_nulls=False) for row in itertools.product(*_rows(terms, "nested"))]


def cartesian(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """All combinations of one element of each list."""
    return [flatten(row, skip_nulls=False) for row in itertools.product(*_rows(terms, "cartesian"))]


def together(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """Lists element by element, filled with null."""
    return [flatten(row, skip_nulls=False) for row in itertools.zip_longest(*_rows(terms, "together"))]


def flattened(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """The elements of all lists, however deep."""
    return flatten(terms)


def indexed_items(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """Pairs of position and element; lists are opened one level."""
    return [[index, item] for index, item in enumerate(flatten(terms, levels=1, skip_nulls=False))]


def random_choice(_context: LookupContext, terms: list[Any]) -> list[Any]:
    """One of the terms."""
    return [random.choice(terms)] if terms else []


_SUBELEMENTS_TERMS = "first a dict or a list, second a string (the key of the inner list), then optionally flags"


def subelements(_context: LookupContext, terms: list[Any], *, skip_missing: bool = False) -> list[Any]:
    """Pairs of each element, without its inner list, and each entry of that list.

    The terms are the list, the key of the inner list, and a mapping of flags such as ``skip_missing``.
    """
    if len(terms) == 1 and isinstance(terms[0], list) and len(terms[0]) in (2, 3):
        terms = terms[0]
    if len(terms) not in (2, 3):
        raise ValueError(f"subelements expects a list of two or three terms, not of {len(terms)}: {_SUBELEMENTS_TERMS}")
    flags = terms[2] if len(terms) == 3 else {}
    if not isinstance(flags, Mapping) or set(flags) - {"skip_missing"}:
        raise ValueError(
            f"the optional third item must be a dict of flags; the only one known is skip_missing; terms are {_SUBELEMENTS_TERMS}"
        )
    skipped = isinstance(terms[0], Mapping) and terms[0].get("skipped", False) is not False
    elements = [] if skipped else list(terms[0].values()) if isinstance(terms[0], Mapping) else terms[0]
    for fits, found in ((isinstance(elements, list), elements), (isinstance(terms[1], str), terms[1])):
        if not fits:
            raise TypeError(f"the terms of subelements are {_SUBELEMENTS_TERMS}; found {describe(found)}")
    present = [item for item in elements if not (isinstance(item, Mapping) and item.get("skipped", False) is not False)]
    skipping = skip_missing or str(flags.get("skip_missing", False)).lower() in ("true", "yes", "1", "on")
    path = terms[1].split(".")
    return [[_without(element, path), entry] for element, entry in pairs_of(present, terms[1], skipping)]


def _without(element: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    """A mapping without the element at a path."""
    if len(path) == 1:
        return {key: value for key, value in element.items() if key != path[0]}
    return {key: _without(value, path[1:]) if key == path[0] else value for key, value in element.items()}


_SHORT = re.compile(r"(?:(0?x?[0-9a-f]+)-)?(0?x?[0-9a-f]+)(?:/(0?x?[0-9a-f]+))?(?::(.+))?", re.IGNORECASE)
_LIMIT = 1_000_000


def sequence(_context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """Numbers as texts: ``start=1 end=5 stride=2 format=host%02d``, or short ``1-5/2:host%02d``."""
    numbers: list[Any] = []
    for term in terms or ([""] if options else []):
        settings: dict[str, Any] = {"start": 1, "stride": 1, "count": None, "end": None, "format": "%d"}
        settings.update({name: value for name, value in options.items() if value is not None})
        settings.update(_sequence_term(term))
        numbers += _numbers(settings)
    return numbers


def _sequence_term(term: Any) -> dict[str, Any]:
    if isinstance(term, Mapping):
        pairs = dict(term)
    else:
        text = str(term).strip()
        short = _SHORT.fullmatch(text)
        if short is not None:
            found = {"start": short[1], "end": short[2], "stride": short[3], "format": short[4]}
            pairs = {name: value for name, value in found.items() if value is not None}
        else:
            pairs = _pairs(text)
    unknown = set(pairs) - {"start", "end", "count", "stride", "format"}
    if unknown:
        raise ValueError(f"unrecognized arguments to with_sequence: {', '.join(sorted(unknown))}")
    return {name: value if name == "format" else _integer(name, value) for name, value in pairs.items()}


def _pairs(text: str) -> dict[str, Any]:
    import shlex

    pairs: dict[str, Any] = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"cannot read '{text}'; write start=1 end=5, or 1-5")
        pairs[name] = value
    return pairs


def _integer(name: str, value: Any) -> int:
    try:
        return value if isinstance(value, int) else int(str(value), 0)
    except ValueError:
        raise ValueError(f"can't parse {name}={value} as integer: {name} has an invalid value, write a whole number") from None


def _numbers(settings: Mapping[str, Any]) -> list[str]:
    start, stride, count, end = settings["start"], settings["stride"], settings["count"], settings["end"]
    start, stride = _integer("start", start), _integer("stride", stride)
    if count is None and end is None:
        raise ValueError("must specify count or end in with_sequence")
    if count is not None and end is not None:
        raise ValueError("can't specify both count and end in with_sequence")
    if count is not None:
        count = _integer("count", count)
        end = start + count * stride - 1  # with a negative stride two more than were asked for, as stock has it
        if count == 0:
            return []
    end = _integer("end", end)
    if stride == 0:
        return []
    if (end - start) * stride < 0:
        raise ValueError("to count " + ("backwards make stride negative" if stride > 0 else "forward don't make stride negative"))
    found = range(start, end + (1 if stride > 0 else -1), stride)
    if len(found) > _LIMIT:
        raise ValueError(f"a sequence of {len(found)} numbers is too long")
    return [_formatted(str(settings["format"]), number) for number in found]


def _formatted(form: str, number: int) -> str:
    try:
        return form % number
    except (ValueError, TypeError) as error:
        raise ValueError(f"bad formatting string: {form}, which is none for a number, such as host%02d ({error})") from None


LOOKUPS: dict[str, Lookup] = {
    "dict": dictionary,
    "indexed_items": indexed_items,
    "items": items,
    "list": as_list,
    "nested": nested,
    "random_choice": random_choice,
    "sequence": sequence,
    "subelements": subelements,
    "together": together,
}

GENERAL: dict[str, Lookup] = {"cartesian": cartesian, "flattened": flattened}
