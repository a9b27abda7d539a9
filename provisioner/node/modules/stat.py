"""What is at a path: kind, permissions, ownership, times, checksum."""

from __future__ import annotations

import os

from ..declare import Module, Params, option
from ..faults import Fail, UnknownReading
from ..wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node
    from ..readings import FileState


ACCESS = {"readable": 4, "writeable": 2, "executable": 1}


class StatParams(Params):
    """Parameters of ``stat``."""

    path: str = option("The path to look at.", aliases=("dest", "name"), kind="path")
    follow: bool = option("Look at what a link leads to.", False)
    get_checksum: bool = option("Include a checksum of regular files.", True)
    checksum_algorithm: str = option(
        "Which checksum.", "sha1", choices=("md5", "sha1", "sha224", "sha256", "sha384", "sha512"), aliases=("checksum", "checksum_algo")
    )
    get_mime: bool = option("Include the MIME type and charset.", True, aliases=("mime", "mime_type", "mime-type"))
    get_attributes: bool = option("Include file flags (lsattr).", True, aliases=("attr", "attributes"))
    get_selinux_context: bool = option("Include the SELinux label.", False)


def run(node: Node, p: StatParams) -> dict[str, Any]:
    """Read, and never change anything."""
    path = node.files.expand(p.path)
    state = node.files.stat(path) if p.follow else node.files.lstat(path)
    if state is None:
        return {"stat": {"exists": False}}
    seen = {"exists": True, "path": path, **_permissions(node, state), **_numbers(state)}
    if state.kind == "link":
        target = node.files.stat(path)
        seen.update({name: bool(target and _allowed(target, *node.reader.account(), bit)) for name, bit in ACCESS.items()})
        seen["lnk_target"] = state.target
        seen["lnk_source"] = node.files.resolve(path)
    if p.get_checksum and state.kind == "file" and seen["readable"]:
        seen["checksum"] = _checksum(node, path, p.checksum_algorithm)
    if p.get_mime:
        seen.update(_mime(node, path, state))
    if p.get_attributes:
        seen.update(_flags(node, path, state))
    if p.get_selinux_context:
        seen["selinux_context"] = (
            str(node.values.get("selinux", path) or "").split(":") if node.files.exists("/sys/fs/selinux/enforce") else []
        )
    return {"stat": seen}


def _permissions(node: Node, state: FileState) -> dict[str, Any]:
    kinds = {
        "directory": "isdir",
        "file": "isreg",
        "link": "islnk",
        "block": "isblk",
        "char": "ischr",
        "fifo": "isfifo",
        "socket": "issock",
    }
    seen: dict[str, Any] = {flag: state.kind == kind for kind, flag in kinds.items()}
    names = {"r": 4, "w": 2, "x": 1}
    for who, shift in (("usr", 6), ("grp", 3), ("oth", 0)):
        for letter, bit in names.items():
            seen[f"{letter}{who}"] = bool(state.mode >> shift & bit)
    uid, gid = node.reader.account()
    seen.update(
        isuid=bool(state.mode & 0o4000),
        isgid=bool(state.mode & 0o2000),
        mode=f"{state.mode:04o}",
        **{name: _allowed(state, uid, gid, bit) for name, bit in ACCESS.items()},
    )
    return seen


def _allowed(state: FileState, uid: int, gid: int, bit: int) -> bool:
    """Whether this process may read (4), write (2) or execute (1) it, going by the permission bits."""
    if uid == 0:
        return bit != 1 or bool(state.mode & 0o111) or state.kind == "directory"
    if state.uid == uid:
        return bool(state.mode >> 6 & bit)
    if state.gid == gid or state.gid in os.getgroups():
        return bool(state.mode >> 3 & bit)
    return bool(state.mode & bit)


def _numbers(state: FileState) -> dict[str, Any]:
    return {
        "uid": state.uid,
        "gid": state.gid,
        "pw_name": state.owner,
        "gr_name": state.group,
        "size": state.size,
        "inode": state.ino,
        "dev": state.dev,
        "nlink": state.nlink,
        "atime": state.atime,
        "mtime": state.mtime,
        "ctime": state.ctime,
    }


def _checksum(node: Node, path: str, algorithm: str) -> str:
    import hashlib

    content = node.files.content(path)
    if algorithm == "sha256":
        return content.digest
    return hashlib.new(algorithm, content.bytes(), usedforsecurity=False).hexdigest()


def _mime(node: Node, path: str, state: FileState) -> dict[str, Any]:
    """What ``file`` says; "unknown" where the program is missing, as in Ansible."""
    unknown = {"mimetype": "unknown", "charset": "unknown"}
    if state.kind not in ("file", "directory", "link") or node.commands.find("file") is None:
        return unknown
    try:
        answer = node.commands.query(["file", "--mime-type", "--mime-encoding", path], about=[("path", path)], ok=None)
    except UnknownReading as missing:
        return dict.fromkeys(unknown, Unknown(missing.because))
    _, colon, said = answer.out.rpartition(": ")
    kind, _, charset = said.partition(";")
    if answer.rc or not colon:
        return unknown
    return {"mimetype": kind.strip(), "charset": charset.strip().replace("charset=", "") or "unknown"}


def _flags(node: Node, path: str, state: FileState) -> dict[str, Any]:
    nothing: dict[str, Any] = {"attributes": [], "attr_flags": "", "version": None}
    if state.kind not in ("file", "directory"):
        return nothing
    try:
        letters = node.values.get("chattr", path)
    except Fail:
        return nothing
    except UnknownReading as missing:
        return dict.fromkeys(nothing, Unknown(missing.because))
    names = {
        "A": "noatime",
        "a": "append",
        "c": "compressed",
        "C": "nocow",
        "d": "nodump",
        "D": "dirsync",
        "e": "extents",
        "E": "encrypted",
        "h": "blocksize",
        "i": "immutable",
        "I": "indexed",
        "j": "journalled",
        "N": "inline",
        "s": "zero",
        "S": "synchronous",
        "t": "notail",
        "T": "blockroot",
        "u": "undelete",
        "X": "compressedraw",
        "Z": "compresseddirty",
    }
    return {"attributes": [names[letter] for letter in letters or "" if letter in names], "attr_flags": letters or "", "version": None}


MODULE = Module(
    name="stat",
    summary="What is at a path: kind, permissions, ownership, times, checksum.",
    params=StatParams,
    run=run,
    reads_only=True,
    examples="""
- stat: {path: /proc/driver/nvidia/version}
  register: driver
- debug: {msg: the driver is loaded}
  when: driver.stat.exists
""",
)
