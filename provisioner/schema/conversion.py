"""Ansible's conversions of argument values, one function a type: text to bool, comma text to list, ``k=v`` text to dict and so on.

Each takes a value that is neither None nor unknown and returns the converted one, or raises ``ConversionError`` whose text completes
the sentence "option x …".
"""

from __future__ import annotations

import ast
import datetime
import decimal
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from provisioner.values import WrittenFloat, WrittenInt

TRUE = frozenset({"y", "yes", "on", "1", "true", "t"})
FALSE = frozenset({"n", "no", "off", "0", "false", "f"})

_SYMBOLIC = re.compile(r"(?:[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+)(?:,[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+)*")
_OCTAL = re.compile(r"(?:0o)?([0-7]{1,5})")
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")
_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")
_SECONDS = {"": 1, "s": 1, "sec": 1, "seconds": 1, "m": 60, "min": 60, "minutes": 60, "h": 3600, "hours": 3600, "d": 86400, "days": 86400}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6, "z": 7, "y": 8}
PRESERVE = "preserve"


class ConversionError(ValueError):
    """A value that cannot become what the option takes; ``help`` says what to write instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    text = value.text if isinstance(value, (WrittenInt, WrittenFloat)) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def kind_of(value: Any) -> str:
    """What a person would call the value."""
    if isinstance(value, bool):
        return "a boolean"
    for types, name in (
        ((int, float), "a number"),
        ((str,), "a text"),
        ((Mapping,), "a mapping"),
        ((list, tuple, set, frozenset), "a list"),
    ):
        if isinstance(value, types):
            return name
    return f"a {type(value).__name__}"


def to_str(value: Any) -> Any:
    """A text; numbers keep their spelling where it matters (``12.10``)."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def to_bool(value: Any) -> bool:
    """True and False, or their usual words and numbers."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float, str)):
        word = str(int(value)) if isinstance(value, (int, float)) and value in (0, 1) else str(value).strip().lower()
        if word in TRUE:
            return True
        if word in FALSE:
            return False
    raise ConversionError(f"takes a boolean, not {shown(value)}", "write true or false")


def to_int(value: Any) -> int:
    """A whole number, or a text that holds one."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (str, float)):
        try:
            number = decimal.Decimal(str(value).strip())
            if number == int(number):
                return int(number)
        except (decimal.InvalidOperation, ValueError, OverflowError):
            pass  # said below, with the value
    raise ConversionError(f"takes a whole number, not {shown(value)}")


def to_float(value: Any) -> float:
    """A number, or a text that holds one."""
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except ValueError:
            pass  # said below, with the value
    raise ConversionError(f"takes a number, not {shown(value)}")


def to_list(value: Any) -> list[Any]:
    """A list; a text is cut at commas, a number is a list of one."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, str):
        return value.split(",")
    if isinstance(value, (int, float)):
        return [str(value)]
    raise ConversionError(f"takes a list, not {kind_of(value)}")


def to_dict(value: Any) -> dict[Any, Any]:
    """A mapping, JSON text, or text such as ``a=1, b="x y"``."""
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise ConversionError(f"takes a mapping, not {kind_of(value)}")
    text = value.strip()
    if text.startswith("{"):
        for read in (json.loads, ast.literal_eval):
            try:
                data = read(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if isinstance(data, dict):
                return data
        raise ConversionError("takes a mapping, and this text is neither JSON nor a Python dict")
    if "=" in text:
        return dict(_pairs(text))
    raise ConversionError(f"takes a mapping, not {shown(value)}", "write a mapping, or name=value pairs separated by commas")


def _pairs(text: str) -> list[tuple[str, str]]:
    """``a=1, b='x y'`` → pairs; quotes group, a backslash takes the next character as it is."""
    words, word, quote, escaped = [], "", "", False
    for character in text:
        if escaped:
            word, escaped = word + character, False
        elif character == "\\":
            escaped = True
        elif quote:
            quote, word = ("", word) if character == quote else (quote, word + character)
        elif character in "\"'":
            quote = character
        elif character in ", ":
            words.append(word)
            word = ""
        else:
            word += character
    pairs = []
    for item in (*words, word):
        if item.strip():
            name, equals, content = item.partition("=")
            if not equals:
                raise ConversionError(f"takes name=value pairs, and {item.strip()!r} is none")
            pairs.append((name.strip(), content))
    return pairs


def to_raw(value: Any) -> Any:
    """Any value as it is; dates become text."""
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def to_path(value: Any) -> str:
    """A path; ``~`` and variables are expanded on the node, not here."""
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        raise ConversionError(f"takes one path, not {kind_of(value)}")
    return str(to_str(value))


def to_mode(value: Any) -> str:
    """A file mode as octal or symbolic text. A number counts when it is written in octal; a computed number is a mode's value."""
    if isinstance(value, WrittenInt):
        if re.fullmatch(r"0[0-7]*", value.text):
            return value.text if len(value.text) > 1 else "0000"
        digits = value.text.lstrip("+-")
        written = digits if re.fullmatch(r"[0-7]{1,5}", digits) else f"{int(value):o}"
        message = f"{value.text} is the number {int(value)} = octal {int(value):o}; write '0{written.lstrip('0')}'"
        raise ConversionError(message, "quote modes and start them with 0")
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0o7777:
        return f"{value:04o}"
    if isinstance(value, str):
        text = value.strip()
        octal = _OCTAL.fullmatch(text)
        if octal:
            return octal.group(1).rjust(4, "0")
        if text == PRESERVE or _SYMBOLIC.fullmatch(text):
            return text
    raise ConversionError(f"takes a file mode, not {shown(value)}", "write it like '0644' or u=rw,g=r")


def to_size(value: Any) -> int:
    """Bytes; texts may have a unit: ``10M``, ``1.5 GB`` (powers of 1024)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    match = _SIZE.fullmatch(str(value)) if isinstance(value, (str, float)) else None
    if match:
        unit = match.group(2).lower()
        for ending in ("bytes", "byte", "ib", "b"):
            if unit.endswith(ending):
                unit = unit[: -len(ending)]
                break
        if unit in _POWERS:
            return int(float(match.group(1)) * 1024 ** _POWERS[unit])
    raise ConversionError(f"takes a size, not {shown(value)}", "write bytes, or a number with K, M, G or T")


def to_duration(value: Any) -> float:
    """Seconds; texts may have a unit: ``30s``, ``5m``, ``1h``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match and match.group(2).lower() in _SECONDS:
        seconds = float(match.group(1)) * _SECONDS[match.group(2).lower()]
        return int(seconds) if seconds == int(seconds) else seconds
    raise ConversionError(f"takes seconds, not {shown(value)}", "write a number of seconds, or one with s, m or h")


def to_content(value: Any) -> Any:
    """The content of a file: text as it is, data as JSON."""
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value)
    if isinstance(value, (bool, int, float)):
        return str(value)
    return value


def to_json(value: Any) -> str:
    """Data as JSON text; text as it is."""
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value)
    return str(to_str(value)).strip()


CONVERT: dict[str, Callable[[Any], Any]] = {
    "str": to_str,
    "bool": to_bool,
    "int": to_int,
    "float": to_float,
    "list": to_list,
    "dict": to_dict,
    "raw": to_raw,
    "path": to_path,
    "file": to_path,
    "mode": to_mode,
    "size": to_size,
    "duration": to_duration,
    "content": to_content,
    "json": to_json,
}
