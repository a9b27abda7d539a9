"""Filters of ``community.general``."""

from __future__ import annotations

import configparser
import csv
import io
import itertools
import operator
import random
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from provisioner.templating.filters import collections as lists
from provisioner.templating.natural import describe, text_of
from provisioner.templating.versions import LooseVersion


def json_query(data: Any, expr: str) -> Any:
    """What a JMESPath expression selects."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expr, data)
    except JMESPathError as error:
        raise ValueError(f"cannot evaluate the query '{expr}': {error}") from error


def to_dict(pairs: Any) -> dict[Any, Any]:
    """A mapping of pairs."""
    return dict(pairs)


def dict_kv(value: Any, key: Any) -> dict[Any, Any]:
    """A mapping of one key."""
    return {key: value}


def version_sort(versions: Any, reverse: bool = False) -> list[Any]:
    """Version numbers in order."""
    return sorted(versions, key=lambda version: LooseVersion(str(version)), reverse=reverse)


def counter(elements: Any) -> dict[Any, int]:
    """How often each element occurs."""
    if isinstance(elements, (str, Mapping)):
        raise TypeError(f"counter needs a list, not {describe(elements)}")
    return dict(Counter(elements))


def accumulate(elements: Any) -> list[Any]:
    """The running sums."""
    return list(itertools.accumulate(elements))


def crc32(value: Any) -> str:
    """The CRC-32 checksum of a text, hexadecimal."""
    return f"{zlib.crc32(text_of(value).encode()) & 0xFFFFFFFF:x}"


def groupby_as_dict(elements: Any, attribute: str) -> dict[Any, Any]:
    """A list of mappings as a mapping by one of their keys."""
    return lists.rekey_on_member(elements, attribute)


def _over_lists(function: Callable[[Any, Any], list[Any]]) -> Callable[..., list[Any]]:
    def filter_(*groups: Any, flatten: bool = False) -> list[Any]:
        rows = list(itertools.chain.from_iterable(groups)) if flatten else list(groups)
        if not rows:
            return []
        result = lists.union(rows[0], [])
        for row in rows[1:]:
            result = function(result, row)
        return result

    return filter_


def lists_mergeby(*terms: Any, recursive: bool = False, list_merge: str = "replace") -> list[Any]:
    """Lists of mappings merged where they have the same value of a key (the last argument)."""
    *groups, index = terms
    if not isinstance(index, str):
        raise TypeError("lists_mergeby needs the name of a key as its last argument")
    merged: dict[Any, Any] = {}
    for element in itertools.chain.from_iterable(lists.flatten(groups, levels=1) if _nested(groups) else groups):
        if not isinstance(element, Mapping):
            raise TypeError(f"lists_mergeby merges mappings, not {describe(element)}")
        if index in element:
            key = element[index]
            merged[key] = lists.combine(merged.get(key, {}), element, recursive=recursive, list_merge=list_merge)
    return [merged[key] for key in sorted(merged)]


def _nested(groups: list[Any]) -> bool:
    return bool(groups) and all(isinstance(item, list) for group in groups for item in group)


def from_csv(text: Any, dialect: str = "excel", fieldnames: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    """The rows of a table as mappings; options are those of Python's ``csv`` (``delimiter``, ``skipinitialspace``, ``strict``)."""
    reader = csv.DictReader(io.StringIO(text_of(text)), fieldnames=fieldnames, dialect=dialect, **options)
    return [dict(row) for row in reader]


def from_ini(text: Any) -> dict[str, dict[str, str]]:
    """The sections of an INI file."""
    parser = configparser.RawConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text_of(text))
    return {section: dict(parser.items(section)) for section in parser.sections()}


def to_ini(data: Any) -> str:
    """Sections as an INI file."""
    if not isinstance(data, Mapping) or not data:
        raise TypeError("to_ini needs a mapping of sections")
    parser = configparser.RawConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_dict(data)
    file = io.StringIO()
    parser.write(file)
    return file.getvalue().removesuffix("\n")


_SECONDS: dict[str, float] = {
    "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 2592000, "y": 31536000,
}  # fmt: skip
_UNIT_NAMES = {
    "ms": "ms", "msec": "ms", "msecs": "ms", "millisecond": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "second": "s",
    "seconds": "s", "m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "h": "h", "hour": "h", "hours": "h", "d": "d",
    "day": "d", "days": "d", "w": "w", "week": "w", "weeks": "w", "mo": "mo", "month": "mo", "months": "mo", "y": "y", "year": "y",
    "years": "y",
}  # fmt: skip


