"""Vaulted files on disk: written beside their target and renamed, so that no moment leaves half a file or a plain one behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.diagnostics import Span
from provisioner.errors import UsageError
from provisioner.vault.envelope import is_vaulted
from provisioner.vault.passwords import Password
from provisioner.vault.store import Vault

_PRIVATE = 0o600
_IN_MEMORY = Path("/dev/shm")


def read_plain(path: Path) -> bytes:
    """Content of a file that is not vaulted yet. Raises ``UsageError``."""
    content = _read(path)
    if is_vaulted(content):
        raise UsageError(f"{path} is encrypted already", help="'provision vault rekey' changes its password")
    return content


def read_vaulted(path: Path) -> bytes:
    """Content of a file that is vaulted. Raises ``UsageError``."""
    content = _read(path)
    if not is_vaulted(content):
        raise UsageError(f"{path} is not encrypted", help="'provision vault encrypt' encrypts it")
    return content


def decrypted(path: Path, vault: Vault) -> bytes:
    """What a vaulted file holds. Raises ``UsageError`` and ``InputError``."""
    return vault.open(read_vaulted(path), Span(str(path), 1))


def rekey(path: Path, vault: Vault, new: Password) -> None:
    """Encrypt a file anew with another password, in place."""
    plain = decrypted(path, vault)
    write(path, vault.seal_with(plain, new).encode())


def edit(path: Path, vault: Vault, editor: Callable[[Path], None]) -> bool:
    """Let ``editor`` change the plain text in a private place, then encrypt it under the same id. False when nothing was changed."""
    plain, password = vault.unlock(read_vaulted(path), Span(str(path), 1))
    changed = _edited(plain, path.suffix, editor)
    if changed == plain:
        return False
    write(path, vault.seal_with(changed, password).encode())
    return True


def create(path: Path, vault: Vault, password: Password, editor: Callable[[Path], None]) -> None:
    """A new file of what is written in ``editor``. Raises ``UsageError`` when the file exists."""
    if path.exists():
        raise UsageError(f"{path} exists already", help=f"'provision vault edit {path}' changes it")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", help="make it first")
    write(path, vault.seal_with(_edited(b"", path.suffix, editor), password).encode())


def write(path: Path, content: bytes) -> None:
    """Replace a file, or make it, at once; mode and owner stay, new files are for their owner only. Raises ``UsageError``."""
    path = path.resolve()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _take_after(name, path)
        os.replace(name, path)
    except OSError as error:
        os.unlink(name)
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _take_after(name: str, path: Path) -> None:
    if not path.exists():
        os.chmod(name, _PRIVATE)
        return
    status = path.stat()
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        shutil.chown(name, status.st_uid, status.st_gid)
    os.chmod(name, status.st_mode & 0o7777)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _edited(plain: bytes, suffix: str, editor: Callable[[Path], None]) -> bytes:
    with _private_copy(plain, suffix) as copy:
        editor(copy)
        return copy.read_bytes()


@contextmanager
def _private_copy(plain: bytes, suffix: str) -> Iterator[Path]:
    """A plain copy in a folder of its own, in memory where there is such a place, overwritten before it goes."""
    base = _IN_MEMORY if _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="provision-vault-", dir=base))
    try:
        copy = folder / f"plain{suffix}"
        copy.touch(mode=_PRIVATE)
        copy.write_bytes(plain)
        yield copy
    finally:
        for file in folder.iterdir():  # editors leave backups beside the file
            if file.is_file():
                file.write_bytes(b"\0" * file.stat().st_size)
        shutil.rmtree(folder)
