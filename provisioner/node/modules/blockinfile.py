"""A block of lines between two marker lines of a text file."""

from __future__ import annotations

from ..declare import Module, exclusive, option
from ..text import EditParams, encoded, line_end, load, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class BlockParams(EditParams):
    """Parameters of ``blockinfile``."""

    block: str = option("The lines; nothing removes the block.", "", aliases=("content",))
    marker: str = option("The marker line; {mark} becomes marker_begin or marker_end.", "# {mark} ANSIBLE MANAGED BLOCK")
    marker_begin: str = option("What {mark} is in the first marker.", "BEGIN")
    marker_end: str = option("What {mark} is in the last marker.", "END")
    state: str = option("Whether the block shall be there.", "present", choices=("absent", "present"))
    insertafter: str | None = option("Where a new block goes: after the last match of this, or EOF.", None)
    insertbefore: str | None = option("Where a new block goes: before the last match of this, or BOF.", None)
    create: bool = option("Make the file when it does not exist.", False)
    append_newline: bool = option("An empty line after the block.", False)
    prepend_newline: bool = option("An empty line before the block.", False)


def run(node: Node, p: BlockParams) -> dict[str, Any]:
    """Make the edit in memory, then store the text."""
    path = node.files.expand(p.path)
    _check_marker(node, p)
    old = load(node, path, p.create and p.state == "present") if p.state == "present" or node.files.exists(path) else None
    if old is None and (p.state == "absent" or not p.create):
        return {"msg": f"File {path} not present", "changed": False}
    data = old or b""
    begin = encoded(p.marker.replace("{mark}", p.marker_begin), p)
    end = encoded(p.marker.replace("{mark}", p.marker_end), p)
    lines = data.splitlines(keepends=True)
    newline = line_end(data)
    present = p.state == "present" and p.block != ""
    block = [line + newline for line in encoded(p.block, p).replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")] if present else []
    wanted = [begin + newline, *block, end + newline] if present else []
    first, last = _markers(lines, begin, end)
    new_lines = _edited(node, p, lines, wanted, first, last, newline)
    new = b"".join(new_lines)
    msg = "File created" if old is None else ("Block inserted" if wanted else "Block removed")
    result = store(node, p, path, old, new, msg)
    return {"msg": result["msg"], **({"backup_file": result["backup"]} if result["backup"] else {})}


def _check_marker(node: Node, p: BlockParams) -> None:
    """A marker that cannot be found again would add the block once more in every run."""
    if "{mark}" not in p.marker:
        node.fail(f"marker {p.marker!r} has no {{mark}}, so begin and end of the block could not be told apart")
    if "\n" in p.marker or "\n" in p.marker_begin or "\n" in p.marker_end:
        node.fail("a marker is one line: it was given with a line break, and could not be found again")
    if p.marker_begin == p.marker_end:
        node.fail(f"marker_begin and marker_end are both {p.marker_begin!r}, so begin and end of the block could not be told apart")


def _markers(lines: list[bytes], begin: bytes, end: bytes) -> tuple[int | None, int | None]:
    """Line numbers of the block's markers: the last begin, and the end that follows it."""
    first = last = None
    for index, line in enumerate(lines):
        text = line.rstrip(b"\r\n")
        if text == begin:
            first = index
        elif text == end:
            last = index
    if first is None or last is None:
        return None, None
    return (first, last) if first <= last else (last, first)


def _edited(
    node: Node, p: BlockParams, lines: list[bytes], wanted: list[bytes], first: int | None, last: int | None, newline: bytes
) -> list[bytes]:
    if first is not None and last is not None:
        place = first
        lines = lines[:first] + lines[last + 1 :]
    elif not wanted:
        return lines
    else:
        place = _place(node, p, lines)
    if not wanted:
        return lines
    head, tail = lines[:place], lines[place:]
    if head and not head[-1].endswith((b"\n", b"\r")):
        head[-1] += newline
    if p.prepend_newline and head and head[-1].rstrip(b"\r\n"):
        wanted = [newline, *wanted]
    if p.append_newline and tail and tail[0].rstrip(b"\r\n"):
        wanted = [*wanted, newline]
    return head + wanted + tail


def _place(node: Node, p: BlockParams, lines: list[bytes]) -> int:
    """Where a new block goes."""
    import re

    if p.insertbefore == "BOF":
        return 0
    text = p.insertbefore if p.insertbefore is not None else p.insertafter
    if text in (None, "EOF"):
        return len(lines)
    try:
        pattern = re.compile(encoded(text or "", p))
    except re.error as error:
        node.fail(f"{text!r} is no regular expression: {error}")
    found = [index for index, line in enumerate(lines) if pattern.search(line.rstrip(b"\r\n"))]
    if not found:
        return len(lines)
    return found[-1] if p.insertbefore is not None else found[-1] + 1


MODULE = Module(
    name="blockinfile",
    summary="A block of lines between two marker lines of a text file.",
    params=BlockParams,
    run=run,
    rules=(exclusive("insertbefore", "insertafter"),),
    resource=(("path", "path"),),
    examples="""
- blockinfile:
    path: /etc/security/limits.conf
    block: |
      * soft memlock unlimited
      * hard memlock unlimited
""",
)
