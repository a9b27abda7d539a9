"""Unpack an archive."""

from __future__ import annotations

import os

from ..archives import Archive, Member, listed, opened, tar_options
from ..attributes import FileAttributes, described, ensure_labels
from ..changes import Unpack
from ..content import Content
from ..declare import Module, exclusive, option
from ..download import request, web
from ..faults import UnknownReading
from ..modes import resolve_mode
from ..wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

SHOWN = 5
"""How many paths a change names; it counts the others."""


class UnarchiveParams(FileAttributes):
    """Parameters of ``unarchive``."""

    src: Any = option("The archive: tar (plain, gzip, bzip2, xz, zstd) or zip; on the controller, on the node, or a URL.", kind="raw")
    dest: str = option("The directory to unpack into; it must exist.", kind="path")
    remote_src: bool = option("src is on the node, or a URL.", False)
    copy: bool = option("Old opposite of remote_src.", True)
    creates: str | None = option("Do nothing when this exists; src is then not even looked for.", None, kind="path")
    exclude: list[str] = option("Members to leave out: patterns.", [])
    include: list[str] = option("Only these members: patterns.", [])
    extra_opts: list[str] = option("Further options for tar, such as --strip-components=1; for zip only -j, which drops folders.", [])
    keep_newer: bool = option("Keep files that are newer than those in the archive.", False)
    list_files: bool = option("Return the names of all members.", False)
    io_buffer_size: int = option("Has no meaning here: an archive is never copied on the node.", 65536)
    validate_certs: bool = option("Check the certificate of a server that src names.", True)
    decrypt: bool = option("Decrypt a vaulted archive.", True)


def run(node: Node, p: UnarchiveParams) -> dict[str, Any]:
    """List, compare with what is there, and unpack everything when anything is missing or different."""
    dest = node.files.expand(p.dest)
    if p.creates and node.files.exists(node.files.expand(p.creates)):
        return {"msg": f"skipped, since {p.creates} exists", "skipped": True, "dest": dest}
    because = _destination(node, dest)
    archive = _archive(node, p)
    options = [word for entry in p.extra_opts for word in entry.split()] if archive.flag != "zip" else []
    members = listed(node, archive, options, p.exclude, p.include)
    if archive.flag == "zip":
        members = _flat(node, p, members)
    if p.include and not members:
        node.fail(f"nothing in the archive matches include: {', '.join(p.include)}")
    differing = members if because else [member for member in members if _differs(node, p, os.path.join(dest, member.name), member)]
    if differing:
        _unpack(node, p, archive, dest, members, differing, because)
    else:
        for member in members:
            _attributes(node, p, os.path.join(dest, member.name), member)
    ensure_labels(node, dest, p)
    result: dict[str, Any] = {"src": archive.path or _name(p), "dest": dest, "handler": archive.handler, **described(node, dest, "dest")}
    if p.list_files:
        result["files"] = [member.stored for member in members]
    return result


def _name(p: UnarchiveParams) -> str:
    return p.src.name if isinstance(p.src, Content) else str(p.src)


def _destination(node: Node, dest: str) -> str:
    """Check the directory; returns why it cannot be looked at yet, or ""."""
    try:
        state = node.files.stat(dest)
    except UnknownReading as unknown:
        return unknown.because
    if state is None or state.kind != "directory":
        node.fail(f"Destination {dest!r} is not a directory; make it first (file: path={dest} state=directory)", dest=dest)
    return ""


def _archive(node: Node, p: UnarchiveParams) -> Archive:
    if isinstance(p.src, Content):
        return opened(node, p.src)
    src = str(p.src)
    if "://" in src:
        answer = request(node, web(validate_certs=p.validate_certs), src)
        if answer.status != 200:
            node.fail(f"{src} answers {answer.status} {answer.reason}", src=src, status_code=answer.status)
        return opened(node, Content(answer.body, name=src))
    if not p.remote_src and p.copy:
        node.fail(f"there is no archive {src} on the controller; set remote_src: true when it is on the node", src=src)
    return opened(node, node.files.expand(src))


