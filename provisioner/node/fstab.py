"""The table of file systems, edited entry by entry: order, spacing, comments and what was not asked for stay."""

from __future__ import annotations

from .record import Record

NOWHERE = ("none", "swap", "-")
"""What stands for the mount point of something that is not mounted anywhere."""


class Wanted(Record):
    """An entry as asked for; None leaves a field of an entry that is there alone, "0" leaves dump and pass alone."""

    path: str
    src: str | None = None
    fstype: str | None = None
    opts: str | None = None
    dump: str = "0"
    passno: str = "0"


def edited(lines: list[str], wanted: Wanted) -> list[str]:
    """The table with this entry changed where it is, or added at the end."""
    new = []
    found = False
    for line in lines:
        parts = _split(line)
        if parts is None or not _is_it(parts[0], wanted.path, wanted.src):
            new.append(line)
        else:
            found = True
            new.append(_entry(parts[0], parts[1], line, wanted))
    if not found:
        fields = (escaped(wanted.src or ""), escaped(wanted.path), wanted.fstype, wanted.opts or "defaults", wanted.dump, wanted.passno)
        new.append(" ".join(str(field) for field in fields))
    return new


def without(lines: list[str], path: str, src: str | None) -> list[str]:
    """The table without the entry of a mount point (and source, when one is given)."""
    kept = []
    for line in lines:
        parts = _split(line)
        if parts is None or not (_is_it(parts[0], path, src) and src in (None, parts[0][0])):
            kept.append(line)
    return kept


def escaped(text: str) -> str:
    """A field as the table has it."""
    return text.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011").replace("#", "\\043")


def _split(line: str) -> tuple[list[str], str] | None:
    """Fields and trailing comment of an entry; None for lines that are none."""
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    body, mark, comment = line.partition(" #")
    fields = body.split()
    return (fields, (mark + comment).strip() if mark else "") if len(fields) >= 3 else None


def _is_it(fields: list[str], path: str, src: str | None) -> bool:
    """Whether an entry is the one meant: by mount point, and for swap (which has none) by device."""
    if fields[1] in NOWHERE or path in NOWHERE:
        return fields[1] == path and fields[0] == escaped(src or "")
    return fields[1].rstrip("/") == escaped(path).rstrip("/")


def _entry(fields: list[str], comment: str, line: str, wanted: Wanted) -> str:
    new = [*fields, *["defaults", "0", "0"][len(fields) - 3 :]] if len(fields) < 6 else list(fields)
    new[:3] = [escaped(wanted.src or fields[0]), escaped(wanted.path), wanted.fstype or fields[2]]
    for index, value, unsaid in ((3, wanted.opts, None), (4, wanted.dump, "0"), (5, wanted.passno, "0")):
        if value != unsaid:
            new[index] = str(value)
    if new[: len(fields)] == fields and new[len(fields) :] == ["defaults", "0", "0"][len(fields) - 3 :][: len(new) - len(fields)]:
        return line
    return ("\t" if "\t" in line else " ").join(new) + (f" {comment}" if comment else "")
