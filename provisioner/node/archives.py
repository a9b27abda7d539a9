"""Archives: what is in one, and unpacking it. tar does tar files of every kind, Python does zip files; nothing needs a temporary file."""

from __future__ import annotations

import errno
import os
import re
import time

from .content import Content
from .faults import Fail, UnknownReading
from .live import reason
from .modes import resolve_mode
from .readings import FileState
from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, BinaryIO

    from .api import Node
    from .changes import Unpack
    from .live import Live
    from .ports import Reader

MAGIC = (
    (b"PK\x03\x04", "zip", "", "ZipArchive"),
    (b"PK\x05\x06", "zip", "", "ZipArchive"),
    (b"\x1f\x8b", "--gzip", "gzip", "TgzArchive"),
    (b"BZh", "--bzip2", "bzip2", "TarArchive"),
    (b"\xfd7zXZ\x00", "--xz", "xz", "TarArchive"),
    (b"\x28\xb5\x2f\xfd", "--zstd", "zstd", "TarArchive"),
)
KINDS = {"-": "file", "d": "directory", "l": "link", "h": "hard", "p": "fifo", "b": "block", "c": "char"}
TAR = ("tar", "--quoting-style=c", "--force-local")
_LINE = re.compile(
    rb"([-dlhpbcCDMNVSx])([-rwxsStT]{9})[.+]? +(\S+)/(\S+) +(\d+)(?:,\d+)? (\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)(?:\.\d+)? "
    rb'"((?:[^"\\]|\\.)*)"/?(?: (?:->|link to) "((?:[^"\\]|\\.)*)")?'
)


class Member(Record):
    """An entry. ``name``: below the destination, as it will be on disk; ``stored``: as the archive has it; ``target``: of a link."""

    name: str
    kind: str
    mode: int = 0
    owner: str | None = None
    group: str | None = None
    size: int = 0
    mtime: int = 0
    target: str = ""
    stored: str = ""
    crc: int = 0


class Archive:
    """An archive: a file that is there (``path``) or bytes (``data``). ``flag`` is "zip" or tar's option for the compression."""

    def __init__(self, head: bytes, path: str = "", content: Content | None = None) -> None:
        self.path = path
        self.content = content
        kind = next((entry for entry in MAGIC if head.startswith(entry[0])), (b"", "", "", "TarArchive"))
        self.flag, self.program, self.handler = kind[1:]

    @property
    def place(self) -> Any:
        """What goes into the change: the path, or the content."""
        return self.path or self.content


def opened(node: Node, src: str | Content) -> Archive:
    """The archive at a path of the node, or in a content. An archive that an earlier step only will put there has its content."""
    if isinstance(src, Content):
        return Archive(src.bytes()[:512], content=src)
    state = node.files.stat(src)
    if state is None:
        node.fail(f"there is no archive {src} on the node", src=src)
    if state.kind != "file":
        node.fail(f"{src} is a {state.kind}, not an archive", src=src)
    if not state.size:
        node.fail(f"the archive {src} is empty", src=src)
    try:
        head = node.commands.query(["head", "-c", "512", "--", src], about=[("path", src)]).stdout
    except UnknownReading:
        content = node.files.content(src)
        return Archive(content.bytes()[:512], content=content)
    return Archive(head, path=src)


def listed(node: Node, archive: Archive, options: Sequence[str], exclude: Sequence[str], include: Sequence[str]) -> list[Member]:
    """All members that would be unpacked, parents first; a name that would leave the destination is a failure."""
    if archive.flag == "zip":
        members = list(_zip_members(node, archive, exclude, include))
    else:
        _need_program(node, archive)
        members = list(_tar_members(node, archive, [*tar_options(exclude, include, options)]))
    known: dict[str, Member] = {}
    for member in members:
        parts = member.name.split("/")
        if ".." in parts:
            node.fail(f"the archive holds {member.stored!r}, which would leave the destination; it is not unpacked")
        name = "/".join(part for part in parts if part not in ("", "."))
        if name:
            known[name] = member.evolve(name=name)
    return [known[name] for name in sorted(known)]


def tar_options(exclude: Sequence[str], include: Sequence[str], options: Sequence[str]) -> list[str]:
    """tar's words for what to take, after the file name."""
    return [*(f"--exclude={pattern}" for pattern in exclude), *options, *(["--", *include] if include else [])]


def _need_program(node: Node, archive: Archive) -> None:
    for program in ("tar", archive.program):
        if program and node.commands.find(program) is None:
            package = {"xz": "xz-utils on Debian, xz elsewhere"}.get(program, program)
            node.fail(f"{program} is not installed, and this archive needs it; install the package {package} first")


