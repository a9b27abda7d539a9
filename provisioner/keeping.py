"""What is costly to derive from our own sources is kept between processes, in a folder only we can write to.

A run that changes nothing takes well under a second; packing the agent anew in each would be a good part of that.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path


def kept(name: str, key: str, make: Callable[[], bytes]) -> bytes:
    """What ``make`` returned for this key in an earlier process, else what it returns now (which is then kept).

    A file that somebody else could have written, or that is damaged, is not used. A home that cannot be written only costs time.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "provision"
    path = folder / f"{name}-{key[:32]}"
    found = _read(path)
    if found is not None:
        return found
    data = make()
    draft = path.with_suffix(f".{os.getpid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_bytes(zlib.crc32(data).to_bytes(4, "big") + data)
        draft.chmod(0o600)
        draft.rename(path)
    except OSError:
        _remove(draft)
    return data


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass  # it was not made, or the disk is beyond help


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            if state.st_uid != os.geteuid() or state.st_mode & 0o022:
                return None
            check, data = file.read(4), file.read()
    except OSError:
        return None
    return data if zlib.crc32(data).to_bytes(4, "big") == check else None


def signature(files: Iterable[Path]) -> str:
    """A digest of the files' names, sizes and times: changes when any of them does, and costs no reading."""
    digest = hashlib.sha256()
    for file in files:
        state = file.stat()
        digest.update(f"{file}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return digest.hexdigest()
