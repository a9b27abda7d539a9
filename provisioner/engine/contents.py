"""Files of the controller for nodes: found in the usual folders, named by digest, read when a node asks for them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Span, did_you_mean
from provisioner.errors import InputError
from provisioner.node.wire import CONTENT_KEY

INLINE = 32 * 1024
"""Bytes up to which a content travels with the step itself."""
PIECE = 1 << 20
VAULT_MARK = b"$ANSIBLE_VAULT"


class Contents:
    """What nodes may ask for: SHA-256 → reader. Digests of files are kept as long as the file does not change."""

    def __init__(self, read_bytes: Callable[[Path], bytes]) -> None:
        self._read = read_bytes
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int, int, bool], Any] = {}
        self.readers: dict[str, Callable[[], bytes]] = {}

    def data(self, data: bytes, name: str = "", *, inline: bool = True) -> Any:
        """Bytes as a step carries them: text when they are few, else a reference."""
        if inline and len(data) <= INLINE:
            return data.decode("utf-8", "surrogateescape")
        digest = hashlib.sha256(data).hexdigest()
        self.readers[digest] = lambda: data
        return _reference(digest, len(data), name)

    def file(self, path: Path, *, decrypt: bool = True) -> Mapping[str, Any]:
        """A reference to a file; a vaulted one is decrypted. Raises ``InputError`` when it cannot be read."""
        try:
            state = path.stat()
            key = (str(path), state.st_size, state.st_mtime_ns, decrypt)
            known: Mapping[str, Any] | None = self._known.get(key)
            if known is None:
                known = self._known[key] = self._describe(path, state.st_size, decrypt)
        except OSError as error:
            raise InputError.of(f"{path} cannot be read: {error.strerror or error}") from error
        return known

    def bytes(self, path: Path, *, decrypt: bool = True) -> bytes:
        """The bytes of a file. Raises ``InputError``."""
        try:
            return self._read(path) if decrypt else path.read_bytes()
        except OSError as error:
            raise InputError.of(f"{path} cannot be read: {error.strerror or error}") from error

    def _describe(self, path: Path, size: int, decrypt: bool) -> Mapping[str, Any]:
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            head = stream.read(PIECE)
            if decrypt and head.startswith(VAULT_MARK):
                data = self._read(path)
                sealed = hashlib.sha256(data).hexdigest()
                self.readers[sealed] = lambda: data
                return _reference(sealed, len(data), path.name)
            while head:
                digest.update(head)
                head = stream.read(PIECE)
        found = digest.hexdigest()
        self.readers[found] = path.read_bytes
        return _reference(found, size, path.name)


def _reference(digest: str, size: int, name: str) -> dict[str, Any]:
    return {CONTENT_KEY: digest, "size": size, "name": name}


def find_file(paths: Iterable[Path], kind: str, name: str, span: Span | None, near: str = "", *, folders: bool = False) -> Path:
    """A file of the controller: in ``kind`` (``files``, ``templates``, ``vars``) of role, task file and playbook, or beside them."""
    wanted = Path(name).expanduser()
    if wanted.is_absolute():
        tried = [wanted]
    else:
        bases = [*paths]
        if near and not near.startswith("<"):
            bases.insert(min(1, len(bases)), Path(near).parent)
        tried = [candidate for base in dict.fromkeys(bases) for candidate in (base / kind / name, base / name)]
    for path in tried:
        if path.is_file() or (folders and path.is_dir()):
            return path
    names = {entry.name for path in tried if path.parent.is_dir() for entry in path.parent.iterdir()}
    help_ = did_you_mean(wanted.name, names) or "create it, or set remote_src when it is on the node"
    raise InputError.of(f"there is no file {name!r}", span, why="looked for " + ", ".join(map(str, tried)), help=help_)