def _tar_members(node: Node, archive: Archive, options: list[str]) -> Iterator[Member]:
    argv = [*TAR, "--list", "--verbose", "--full-time", "--utc", "--show-transformed-names", *_from(archive.flag, archive.path), *options]
    stdin = None if archive.path else archive.content.bytes() if archive.content is not None else b""
    answer = node.commands.query(argv, stdin=stdin, timeout=None, ok=None)
    if answer.rc:
        words = answer.err.strip().splitlines()
        node.fail(f"tar cannot read the archive: {'; '.join(words[:3])}", rc=answer.rc, stderr=answer.err)
    if "../'" in answer.err or "'..'" in answer.err:
        node.fail(f"the archive holds names with .., which would leave the destination; it is not unpacked ({answer.err.splitlines()[0]})")
    import calendar

    for line in answer.stdout.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kind = KINDS.get(match[1].decode(), "")
        if not kind:
            continue
        name = _unquoted(match[12])
        yield Member(
            name=name,
            kind=kind,
            mode=_mode(match[2].decode()),
            owner=match[3].decode("utf-8", "surrogateescape"),
            group=match[4].decode("utf-8", "surrogateescape"),
            size=int(match[5]) if kind == "file" else 0,
            mtime=calendar.timegm(tuple(int(match[index]) for index in range(6, 12))),
            target=_unquoted(match[13] or b""),
            stored=name,
        )


def _from(flag: str, path: str) -> list[str]:
    return [*([flag] if flag else []), "--file", path or "-"]


def _mode(text: str) -> int:
    """``rwsr-x--T`` as bits."""
    bits = 0
    for index, char in enumerate(text):
        shift = 8 - index
        if char in "rwxst":
            bits |= 1 << shift
        if char in "sStT":
            bits |= {2: 0o4000, 5: 0o2000, 8: 0o1000}[index]
    return bits


def _unquoted(text: bytes) -> str:
    """A name out of C quotes."""
    plain = re.sub(rb"\\([0-7]{1,3}|.)", _unescaped, text)
    return plain.decode("utf-8", "surrogateescape")


def _unescaped(match: re.Match[bytes]) -> bytes:
    word = match[1]
    if word[:1].isdigit():
        return bytes([int(word, 8) & 255])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}.get(word, word)


# -- zip -----------------------------------------------------------------------------------------------------------------------------------


def _file(path: str, content: Content | None) -> BinaryIO:
    if path:
        return open(path, "rb")
    import io

    return io.BytesIO(content.bytes() if content is not None else b"")


def _zip_members(node: Node, archive: Archive, exclude: Sequence[str], include: Sequence[str]) -> Iterator[Member]:
    import fnmatch
    import time
    import zipfile

    umask = node.reader.umask()
    try:
        with _file(archive.path, archive.content) as file, zipfile.ZipFile(file) as packed:
            for entry in packed.infolist():
                name = entry.filename
                if any(fnmatch.fnmatch(name, pattern) for pattern in exclude):
                    continue
                if include and not any(fnmatch.fnmatch(name, pattern) for pattern in include):
                    continue
                if entry.flag_bits & 1:
                    node.fail(f"{name} in the archive is encrypted, and zip passwords are not supported")
                mode = entry.external_attr >> 16
                kind = "directory" if entry.is_dir() else ("link" if mode & 0o170000 == 0o120000 else "file")
                bits = mode & 0o777 or (0o777 if kind == "directory" else 0o666) & ~umask
                target = packed.read(entry).decode("utf-8", "surrogateescape") if kind == "link" else ""
                mtime = int(time.mktime((*entry.date_time, 0, 0, -1)))
                size = entry.file_size if kind == "file" else 0
                yield Member(name=name, kind=kind, mode=bits, size=size, mtime=mtime, target=target, stored=name, crc=entry.CRC)
    except zipfile.BadZipFile as error:
        node.fail(f"the zip archive cannot be read: {error}")


# -- unpacking -----------------------------------------------------------------------------------------------------------------------------


def unpack(host: Live, change: Unpack) -> None:
    """Take everything out, for real. The destination itself keeps its mode and owner whatever the archive says of ``./``."""
    top = os.stat(change.target)
    path, content = (change.archive, None) if isinstance(change.archive, str) else ("", change.archive)
    members = [Member(**fields) for fields in change.members]
    if change.flags[:1] == ("zip",):
        _unzip(path, content, change.target, members)
    else:
        flags = [flag for flag in change.flags[:1] if flag]
        argv = [*TAR, "--extract", "--preserve-permissions", *_from("".join(flags), path), "--directory", change.target, *change.flags[1:]]
        begun = time.time()
        try:
            host.tool(argv, stdin=content.bytes() if content is not None else None)
        except BaseException as error:
            full = isinstance(error, Fail) and not os.statvfs(change.target).f_bavail
            _drop_cut_off(change.target, members, begun)
            if full:
                raise Fail(f"cannot unpack: {reason(OSError(errno.ENOSPC, ''), change.target)}", path=change.target) from None
            raise
    for member in members:
        _own(host, change, os.path.join(change.target, member.name), member)
    now = os.stat(change.target)
    if (now.st_uid, now.st_gid) != (top.st_uid, top.st_gid):
        os.chown(change.target, top.st_uid, top.st_gid)
    if now.st_mode != top.st_mode:
        os.chmod(change.target, top.st_mode & 0o7777)


