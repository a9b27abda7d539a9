"""Files by name, age, size, kind or content."""

from __future__ import annotations

import fnmatch
import os

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..api import Node
    from ..readings import FileState

AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
SIZES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
KINDS = {"file": ("file",), "directory": ("directory",), "link": ("link",)}


class FindParams(Params):
    """Parameters of ``find``."""

    paths: list[str] = option("Where to look.", aliases=("name", "path"))
    patterns: list[str] = option("Names: shell patterns, or regular expressions.", [], aliases=("pattern",))
    excludes: list[str] | None = option("Names to leave out.", None, aliases=("exclude",))
    contains: str | None = option("A regular expression that some line (or the file) matches.", None)
    read_whole_file: bool = option("Match contains against the whole file instead of line by line.", False)
    file_type: str = option("Which kind.", "file", choices=("any", "directory", "file", "link"))
    recurse: bool = option("Look into folders, too.", False)
    depth: int | None = option("How deep.", None)
    hidden: bool = option("Names that start with a dot, too.", False)
    follow: bool = option("Into links to folders.", False)
    age: str | None = option("At least this old; with a minus at most. A number with s, m, h, d or w.", None)
    age_stamp: str = option("Which time.", "mtime", choices=("atime", "ctime", "mtime"))
    size: str | None = option("At least this big; with a minus at most. A number with b, k, m, g or t.", None)
    use_regex: bool = option("Patterns are regular expressions.", False)
    get_checksum: bool = option("Include a checksum.", False)
    checksum_algorithm: str = option("Which checksum.", "sha1", aliases=("checksum", "checksum_algo"))
    mode: Any = option("Permissions it must have.", None, kind="raw")
    exact_mode: bool = option("Exactly these permissions, not at least.", True)
    limit: int | None = option("Stop after this many.", None)
    encoding: str = option("Encoding for contains.", "utf-8")


def run(node: Node, p: FindParams) -> dict[str, Any]:
    """Walk and choose; never changes anything."""
    import time

    now = time.time()
    files: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    examined = 0
    for place in p.paths:
        root = node.files.expand(place)
        state = node.files.stat(root)
        if state is None or state.kind != "directory":
            skipped[place] = f"'{place}' is not a directory"
            continue
        for path, seen in _walk(node, p, root, 1):
            examined += 1
            if _wanted(node, p, path, seen, now):
                files.append(_described(node, p, path, seen))
                if p.limit is not None and len(files) >= p.limit:
                    return {
                        "files": files,
                        "matched": len(files),
                        "examined": examined,
                        "skipped_paths": skipped,
                        "msg": "Limit of matches reached",
                    }
    msg = "All paths examined" if not skipped else "Not all paths examined, check warnings for details"
    return {"files": files, "matched": len(files), "examined": examined, "skipped_paths": skipped, "msg": msg}


def _walk(node: Node, p: FindParams, folder: str, level: int) -> Iterator[tuple[str, FileState]]:
    for name in node.files.names(folder):
        path = os.path.join(folder, name)
        state = node.files.lstat(path)
        if state is None:
            continue
        yield path, state
        if name.startswith(".") and not p.hidden:
            continue
        below = state
        if state.kind == "link" and p.follow:
            below = node.files.stat(path) or state
        if below.kind == "directory" and p.recurse and (p.depth is None or level < p.depth):
            yield from _walk(node, p, path, level + 1)


def _wanted(node: Node, p: FindParams, path: str, state: FileState, now: float) -> bool:
    name = os.path.basename(path)
    if name.startswith(".") and not p.hidden:
        return False
    if p.file_type != "any" and state.kind not in KINDS[p.file_type]:
        return False
    if p.patterns and not _matches(name, p.patterns, p.use_regex):
        return False
    if p.excludes and _matches(name, p.excludes, p.use_regex):
        return False
    if p.age is not None and not _bound(node, "age", p.age, now - float(getattr(state, p.age_stamp)), AGES, "s"):
        return False
    if p.size is not None and p.file_type != "directory" and not _bound(node, "size", p.size, state.size, SIZES, "b"):
        return False
    if p.mode is not None and not _has_mode(p, state):
        return False
    return p.contains is None or p.file_type == "directory" or _holds(node, p, path, state)


def _matches(name: str, patterns: list[str], regex: bool) -> bool:
    if regex:
        import re

        return any(re.match(pattern, name) for pattern in patterns)
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _bound(node: Node, what: str, text: str, value: float, units: dict[str, int], default: str) -> bool:
    """Whether a value is at least (or with a minus at most) what the text says."""
    number, unit = (text[:-1], text[-1].lower()) if text and text[-1].isalpha() else (text, default)
    if unit not in units or not number.lstrip("+-").isdigit():
        node.fail(f"{what}: {text!r} is not a number with one of {', '.join(units)}")
    limit = int(number) * units[unit]
    return value >= limit if limit >= 0 else value <= -limit


def _has_mode(p: FindParams, state: FileState) -> bool:
    from ..modes import resolve_mode

    bits = resolve_mode(p.mode if isinstance(p.mode, (int, str)) else str(p.mode), state.mode if not p.exact_mode else 0, False)
    return state.mode == bits if p.exact_mode else bool(state.mode & bits == bits)


def _holds(node: Node, p: FindParams, path: str, state: FileState) -> bool:
    import re

    if state.kind != "file":
        return False
    text = node.files.read(path).decode(p.encoding, "replace")
    pattern = re.compile(p.contains or "")
    if p.read_whole_file:
        return pattern.search(text) is not None
    return any(pattern.match(line) for line in text.splitlines())


def _described(node: Node, p: FindParams, path: str, state: FileState) -> dict[str, Any]:
    bits = {"r": 4, "w": 2, "x": 1}
    seen: dict[str, Any] = {
        "path": path,
        "mode": f"{state.mode:04o}",
        "isdir": state.kind == "directory",
        "ischr": state.kind == "char",
        "isblk": state.kind == "block",
        "isreg": state.kind == "file",
        "isfifo": state.kind == "fifo",
        "islnk": state.kind == "link",
        "issock": state.kind == "socket",
        "uid": state.uid,
        "gid": state.gid,
        "size": state.size,
        "inode": state.ino,
        "dev": state.dev,
        "nlink": state.nlink,
        "atime": state.atime,
        "mtime": state.mtime,
        "ctime": state.ctime,
        "gr_name": state.group,
        "pw_name": state.owner,
        "isuid": bool(state.mode & 0o4000),
        "isgid": bool(state.mode & 0o2000),
    }
    for who, shift in (("usr", 6), ("grp", 3), ("oth", 0)):
        for letter, bit in bits.items():
            seen[f"{letter}{who}"] = bool(state.mode >> shift & bit)
    if p.get_checksum and state.kind == "file":
        import hashlib

        seen["checksum"] = hashlib.new(p.checksum_algorithm, node.files.read(path), usedforsecurity=False).hexdigest()
    return seen


MODULE = Module(
    name="find",
    summary="Files by name, age, size, kind or content.",
    params=FindParams,
    run=run,
    reads_only=True,
    examples="- find: {paths: /var/log, patterns: '*.gz', age: 30d, recurse: true}\n  register: old\n",
)
