"""How a text changes, as a unified diff that survives any bytes and big files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .content import Content

LARGEST = 8 * 1024 * 1024
CONTEXT = 3


def unified(name: str, before: Content | None, after: Content | None) -> str:
    """A unified diff; binary or huge contents are compared by size and digest instead. None stands for "does not exist"."""
    old_name = name if before is not None else "/dev/null"
    new_name = name if after is not None else "/dev/null"
    head = f"--- {old_name}\n+++ {new_name}\n"
    sides = [side.bytes() if side is not None and side.size <= LARGEST else None for side in (before, after)]
    for side, data in zip((before, after), sides):
        if side is not None and (data is None or b"\0" in data[:8192]):
            return head + f"{_described(before)} → {_described(after)}\n"
    old, new = (_lines(data or b"") for data in sides)
    return head + "".join(_hunks(old, new))


def _described(side: Content | None) -> str:
    return "absent" if side is None else f"{side.size} bytes, sha256 {side.digest[:16]}"


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "backslashreplace").splitlines(keepends=True)


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Hunks of the part between the common head and tail: difflib is quadratic, and most edits of big files are local."""
    import difflib

    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = max(0, head - CONTEXT)
    keep = max(0, tail - CONTEXT)
    old_part, new_part = old[start : len(old) - keep], new[start : len(new) - keep]
    out = []
    for group in difflib.SequenceMatcher(None, old_part, new_part, autojunk=False).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        out.append(f"@@ -{_range(start + first[1], start + last[2])} +{_range(start + first[3], start + last[4])} @@\n")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                out += [" " + _ended(line) for line in old_part[old_from:old_to]]
                continue
            out += ["-" + _ended(line) for line in old_part[old_from:old_to]]
            out += ["+" + _ended(line) for line in new_part[new_from:new_to]]
    return out


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
