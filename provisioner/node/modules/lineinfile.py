"""One line of a text file."""

from __future__ import annotations

from ..declare import Module, exclusive, option, required_if
from ..text import EditParams, encoded, line_end, load, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any

    from ..api import Node


class LineParams(EditParams):
    """Parameters of ``lineinfile``."""

    line: str | None = option("The line.", None, aliases=("value",))
    regexp: str | None = option("Which line it replaces (the last match), or which lines to remove.", None, aliases=("regex",))
    search_string: str | None = option("Like regexp, but a plain text the line holds.", None)
    state: str = option("Whether the line shall be there.", "present", choices=("absent", "present"))
    insertafter: str | None = option("Where a new line goes: after the last match of this, or EOF.", None)
    insertbefore: str | None = option("Where a new line goes: before the last match of this, or BOF.", None)
    backrefs: bool = option("Fill the groups of regexp into line; without a match nothing happens.", False)
    firstmatch: bool = option("Use the first match of regexp, insertafter and insertbefore, not the last.", False)
    create: bool = option("Make the file when it does not exist.", False)


def run(node: Node, p: LineParams) -> dict[str, Any]:
    """Make the edit in memory, then store the text."""
    path = node.files.expand(p.path)
    if p.regexp == "":
        node.fail("an empty regexp matches every line; give a pattern or leave it out", path=path)
    if p.state == "absent":
        return _absent(node, p, path)
    if p.line is None:
        node.fail("line is required with state: present", path=path)
    old = load(node, path, p.create)
    new, msg = _present(node, p, old or b"")
    if not msg:
        new = old if old is not None else b""
    return store(node, p, path, old, new, msg)


def _pattern(node: Node, text: str | None) -> Pattern[bytes] | None:
    import re

    if not text:
        return None
    try:
        return re.compile(text.encode("utf-8", "surrogateescape"))
    except re.error as error:
        node.fail(f"{text!r} is no regular expression: {error}")


def _absent(node: Node, p: LineParams, path: str) -> dict[str, Any]:
    state = node.files.stat(path)
    if state is None:
        return {"msg": "file not present", "found": 0, "backup": ""}
    old = load(node, path, False) or b""
    regexp = _pattern(node, p.regexp)
    wanted = encoded(p.line, p) if p.line is not None else None

    def goes(line: bytes) -> bool:
        if regexp is not None:
            return regexp.search(line) is not None
        if p.search_string is not None:
            return encoded(p.search_string, p) in line
        return line.rstrip(b"\r\n") == wanted

    lines = old.splitlines(keepends=True)
    kept = [line for line in lines if not goes(line)]
    found = len(lines) - len(kept)
    return {**store(node, p, path, old, b"".join(kept), f"{found} line(s) removed"), "found": found}


def _present(node: Node, p: LineParams, data: bytes) -> tuple[bytes, str]:
    """The new text and what was done, "" for nothing."""
    lines = data.splitlines(keepends=True)
    end = line_end(data)
    line = encoded(p.line or "", p).rstrip(b"\r\n")
    matched, groups = _find(node, p, lines)
    if matched >= 0:
        if p.backrefs and groups is not None:
            line = groups.expand(line).rstrip(b"\r\n")
        return _replace(lines, matched, line, end)
    if p.backrefs:
        return data, ""
    exact = [index for index, each in enumerate(lines) if each.rstrip(b"\r\n") == line]
    if exact:
        return data, ""
    place = _place(node, p, lines)
    if place is None:
        place = len(lines)
    if place and lines and place == len(lines) and not lines[-1].endswith((b"\n", b"\r")):
        lines[-1] += end
    lines.insert(place, line + end)
    return b"".join(lines), "line added"


def _find(node: Node, p: LineParams, lines: list[bytes]) -> tuple[int, Any]:
    """Index and match of the line that regexp or search_string means, or -1."""
    found, groups = -1, None
    regexp = _pattern(node, p.regexp)
    needle = encoded(p.search_string, p) if p.search_string is not None else None
    for index, each in enumerate(lines):
        match = regexp.search(each.rstrip(b"\r\n")) if regexp is not None else (needle is not None and needle in each)
        if match:
            found, groups = index, match
            if p.firstmatch:
                break
    return found, groups if regexp is not None else None


def _replace(lines: list[bytes], index: int, line: bytes, end: bytes) -> tuple[bytes, str]:
    if lines[index].rstrip(b"\r\n") == line:
        return b"".join(lines), ""
    tail = end if lines[index].endswith((b"\n", b"\r")) or index < len(lines) - 1 else b"\n"
    lines[index] = line + tail
    return b"".join(lines), "line replaced"


def _place(node: Node, p: LineParams, lines: list[bytes]) -> int | None:
    """Where a new line goes, or None for the end."""
    if p.insertbefore == "BOF":
        return 0
    before = p.insertbefore is not None
    text = p.insertbefore if before else p.insertafter
    if text in (None, "EOF"):
        return None
    pattern = _pattern(node, text)
    found = None
    for index, each in enumerate(lines):
        if pattern is not None and pattern.search(each.rstrip(b"\r\n")):
            found = index if before else index + 1
            if p.firstmatch:
                break
    return found


MODULE = Module(
    name="lineinfile",
    summary="One line of a text file.",
    params=LineParams,
    run=run,
    rules=(
        exclusive("insertbefore", "insertafter"),
        exclusive("regexp", "search_string"),
        exclusive("backrefs", "search_string"),
        required_if("backrefs", True, "regexp"),
    ),
    resource=(("path", "path"),),
    examples="""
- lineinfile: {path: /etc/default/grub, regexp: '^GRUB_TIMEOUT=', line: GRUB_TIMEOUT=2}
- lineinfile: {path: /etc/hosts, line: '10.0.0.5 gpu05', state: present}
""",
)
