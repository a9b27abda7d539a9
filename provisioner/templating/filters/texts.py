"""Filters about text: regular expressions, quoting, comments, URLs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from provisioner.templating.natural import text_of


def _flags(ignorecase: bool, multiline: bool) -> int:
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def _text(value: Any) -> str:
    return "None" if value is None else text_of(value)


def regex_replace(
    value: Any = "",
    pattern: str = "",
    replacement: str = "",
    ignorecase: bool = False,
    multiline: bool = False,
    count: int = 0,
    mandatory_count: int = 0,
) -> str:
    """The text with what matches replaced; ``mandatory_count`` says how often there must be a match."""
    text = _text(value)
    result, found = re.subn(str(pattern), str(replacement), text, count=count, flags=_flags(ignorecase, multiline))
    if mandatory_count and found != mandatory_count:
        raise ValueError(f"'{pattern}' should match {mandatory_count} times, but matches {found} times in '{text}'")
    return result


def regex_search(value: Any, regex: str, *args: str, ignorecase: bool = False, multiline: bool = False) -> Any:
    """The first match, or a list of groups (``'\\\\1'``, ``'\\\\g<name>'``) of it; null when nothing matches."""
    groups: list[str | int] = []
    for arg in args:
        named = re.fullmatch(r"\\(?:g<(?P<name>\S+)>|(?P<number>\d+))", str(arg))
        if named is None:
            raise ValueError(f"'{arg}' is no reference to a group; write '\\\\1' or '\\\\g<name>'")
        groups.append(named["name"] or int(named["number"]))
    match = re.search(str(regex), _text(value), _flags(ignorecase, multiline))
    if match is None:
        return None
    return [match.group(group) for group in groups] if groups else match.group()


def regex_findall(value: Any, regex: str, multiline: bool = False, ignorecase: bool = False) -> list[Any]:
    """All matches; lists of groups when there are several groups."""
    return re.findall(str(regex), _text(value), _flags(ignorecase, multiline))


def regex_escape(value: Any, re_type: str = "python") -> str:
    """The text with all characters that mean something in a regular expression escaped."""
    if re_type == "python":
        return re.escape(_text(value))
    if re_type == "posix_basic":
        return re.sub(r"([].[^$*\\])", r"\\\1", _text(value))
    if re_type == "posix_extended":
        raise ValueError(f"Regex type ({re_type}) not yet implemented; it can be python or posix_basic")
    raise ValueError(f"Invalid regex type ({re_type}); it can be python or posix_basic")


def quote(value: Any) -> str:
    """The text quoted for a POSIX shell."""
    return shlex.quote("" if value is None else text_of(value))


def split(value: Any, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    """The parts of a text between separators, by default white space."""
    return text_of(value).split(separator, maxsplit)


_STYLES: dict[str, dict[str, str]] = {
    "plain": {"decoration": "# "},
    "erlang": {"decoration": "% "},
    "c": {"decoration": "// "},
    "cblock": {"beginning": "/*", "decoration": " * ", "end": " */"},
    "xml": {"beginning": "<!--", "decoration": " - ", "end": "-->"},
}


def comment(text: Any, style: str = "plain", **options: Any) -> str:
    """The text as a comment.

    ``decoration`` stands before each line, ``prefix`` and ``postfix`` are lines above and below (``prefix_count``, ``postfix_count``
    times), ``beginning`` and ``end`` the outermost lines, ``newline`` the line end.
    """
    if style not in _STYLES:
        raise ValueError(f"Invalid style '{style}' of comment; it can be {', '.join(_STYLES)}")
    known = {"decoration", "beginning", "end", "newline", "prefix", "prefix_count", "postfix", "postfix_count"}
    unknown = set(options) - known
    if unknown:
        raise TypeError(f"unexpected argument '{min(unknown)}'; known are {', '.join(sorted(known))}")
    given = {"newline": "\n", "prefix_count": 1, "postfix_count": 1, **_STYLES[style], **options}
    decoration, newline = str(given["decoration"]), str(given["newline"])
    bare = decoration.rstrip()
    rows = text_of(text).split(newline)
    body = [decoration + row if row or index == len(rows) - 1 else bare for index, row in enumerate(rows)]
    lines = [given["beginning"]] if given.get("beginning") else []
    above = str(given.get("prefix", bare))
    if above:
        lines += ["" if above == newline else above] * int(given["prefix_count"])
    lines += body
    lines += [given.get("postfix", bare)] * int(given["postfix_count"])
    lines += [given["end"]] if given.get("end") else []
    return newline.join(map(str, lines))


def urldecode(value: Any) -> str:
    """A percent-encoded text decoded; plus signs are spaces."""
    return unquote_plus(text_of(value))


_URL_PARTS = ("fragment", "hostname", "netloc", "password", "path", "port", "query", "scheme", "username")


def url_split(value: Any, query: str = "") -> Any:
    """The parts of a URL, or one of them."""
    url = urlsplit(text_of(value))
    parts = {part: getattr(url, part) for part in _URL_PARTS}
    if not query:
        return parts
    if query not in parts:
        raise ValueError(f"unknown URL component: {query}; known are {', '.join(_URL_PARTS)}")
    return parts[query]


FILTERS: dict[str, Callable[..., Any]] = {
    "comment": comment,
    "quote": quote,
    "regex_escape": regex_escape,
    "regex_findall": regex_findall,
    "regex_replace": regex_replace,
    "regex_search": regex_search,
    "split": split,
    "urldecode": urldecode,
    "urlsplit": url_split,
}
