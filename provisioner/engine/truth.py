"""Ansible's reading of yes and no, and of numbers, where a keyword wants one."""

from __future__ import annotations

from typing import Any

from provisioner.errors import InputError
from provisioner.values import Unknown, UnknownValueError

YES = frozenset({"yes", "on", "1", "true", "y", "t"})
NO = frozenset({"no", "off", "0", "false", "n", "f", "", "none"})


def as_bool(value: Any, what: str = "value") -> bool:
    """The value as a truth value; anything that is neither yes nor no is an ``InputError``."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, Unknown):
        raise UnknownValueError(value)
    text = str(value).strip().lower()
    if text in YES:
        return True
    if text in NO:
        return False
    if text in ("1.0", "0.0"):
        return text == "1.0"
    raise InputError.of(f"{what}: The value {str(value)!r} could not be converted to 'bool': it is neither yes nor no")


def as_number(value: Any, what: str = "value") -> float:
    """The value as a number."""
    if isinstance(value, Unknown):
        raise UnknownValueError(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError.of(f"{what} is {value!r}, which is not a number") from None
