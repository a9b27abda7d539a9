"""A file put together from fragments; the controller does it alone when the fragments are there."""

from __future__ import annotations

import os

from ..attributes import FileAttributes, described, ensure_labels
from ..declare import Module, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class AssembleParams(FileAttributes):
    """Parameters of ``assemble``."""

    src: str = option("Folder of the fragments.", kind="path")
    dest: str = option("Where the file goes.", kind="path")
    remote_src: bool = option("The folder is on the node.", True)
    delimiter: str | None = option("What stands between two fragments; \\n and its kind are understood.", None)
    regexp: str | None = option("Only fragments whose name matches.", None)
    ignore_hidden: bool = option("Leave out names that start with a dot.", False)
    backup: bool = option("Keep a dated copy of what is replaced.", False)
    validate: str = option("A command that must accept the new file (%s).", "")
    decrypt: bool = option("Decrypt vaulted fragments.", True)


def run(node: Node, p: AssembleParams) -> dict[str, Any]:
    """Join the fragments in the order of their names."""
    import re

    folder, dest = node.files.expand(p.src), node.files.expand(p.dest)
    state = node.files.stat(folder)
    if state is None or state.kind != "directory":
        node.fail(f"the folder of fragments {folder} does not exist", src=folder)
    try:
        pattern = re.compile(p.regexp) if p.regexp else None
    except re.error as error:
        node.fail(f"regexp {p.regexp!r} is no regular expression: {error}")
    names = [name for name in node.files.names(folder) if pattern is None or pattern.search(name)]
    paths = [os.path.join(folder, name) for name in names if not (p.ignore_hidden and name.startswith("."))]
    fragments = [node.files.read(path) for path in paths if (seen := node.files.stat(path)) is not None and seen.kind == "file"]
    data = joined(fragments, p.delimiter)
    there = node.files.exists(dest)
    node.files.write(
        dest,
        data,
        mode=p.mode,
        owner=p.owner,
        group=p.group,
        backup=p.backup and there,
        validate=p.validate,
        in_place=p.unsafe_writes,
    )
    ensure_labels(node, dest, p)
    result: dict[str, Any] = {"src": folder, "msg": "OK", **described(node, dest, "dest")}
    import hashlib

    for key, algorithm in (("checksum", "sha1"), ("md5sum", "md5")):
        result[key] = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    backups = [change.target for change in node.recorder.changes if change.KIND == "write_file" and change.target.endswith("~")]
    return {**result, "backup_file": backups[0]} if backups else result


def joined(fragments: list[bytes], delimiter: str | None) -> bytes:
    """The fragments, each ending its last line, with the delimiter on lines of its own between them."""
    between = b""
    if delimiter:
        between = delimiter.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("utf-8", "surrogateescape")
        between += b"" if between.endswith(b"\n") else b"\n"
    whole = b""
    for fragment in fragments:
        if whole:
            whole += b"" if whole.endswith(b"\n") else b"\n"
            whole += between
        whole += fragment
    return whole


MODULE = Module(
    name="assemble",
    summary="A file put together from fragments.",
    params=AssembleParams,
    run=run,
    resource=(("path", "dest"),),
    examples="- assemble: {src: /etc/app.d, dest: /etc/app.conf}\n",
)
