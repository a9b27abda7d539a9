"""Editing text files: what lineinfile, blockinfile and replace share."""

from __future__ import annotations

from .attributes import FileAttributes, ensure_labels
from .declare import option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node


class EditParams(FileAttributes):
    """Parameters of every module that edits a text file."""

    path: str = option("The file to edit.", aliases=("dest", "destfile", "name"), kind="path")
    backup: bool = option("Keep a dated copy of the old file.", False)
    validate: str = option("A command that must accept the new file (%s) before it takes the place of the old one.", "")
    encoding: str = option("Encoding of the file.", "utf-8")


def load(node: Node, path: str, create: bool) -> bytes | None:
    """The file's bytes; None when it does not exist and may be created."""
    state = node.files.stat(path)
    if state is None:
        if create:
            return None
        node.fail(f"{path} does not exist; create: true makes it, where the module has that", path=path, rc=257)
    if state.kind == "directory":
        node.fail(f"{path} is a directory, not a file", path=path, rc=256)
    return node.files.read(path)


def store(node: Node, p: EditParams, path: str, old: bytes | None, new: bytes, msg: str) -> dict[str, Any]:
    """Write the edited text (if it differs), then ownership and mode; returns the module's result."""
    edited = old != new
    made_parent = old is None and "/" in path.rstrip("/")
    if edited:
        if made_parent:
            _make_parents(node, path)
        node.files.write(
            path,
            new,
            mode=p.mode,
            owner=p.owner,
            group=p.group,
            backup=p.backup and old is not None,
            validate=p.validate,
            in_place=p.unsafe_writes,
        )
    moved = False
    if not edited and old is not None:
        moved = node.files.attributes(path, mode=p.mode, owner=p.owner, group=p.group)
    if old is not None or edited:
        moved = ensure_labels(node, path, p) or moved
    real = node.files.resolve(path)
    backups = [change.target for change in node.recorder.changes if change.KIND == "write_file" and change.target != real]
    words = [msg] if edited else []
    if moved:
        words.append("ownership, perms or SE linux context changed")
    return {"msg": " and ".join(words), "backup": backups[0] if backups else ""}


def _make_parents(node: Node, path: str) -> None:
    import os

    folder = os.path.dirname(path)
    if folder and not node.files.exists(folder):
        node.files.directory(folder)


def line_end(data: bytes) -> bytes:
    """The line end the file uses: that of its first line."""
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"


def encoded(text: str, p: EditParams) -> bytes:
    """Text as the file's encoding has it; undecodable bytes restored."""
    return text.encode(p.encoding, "surrogateescape")
