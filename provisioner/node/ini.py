"""INI files, edited line by line: comments, order and spacing of everything else stay."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Ini:
    """The lines of a file; ``section`` "" is the part before the first heading."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        first = text.find("\n")
        self._end = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"

    @property
    def text(self) -> str:
        """The file as it is now."""
        return "".join(self.lines)

    def section(self, name: str) -> tuple[int, int] | None:
        """First line after the heading and the line where the next section starts, or None without such a section."""
        if not name:
            return 0, next((index for index, line in enumerate(self.lines) if _heading(line) is not None), len(self.lines))
        start = next((index + 1 for index, line in enumerate(self.lines) if _heading(line) == name), None)
        if start is None:
            return None
        end = next((index for index in range(start, len(self.lines)) if _heading(self.lines[index]) is not None), len(self.lines))
        return start, end

    def sections_with(self, name: str, needed: Sequence[tuple[str, Sequence[str]]]) -> tuple[int, int] | None:
        """Like ``section``, but the one that has these options with these values: several sections may have one name."""
        position = 0
        while position < len(self.lines):
            if _heading(self.lines[position]) == name:
                start = position + 1
                end = next((index for index in range(start, len(self.lines)) if _heading(self.lines[index]) is not None), len(self.lines))
                if all(set(values) <= set(self.values((start, end), option)) for option, values in needed):
                    return start, end
            position += 1
        return None

    def values(self, place: tuple[int, int], option: str) -> list[str]:
        """The values of an option within these lines, in order; "" for one without a value."""
        return [(_parts(line) or ("", ""))[1] for line in self.lines[slice(*place)] if (_parts(line) or ("",))[0] == option]

    def add_section(self, name: str) -> tuple[int, int]:
        """A new section at the end."""
        if self.lines and not self.lines[-1].endswith("\n"):
            self.lines[-1] += self._end
        self.lines.append(f"[{name}]{self._end}")
        return len(self.lines), len(self.lines)

    def remove_section(self, name: str, place: tuple[int, int]) -> None:
        """Take a section out, heading and all."""
        start, end = place
        del self.lines[start - 1 if name else start : end]

    def insert(self, place: tuple[int, int], line: str) -> None:
        """A line at the end of the section, before the empty lines that part it from the next."""
        start, end = place
        while end > start and not self.lines[end - 1].strip():
            end -= 1
        if end and not self.lines[end - 1].endswith("\n"):
            self.lines[end - 1] += self._end
        self.lines.insert(end, line + self._end)

    def replace(self, index: int, line: str) -> None:
        """Another line in the place of this one."""
        self.lines[index] = line + (self._end if self.lines[index].endswith("\n") else "")

    def find(self, place: tuple[int, int], option: str, *, inactive: bool) -> list[int]:
        """The lines that set an option; ``inactive``: those that are commented out, instead."""
        mark = r"[#;]\s*" if inactive else ""
        pattern = re.compile(rf"\s*{mark}{re.escape(option)}\s*([=:]|$)")
        return [index for index in range(*place) if pattern.match(self.lines[index].rstrip("\r\n"))]


def _heading(line: str) -> str | None:
    match = re.match(r"\s*\[(.*)\]\s*$", line)
    return match.group(1).strip() if match else None


def _parts(line: str) -> tuple[str, str] | None:
    """Option and value of a line, None for comments, headings and empty lines."""
    text = line.strip()
    if not text or text[0] in "#;[":
        return None
    match = re.match(r"([^=]*?)\s*=\s*(.*)$", text)
    return (match.group(1), match.group(2)) if match else (text, "")