def _flat(node: Node, p: UnarchiveParams, members: list[Member]) -> list[Member]:
    """Zip members as the few options of unzip that are known here want them."""
    words = {word for entry in p.extra_opts for word in entry.split()} - {"-o", "-q", "-qq"}
    if words - {"-j"}:
        node.fail(f"extra_opts {', '.join(sorted(words - {'-j'}))}: a zip archive takes -j only; nothing else of unzip is used here")
    if "-j" not in words:
        return members
    return [member.evolve(name=os.path.basename(member.name)) for member in members if member.kind != "directory"]


def _differs(node: Node, p: UnarchiveParams, path: str, member: Member) -> bool:
    """Whether unpacking would alter what is at the path, mode and owner aside."""
    state = node.files.lstat(path)
    kind = "file" if member.kind == "hard" else member.kind
    if state is None or state.kind != kind:
        return True
    if kind == "link":
        return state.target != member.target
    if member.kind != "file":
        return False
    if p.keep_newer and state.mtime > member.mtime:
        return False
    if state.size != member.size:
        return True
    if member.crc:
        import zlib

        return zlib.crc32(node.files.read(path)) != member.crc
    return int(state.mtime) != member.mtime and not {"-m", "--touch"} & set(p.extra_opts)


def _attributes(node: Node, p: UnarchiveParams, path: str, member: Member) -> None:
    """Mode and owner of a member whose content is right: as asked for, else as root would have unpacked it."""
    if node.reader.account()[0] == 0 and member.kind != "hard":
        owner, group = (_known(node, kind, name) for kind, name in (("user", member.owner), ("group", member.group)))
        mode: str | int | None = member.mode
        if p.keep_newer or {"--no-same-permissions", "--no-same-owner"} & set(p.extra_opts):
            owner = group = mode = None
    else:
        owner = group = mode = None
    if p.mode is not None:
        mode = resolve_mode(p.mode, member.mode, member.kind == "directory", node.reader.umask())
    node.files.attributes(path, mode=mode, owner=p.owner or owner, group=p.group or group, follow=False)


def _known(node: Node, kind: str, name: str | None) -> str | None:
    """An owner in the archive, if the node knows it; tar falls back to a number that need not be anybody's."""
    table = node.reader.users() if kind == "user" else node.reader.groups()
    return name if name in dict(table) else None


def _unpack(node: Node, p: UnarchiveParams, archive: Archive, dest: str, members: list[Member], differing: list[Member], why: str) -> None:
    owner, group = node.accounts.known_owner(p.owner, p.group)
    options = [*(["--keep-newer-files"] if p.keep_newer else []), *tar_options(p.exclude, p.include, p.extra_opts)]
    flags = ("zip",) if archive.flag == "zip" else (archive.flag, *(word for entry in options for word in entry.split(" ")))
    names = [member.name for member in differing if member.kind != "directory"] or [member.name for member in differing]
    after: dict[str, Any] = {"files": len(differing), "of": len(members), "first": names[:SHOWN]}
    after.update({key: value for key, value in (("mode", p.mode), ("owner", owner), ("group", group)) if value is not None})
    node.record(
        Unpack(
            target=dest,
            before=Unknown(why) if why else None,
            after=after,
            certain=not why,
            archive=archive.place,
            flags=flags,
            members=tuple(member.as_dict() for member in members),
            mode=p.mode,
            owner=owner,
            group=group,
        )
    )


MODULE = Module(
    name="unarchive",
    summary="Unpack an archive.",
    params=UnarchiveParams,
    run=run,
    rules=(exclusive("include", "exclude"),),
    resource=(("path", "dest"),),
    examples="""
- unarchive: {src: tool-1.2.tar.gz, dest: /opt, creates: /opt/tool-1.2}
- unarchive: {src: 'https://example.com/tool.tgz', dest: /opt/tool, remote_src: true, extra_opts: [--strip-components=1]}
""",
)
