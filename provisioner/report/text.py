"""Lines on a terminal, a pipe or a file: widths, colours, and texts that cannot harm what shows them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from provisioner.diagnostics import Span

_STYLES = {
    "ok": "32",
    "changed": "33",
    "failed": "31;1",
    "unreachable": "31;1",
    "skipped": "36",
    "maybe": "36",
    "deferred": "35",
    "create": "32",
    "change": "33",
    "remove": "31",
    "act": "34;1",
    "bold": "1",
    "dim": "2",
    "warning": "33;1",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}
_ASCII = {"·": "-", "→": "->", "…": "...", "─": "-", "✓": "ok", "“": '"', "”": '"', "’": "'", "×": "x"}
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"  # direction marks that can reorder a line, line separators
    "\ud800-\udfff]"  # bytes that were not UTF-8 travel as lone surrogates
)


def clean(text: str) -> str:
    """The text with everything that could steer a terminal, or is no text at all, made visible: ``\\x1b``, ``\\xe9``, ``\\u202e``."""
    return _HARMFUL.sub(_visible, text.replace("\r\n", "\n"))


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code == 0x0D:
        return "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clean_data(value: object) -> object:
    """Nested plain data in which lone surrogates, which no JSON reader must accept, are visible escapes."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", _visible, value)
    if isinstance(value, dict):
        return {clean_data(key): clean_data(child) for key, child in value.items()}
    if isinstance(value, list):
        return [clean_data(child) for child in value]
    return value


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, cut to ``limit`` columns when given."""
    flat = clean(" ".join(text.split()))
    return shorten(flat, limit) if limit else flat


def width_of(text: str) -> int:
    """How many columns a terminal uses for the text."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def shorten(text: str, limit: int) -> str:
    """The text cut to at most ``limit`` columns, with ``…`` where something is missing."""
    if width_of(text) <= limit:
        return text
    kept = ""
    used = 1
    for character in text:
        used += width_of(character)
        if used > limit:
            break
        kept += character
    return kept + "…"


def place_of(span: Span) -> str:
    """``site.yml:12``: file and line of a task or play, where the column says nothing."""
    return f"{span.file}:{span.line}" if span.line else span.file


def plural(number: int, noun: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Paper:
    """Something to write lines on. ``width`` is used for alignment only: no line is cut or wrapped."""

    def __init__(self, stream: TextIO, *, width: int = 80, color: bool = False) -> None:
        self.stream = stream
        self.width = max(20, width)
        self.color = color
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
        self.ascii = not encoding.startswith(("utf", "cp65001"))

    def paint(self, text: str, style: str) -> str:
        """The text in a style, or as it is where there are no colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text else text

    def line(self, text: str = "") -> None:
        """Write one line (or several, when the text holds newlines)."""
        if self.ascii:
            for fancy, simple in _ASCII.items():
                text = text.replace(fancy, simple)
        self.stream.write(text + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Write many."""
        for text in texts:
            self.line(text)

    def spread(self, left: str, right: str, *, left_width: int | None = None, right_width: int | None = None) -> None:
        """``left`` and ``right`` at the two margins; two blanks between them when they do not fit. Widths are given when painted."""
        used = (width_of(left) if left_width is None else left_width) + (width_of(right) if right_width is None else right_width)
        self.line(f"{left}{' ' * max(2, self.width - used)}{right}".rstrip())

    def flush(self) -> None:
        """Hand on what was written."""
        self.stream.flush()


def cause(reason: str) -> str:
    """A reason as the end of a sentence: ``because it …``, ``because of /etc/x``, ``only if … changes``."""
    bare = reason.removeprefix("because ") or "it depends on an earlier step"
    if bare.startswith(("only if ", "because of ")):
        return bare
    first = bare.partition(" ")[0]
    is_noun = first.startswith("/") or first.endswith("ing") or first in ("package", "the", "GPU", "unit", "user", "group")
    return f"because {'of ' if is_noun else ''}{bare}"
