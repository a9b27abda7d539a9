"""Filters about numbers and sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from provisioner.templating.natural import describe

_UNITS = "YZEPTGMKB"
_FACTORS = {unit: 1 << (10 * power) for power, unit in enumerate(reversed(_UNITS))}
_SIZE = re.compile(r"\s*(\d*\.?\d*)\s*([A-Za-z]+)?\s*")


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} can only be used on numbers, not on {describe(value)}")
    return value


def logarithm(value: Any, base: Any = math.e) -> float:
    """The logarithm, natural by default."""
    return math.log10(_real("log", value)) if base == 10 else math.log(_real("log", value), base)


def power(value: Any, exponent: Any) -> float:
    """A power."""
    return math.pow(_real("pow", value), _real("pow", exponent))


def root(value: Any, base: Any = 2) -> float:
    """A root, square by default."""
    return math.sqrt(_real("root", value)) if base == 2 else math.pow(_real("root", value), 1.0 / float(base))


def human_readable(size: Any, isbits: bool = False, unit: str | None = None) -> str:
    """A number of bytes (or bits) with the unit that fits, or the given one: ``1.46 KB``."""
    try:
        number = float(size)
    except (TypeError, ValueError) as error:
        raise ValueError(f"human_readable() failed on bad input: '{size}' is no number") from error
    word = "bits" if isbits else "Bytes"
    for name in _UNITS:
        factor = _FACTORS[name]
        if (unit is None and number >= factor) or (unit is not None and unit.upper() == name):
            suffix = word if name == "B" else name + word[0]
            return f"{number / factor:.2f} {suffix}"
    return f"{number:.2f} {word}"


def human_to_bytes(size: Any, default_unit: str | None = None, isbits: bool = False) -> int:
    """The number of bytes (or bits) of a text such as ``10M`` or ``1.5 GB``."""
    found = _SIZE.fullmatch(str(size))
    if found is None or not found[1] or found[1] == ".":
        raise ValueError(f"human_to_bytes() can't interpret the input: '{size}' is no size such as 10M or 1.5 GB")
    unit = found[2] or default_unit
    if not unit:
        return round(float(found[1]))
    name = unit[0].upper()
    letter, words = ("b", ("bit", "bits")) if isbits else ("B", ("byte", "bytes"))
    if name not in _FACTORS or not _fits(unit, name, letter, words):
        example = "Mb" if isbits else "MB"
        raise ValueError(f"human_to_bytes() can't interpret the input: '{unit}' is no unit (expected is one such as M or {example})")
    return round(float(found[1]) * _FACTORS[name])


def _fits(unit: str, name: str, letter: str, words: tuple[str, str]) -> bool:
    if unit.lower() in words or (name == "B" and unit in ("B", "b")):
        return unit.lower() in words or unit == letter
    return len(unit) == 1 or unit[1:] == letter or unit.lower() in _LONG_NAMES


_LONG_NAMES = {
    f"{prefix}{word}"
    for prefix in ("kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta")
    for word in ("byte", "bytes", "bit", "bits")
}


FILTERS: dict[str, Callable[..., Any]] = {
    "human_readable": human_readable,
    "human_to_bytes": human_to_bytes,
    "log": logarithm,
    "pow": power,
    "root": root,
}
