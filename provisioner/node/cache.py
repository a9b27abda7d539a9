"""Keeps the compiled form of what was streamed, so that the next agent starts without compiling.

The cache holds nothing that could not be made again: whatever goes wrong in writing it is no reason to fail.
"""

from __future__ import annotations

import marshal
import os
import zlib

from .loader import TAG, cache_folder, private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .loader import Importer

MOST = 200
"""Files kept; the oldest go first."""


def write(importer: Importer) -> None:
    """Note the compiled form of all modules that had to be compiled in this process."""
    fresh, importer.fresh = importer.fresh, set()
    if not fresh:
        return
    try:
        folder = _folder()
        if any(name not in importer.keys for name in fresh):
            _store(folder, importer.key, {name: marshal.dumps(importer.compile(name)) for name in importer.unpack()})
        for name in fresh:
            if name in importer.keys:
                _store(folder, importer.keys[name], {name: marshal.dumps(importer.compile(name))})
        _prune(folder)
    except OSError:
        return  # read-only or full: every start compiles, and nothing else changes


def _folder() -> str:
    """The folder, made when it is missing; ``OSError`` when somebody else could write there."""
    folder = cache_folder()
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not private(os.lstat(folder), 0o40000):
            raise PermissionError(f"{folder} is not ours alone") from None
    return folder


def _store(folder: str, key: str, compiled: dict[str, bytes]) -> None:
    data = marshal.dumps(compiled)
    path = f"{folder}/{key}.{TAG}"
    draft = f"{path}.{os.getpid()}"
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(number, "wb") as file:
            file.write(zlib.crc32(data).to_bytes(4, "big") + data)
        os.rename(draft, path)
    except OSError:
        os.unlink(draft)
        raise


def _prune(folder: str) -> None:
    names = os.listdir(folder)
    if len(names) <= MOST:
        return
    with os.scandir(folder) as entries:
        ages = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries)
    for _, path in ages[: len(ages) - MOST]:
        os.unlink(path)
