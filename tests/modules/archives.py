"""Makes the archives that cases ask for: ``{archive: gz, members: {src/a: text, src/l: {link: a}, src/d/: {mode: "0700"}}}``."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

WHEN = 1_700_000_000


def make(path: Path, kind: str, members: dict[str, Any]) -> None:
    """``kind``: tar, gz, bz2, xz, zst or zip. A member is its content, or mode, owner, link, hard, content; a directory ends in ``/``."""
    if kind == "zip":
        _zip(path, members)
    elif kind == "zst":
        plain = path.with_suffix(".plain")
        _tar(plain, "w", members)
        subprocess.run(["zstd", "-q", "--rm", "-f", str(plain), "-o", str(path)], check=True)
    else:
        _tar(path, "w" if kind == "tar" else f"w:{kind}", members)


def _tar(path: Path, mode: Any, members: dict[str, Any]) -> None:
    with tarfile.open(path, mode) as archive:
        for name, given in members.items():
            entry = given if isinstance(given, dict) else {"content": given}
            data = str(entry.get("content", "")).encode()
            member = tarfile.TarInfo(name.rstrip("/") or ".")
            member.mtime = WHEN
            member.mode = int(entry.get("mode", "0755" if name.endswith("/") else "0644"), 8)
            member.uname = member.gname = entry.get("owner", "root")
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            elif "link" in entry or "hard" in entry:
                member.type = tarfile.SYMTYPE if "link" in entry else tarfile.LNKTYPE
                member.linkname = entry.get("link") or entry["hard"]
            else:
                member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def _zip(path: Path, members: dict[str, Any]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, given in members.items():
            entry = given if isinstance(given, dict) else {"content": given}
            member = zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20))
            kind = 0o040000 if name.endswith("/") else 0o120000 if "link" in entry else 0o100000
            bits = int(entry.get("mode", "0755" if name.endswith("/") else "0644"), 8)
            member.external_attr = (kind | bits) << 16
            archive.writestr(member, str(entry.get("link") or entry.get("content", "")))
