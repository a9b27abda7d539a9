"""Host entries as people write them: ``web[01:20:2].example.com:2222`` is twenty-odd names and a port."""

from __future__ import annotations

import ipaddress
import re
import string
from collections.abc import Iterator

_PORT = re.compile(r"(?P<host>(?:[^:\[\]]|\[[^\]]*\])+):(?P<port>[0-9]+)")
_BRACKETED_PORT = re.compile(r"\[(?P<host>.+)\]:(?P<port>[0-9]+)")
_RANGE = re.compile(r"\[(?P<first>[^\[\]:]*):(?P<last>[^\[\]:]*)(?::(?P<step>[^\[\]:]*))?\]")
_LABEL = re.compile(r"[\w](?:[\w-]*[\w])?")
_BRACKETS = re.compile(r"\[[^\]]*\]")


class HostPatternError(ValueError):
    """A host entry that cannot be read; the message says why."""


def split_port(text: str) -> tuple[str, int | None]:
    """``host:22`` and ``[fe80::1]:22`` as name and port; a text that is no address with a port is a name as it stands."""
    found = _BRACKETED_PORT.fullmatch(text) or _PORT.fullmatch(text)
    host, port = (found["host"], int(found["port"])) if found else (text, None)
    return (host, port) if is_address(host) else (text, None)


def is_address(text: str) -> bool:
    """Whether this is an IPv4 or IPv6 address or a host name; ranges in it count as one character."""
    plain = _BRACKETS.sub("0", text)
    try:
        ipaddress.ip_address(plain.partition("%")[0])
    except ValueError:
        return all(_LABEL.fullmatch(label) for label in plain.split("."))
    return True


def expand(entry: str) -> tuple[list[str], int | None]:
    """Names and port of one host entry. Raises ``HostPatternError``."""
    entry = entry.strip()
    if not entry:
        raise HostPatternError("a host's name is empty")
    if entry == "---":
        raise HostPatternError("'---' is no host: it begins a YAML file")
    if entry.endswith(":") or ": " in entry:
        raise HostPatternError(f"{entry!r} is no host: a colon stands before a port number")
    host, port = split_port(entry)
    return list(expand_ranges(host)), port


def expand_ranges(text: str) -> Iterator[str]:
    """Every name that a text with ``[first:last:step]`` ranges stands for, the leftmost range turning slowest."""
    opened = text.find("[")
    if not 0 <= opened < text.find(":", opened):
        yield text
        return
    found = _RANGE.match(text, opened)
    if found is None:
        raise HostPatternError(f"the range in {text!r} is not [first:last] or [first:last:step]")
    head, tail = text[:opened], text[found.end() :]
    for middle in _range(found["first"], found["last"], found["step"]):
        for rest in expand_ranges(tail):
            yield head + middle + rest


def _range(first: str, last: str, step: str | None) -> Iterator[str]:
    shown = f"[{first}:{last}{'' if step is None else ':' + step}]"
    first = first or "0"
    if not last:
        raise HostPatternError(f"range {shown} has no end")
    try:
        width = int(step) if step else 1
    except ValueError:
        raise HostPatternError(f"the step of range {shown} is no number") from None
    if width < 1:
        raise HostPatternError(f"the step of range {shown} must be at least 1")
    letters = string.ascii_letters
    if len(first) == len(last) == 1 and first in letters and last in letters:
        low, high = letters.index(first), letters.index(last)
        names = iter(letters[low : high + 1 : width])
    else:
        if not (first.isdigit() and last.isdigit()):
            raise HostPatternError(f"range {shown} goes neither from number to number nor from letter to letter")
        low, high = int(first), int(last)
        digits = len(first) if first[0] == "0" and len(first) > 1 else 0
        if digits and digits != len(last):
            raise HostPatternError(f"both ends of range {shown} must have the same number of digits")
        names = (str(number).zfill(digits) for number in range(low, high + 1, width))
    if low > high:
        raise HostPatternError(f"range {shown} ends before it begins")
    return names