def _own(host: Live, change: Unpack, path: str, member: Member) -> None:
    """What was asked for all members instead of what the archive says."""
    if change.owner is not None or change.group is not None:
        uid = -1 if change.owner is None else host.owner_number(change.owner)
        gid = -1 if change.group is None else host.group_number(change.group)
        os.lchown(path, uid, gid)
    if change.mode is not None and member.kind not in ("link", "hard"):
        os.chmod(path, resolve_mode(change.mode, member.mode, member.kind == "directory", host.umask()))


def _unzip(path: str, content: Content | None, dest: str, members: list[Member]) -> None:
    import zipfile

    with _file(path, content) as file, zipfile.ZipFile(file) as packed:
        for member in members:
            target = os.path.join(dest, member.name)
            os.makedirs(target if member.kind == "directory" else os.path.dirname(target), exist_ok=True)
            if member.kind == "link":
                _replace(target, lambda draft, member=member: os.symlink(member.target, draft))
            elif member.kind == "file":
                _replace(target, lambda draft, member=member: _copy(packed, member, draft))
            if member.kind != "link":
                os.chmod(target, member.mode)
                os.utime(target, (member.mtime, member.mtime))


def _drop_cut_off(folder: str, members: list[Member], since: float) -> None:
    """Remove the files that tar had begun and not ended: it writes them in place."""
    for member in members:
        path = os.path.join(folder, member.name)
        try:
            seen = os.lstat(path)
        except OSError:
            continue  # not reached
        if member.kind == "file" and seen.st_size < member.size and seen.st_ctime >= since - 1:
            os.unlink(path)


def _copy(packed: Any, member: Member, draft: str) -> None:
    import shutil

    with packed.open(member.stored) as source, open(draft, "wb") as file:
        shutil.copyfileobj(source, file)


def _replace(path: str, make: Any) -> None:
    draft = f"{path}.provision-{os.getpid()}"
    try:
        make(draft)
        os.rename(draft, path)
    except BaseException as error:
        if os.path.lexists(draft):
            os.unlink(draft)
        if isinstance(error, OSError):
            raise Fail(f"cannot unpack {path}: {reason(error, path)}", path=path) from None
        raise


# -- foreseeing ----------------------------------------------------------------------------------------------------------------------------


def foreseen(reader: Reader, change: Unpack) -> Iterator[tuple[str, FileState, Content | None]]:
    """Path, state and content of everything an unpacking leaves behind; contents are taken out only when somebody asks for them."""
    umask = reader.umask()
    uid, gid = reader.account()
    members = {fields["name"]: Member(**fields) for fields in change.members}
    for name, member in members.items():
        kind, source = member.kind, member
        if kind == "hard":
            kind, source = "file", members.get(os.path.normpath(member.target).lstrip("/"), member)
        mode = source.mode if change.mode is None else resolve_mode(change.mode, source.mode, kind == "directory", umask)
        owner = change.owner or member.owner or _name(reader.users(), uid, "uid")
        group = change.group or member.group or _name(reader.groups(), gid, "gid")
        target = member.target if kind == "link" else ""
        state = FileState(
            kind=kind,
            mode=0o777 if kind == "link" else mode,
            owner=owner,
            group=group,
            uid=_number(reader.users(), owner, "uid"),
            gid=_number(reader.groups(), group, "gid"),
            size=len(os.fsencode(target)) if target else source.size,
            mtime=float(source.mtime),
            target=target,
        )
        content = Content(size=source.size, load=_loader(reader, change, source), name=name) if kind == "file" else None
        yield os.path.join(change.target, name), state, content


def _name(table: Any, number: int, field: str) -> str:
    return next((name for name, entry in table.items() if getattr(entry, field) == number), str(number))


def _number(table: Any, name: str, field: str) -> Any:
    return next((getattr(entry, field) for known, entry in table.items() if known == name), int(name) if name.isdigit() else None)


def _loader(reader: Reader, change: Unpack, member: Member) -> Any:
    return lambda: _content(reader, change, member)


def _content(reader: Reader, change: Unpack, member: Member) -> bytes:
    path, content = (change.archive, None) if isinstance(change.archive, str) else ("", change.archive)
    if change.flags[:1] == ("zip",):
        import zipfile

        with _file(path, content) as file, zipfile.ZipFile(file) as packed:
            return packed.read(member.stored)
    argv = [*TAR, "--extract", *_from("".join(change.flags[:1]), path)]
    if len(change.flags) > 1:
        # Options may rename what comes out, and tar picks members by their old names only: a filter sees the new ones.
        import shlex

        only = f'if [ "$TAR_FILENAME" = {shlex.quote(member.stored)} ]; then cat; else cat >/dev/null; fi'
        argv += ["--to-command", only, *change.flags[1:]]
    else:
        argv += ["--to-stdout", "--", member.stored]
    return reader.query(argv, (), content.bytes() if content is not None else None, None, {}).stdout
