"""Version numbers as the test ``version`` compares them: loose, strict, semantic and PEP 440."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import Any

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("==", "=", "eq"), operator.eq),
    **dict.fromkeys(("<", "lt"), operator.lt),
    **dict.fromkeys(("<=", "le"), operator.le),
    **dict.fromkeys((">", "gt"), operator.gt),
    **dict.fromkeys((">=", "ge"), operator.ge),
    **dict.fromkeys(("!=", "<>", "ne"), operator.ne),
}


@functools.total_ordering
class LooseVersion:
    """Numbers and words in turn, compared one after the other; a number and a word cannot be compared."""

    def __init__(self, text: str) -> None:
        parts = re.findall(r"\d+|[a-z]+|[^a-z\d.]+", text)
        self.parts: list[int | str] = [int(part) if part.isdigit() else part for part in parts]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LooseVersion) and self.parts == other.parts

    def __lt__(self, other: LooseVersion) -> bool:
        return self.parts < other.parts  # a number beside a word raises, as it should

    __hash__ = None  # type: ignore[assignment]


def _strict(text: str) -> tuple[Any, ...]:
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", text)
    if found is None:
        raise ValueError(f"invalid version number '{text}'")
    numbers = tuple(int(part or 0) for part in found.groups()[:3])
    return (numbers, (0, found[4], int(found[5])) if found[4] else (1,))


def _semantic(text: str) -> tuple[Any, ...]:
    number = r"(0|[1-9]\d*)"
    found = re.fullmatch(rf"{number}\.{number}\.{number}(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", text)
    if found is None:
        raise ValueError(f"invalid semantic version '{text}'")
    words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in (found[4] or "").split(".")]
    return (tuple(int(part) for part in found.groups()[:3]), (0, tuple(words)) if found[4] else (1,))


def _pep440(text: str) -> Any:
    from packaging.version import Version

    return Version(text)


_KINDS: dict[str, Callable[[str], Any]] = {
    "loose": LooseVersion,
    "strict": _strict,
    "semver": _semantic,
    "semantic": _semantic,
    "pep440": _pep440,
}


def compare(value: Any, version: Any, operator: str = "eq", strict: bool | None = None, version_type: str | None = None) -> bool:
    """Whether ``value OPERATOR version`` holds for version numbers."""
    if strict is not None and version_type is not None:
        raise ValueError("strict and version_type cannot both be given")
    kind = version_type or ("strict" if strict else "loose")
    if kind not in _KINDS:
        raise ValueError(f"version_type is '{kind}'; it can be {', '.join(_KINDS)}")
    if operator not in _OPERATORS:
        raise ValueError(f"'{operator}' is no comparison; it can be {', '.join(_OPERATORS)}")
    for text in (value, version):
        if text is None or text == "":
            raise ValueError(
                "Input version value cannot be empty" if text is value else "Version parameter to compare against cannot be empty"
            )
    try:
        return _OPERATORS[operator](_KINDS[kind](str(value)), _KINDS[kind](str(version)))
    except TypeError as error:
        raise ValueError(f"'{value}' and '{version}' cannot be compared: a number meets a word") from error
