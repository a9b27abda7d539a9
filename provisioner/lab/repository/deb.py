"""Debian packages, written without dpkg: two small tar files in an ar file. The same input gives the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

_EPOCH = 1764547200  # 1 December 2025: packages are reproducible, so no clock is asked
MAINTAINER = "provision lab (SIMULATION) <lab@localhost>"


@dataclass(frozen=True)
class Entry:
    """A file of a package, or with ``link`` a symbolic link."""

    content: bytes = b""
    mode: int = 0o644
    link: str = ""


def text(content: str, mode: int = 0o644) -> Entry:
    """A text file."""
    return Entry(content.encode(), mode)


@dataclass(frozen=True)
class Package:
    """One version of one package.

    ``relations`` are control fields such as Depends; ``files`` maps absolute paths to entries; ``scripts`` maps postinst and the like
    to shell text; ``conffiles`` are paths that dpkg must not overwrite.
    """

    name: str
    version: str
    summary: str
    relations: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Entry] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    conffiles: tuple[str, ...] = ()
    architecture: str = "amd64"
    section: str = "non-free/libs"
    source: str = ""

    @property
    def file_name(self) -> str:
        """As archives call it: without the epoch."""
        return f"{self.name}_{self.version.split(':')[-1]}_{self.architecture}.deb"

    def control(self) -> dict[str, str]:
        """The fields of its control file, in the usual order."""
        fields = {"Package": self.name, "Version": self.version, "Architecture": self.architecture, "Maintainer": MAINTAINER}
        if self.source:
            fields["Source"] = self.source
        size = sum(len(entry.content) for entry in self.files.values())
        fields |= {"Installed-Size": str(-(-size // 1024) + 4), **self.relations}
        fields |= {"Section": self.section, "Priority": "optional", "Multi-Arch": "foreign"}
        fields["Description"] = f"{self.summary} (SIMULATION)\n Made by provision lab; holds no NVIDIA software."
        return fields

    def build(self) -> bytes:
        """The .deb file."""
        control = "".join(f"{name}: {value}\n" for name, value in self.control().items())
        members: dict[str, Entry] = {"control": text(control)}
        if self.conffiles:
            members["conffiles"] = text("".join(f"{path}\n" for path in self.conffiles))
        for name, script in self.scripts.items():
            members[name] = text(script, 0o755 if name != "triggers" else 0o644)
        sums = (
            f"{hashlib.md5(entry.content, usedforsecurity=False).hexdigest()}  {path.lstrip('/')}\n"
            for path, entry in sorted(self.files.items())
            if not entry.link and path not in self.conffiles
        )
        members["md5sums"] = text("".join(sums))
        parts = (("debian-binary", b"2.0\n"), ("control.tar.gz", _tar(members)), ("data.tar.gz", _tar(self.files)))
        return b"!<arch>\n" + b"".join(_member(name, content) for name, content in parts)


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{_EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def _tar(entries: Mapping[str, Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        made: set[str] = set()
        _directory(archive, ".", made)
        for path, entry in sorted(entries.items()):
            name = f"./{path.lstrip('/')}"
            parents = name.split("/")[1:-1]
            for depth in range(len(parents)):
                _directory(archive, "./" + "/".join(parents[: depth + 1]), made)
            member = _header(name, entry.mode)
            if entry.link:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(member)
            else:
                member.size = len(entry.content)
                archive.addfile(member, io.BytesIO(entry.content))
    return gzip.compress(buffer.getvalue(), 1, mtime=0)


def _directory(archive: tarfile.TarFile, name: str, made: set[str]) -> None:
    if name not in made:
        made.add(name)
        member = _header(name if name != "." else "./", 0o755)
        member.type = tarfile.DIRTYPE
        archive.addfile(member)


def _header(name: str, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.mtime, member.uname, member.gname = mode, _EPOCH, "root", "root"
    return member