def to_time_unit(text: Any, unit: str = "ms", *, year: float = 365, month: float = 30) -> float:
    """A duration such as ``1h 30m`` as a number of one unit; ``year`` and ``month`` are numbers of days."""
    if unit.lower() not in _UNIT_NAMES:
        raise ValueError(f"unit '{unit}' is not known; it can be {', '.join(_SECONDS)}")
    if text in (0, "0"):
        return 0
    seconds = {**_SECONDS, "mo": 86400 * month, "y": 86400 * year}
    total = 0.0
    for part in text_of(text).split():
        found = re.fullmatch(r"(-?\d+)([A-Za-z]+)", part)
        name = _UNIT_NAMES.get(found[2].lower()) if found else None
        if found is None or name is None:
            raise ValueError(f"'{part}' is no duration such as 30m")
        total += int(found[1]) * seconds[name]
    return round(total / seconds[_UNIT_NAMES[unit.lower()]], 12)


def _to(unit: str) -> Callable[..., float]:
    def filter_(text: Any, **options: Any) -> float:
        return to_time_unit(text, unit, **options)

    return filter_


def key_matcher(target: Any, parameter: str) -> Callable[[str], bool]:
    """A function that tells whether a key fits one of the targets: equal, starts_with, ends_with or regex."""
    targets = [target] if isinstance(target, str) else list(target)
    kinds: dict[str, Callable[[str, str], bool]] = {
        "equal": operator.eq,
        "starts_with": str.startswith,
        "ends_with": str.endswith,
        "regex": lambda key, pattern: re.match(pattern, key) is not None,
    }
    if parameter not in kinds:
        raise ValueError(f"matching_parameter is '{parameter}'; it can be {', '.join(kinds)}")
    return lambda key: any(kinds[parameter](str(key), str(item)) for item in targets)


def keep_keys(data: Any, target: Any, matching_parameter: str = "equal") -> list[Any]:
    """A list of mappings with certain keys only."""
    fits = key_matcher(target, matching_parameter)
    return [{key: value for key, value in item.items() if fits(key)} for item in data]


def remove_keys(data: Any, target: Any, matching_parameter: str = "equal") -> list[Any]:
    """A list of mappings without certain keys."""
    fits = key_matcher(target, matching_parameter)
    return [{key: value for key, value in item.items() if not fits(key)} for item in data]


def replace_keys(data: Any, target: Any, matching_parameter: str = "equal") -> list[Any]:
    """A list of mappings with keys renamed: ``target`` is a list of mappings with ``before`` and ``after``."""
    rules = [
        (key_matcher(rule["before"], matching_parameter), rule["after"]) for rule in ([target] if isinstance(target, Mapping) else target)
    ]
    return [{next((after for fits, after in rules if fits(key)), key): value for key, value in item.items()} for item in data]


def random_mac(prefix: Any, seed: Any = None) -> str:
    """A hardware address with a prefix, the rest by chance; the same one again for the same seed."""
    parts = text_of(prefix).lower().strip(":").split(":")
    if len(parts) > 5 or not all(re.fullmatch(r"[0-9a-f]{2}", part) for part in parts):
        raise ValueError(f"'{prefix}' is no beginning of a hardware address: one to five pairs of hexadecimal digits")
    source: Any = random.Random(seed) if seed is not None else random.SystemRandom()
    number = source.randint(68719476736, 1099511627775)
    digits = f"{number:x}"
    pairs = [digits[start : start + 2] for start in range(0, 10, 2)]
    return ":".join([*parts, *pairs][:6])


def unicode_normalize(text: Any, form: Any = "NFC") -> str:
    """A text in one of the normal forms of Unicode."""
    return unicodedata.normalize(form, text_of(text))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "accumulate": accumulate,
    "counter": counter,
    "crc32": crc32,
    "dict": to_dict,
    "dict_kv": dict_kv,
    "from_csv": from_csv,
    "from_ini": from_ini,
    "groupby_as_dict": groupby_as_dict,
    "json_query": json_query,
    "keep_keys": keep_keys,
    "lists_difference": _over_lists(lists.difference),
    "lists_intersect": _over_lists(lists.intersect),
    "lists_mergeby": lists_mergeby,
    "lists_symmetric_difference": _over_lists(lists.symmetric_difference),
    "lists_union": _over_lists(lists.union),
    "random_mac": random_mac,
    "remove_keys": remove_keys,
    "replace_keys": replace_keys,
    "to_days": _to("d"),
    "to_hours": _to("h"),
    "to_ini": to_ini,
    "to_milliseconds": _to("ms"),
    "to_minutes": _to("m"),
    "to_months": _to("mo"),
    "to_seconds": _to("s"),
    "to_time_unit": to_time_unit,
    "to_weeks": _to("w"),
    "to_years": _to("y"),
    "unicode_normalize": unicode_normalize,
    "version_sort": version_sort,
}

COLLECTIONS = {"community.general": FUNCTIONS}

SHORT = {name: FUNCTIONS[name] for name in ("json_query", "random_mac")}
"""They were part of Ansible once, and are still called by their short names."""
