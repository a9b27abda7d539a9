"""Signed apt archives: the flat kind that NVIDIA publishes, and the kind with suites and components that Ubuntu does."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab.repository.deb import Package

_DATE = "Mon, 01 Dec 2025 00:00:00 UTC"


@dataclass(frozen=True)
class Key:
    """A signing key: 40 hexadecimal digits, the public half as ASCII armour and as the binary keyring that ``signed-by`` wants."""

    fingerprint: str
    armoured: bytes
    binary: bytes


class Signer:
    """Keys kept in a GnuPG home of their own. They survive a rebuild, so nodes that trust one go on trusting it."""

    def __init__(self, home: Path) -> None:
        if shutil.which("gpg") is None:
            raise ProvisionError("gpg is not installed", why="the lab signs its package repository", help="apt install gnupg")
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o700)
        # The agent's socket lies in the home, and a socket's path may have 107 bytes only: a project's folder can be deeper.
        self._short = Path(tempfile.mkdtemp(prefix="provision-gpg-"))
        self._home = self._short / "home"
        self._home.symlink_to(home.absolute())

    def key(self, name: str) -> Key:
        """The key for ``name``, made at its first use."""
        user = f"provision lab (SIMULATION of {name})"
        listed = self._run("--list-keys", "--with-colons", check=False).decode()
        if f"SIMULATION of {name})" not in listed:
            self._run("--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", "never")
        lines = self._run("--list-keys", "--with-colons", user).decode().splitlines()
        fingerprint = next(line.split(":")[9] for line in lines if line.startswith("fpr:"))
        return Key(fingerprint, self._run("--armor", "--export", fingerprint), self._run("--export", fingerprint))

    def clear(self, key: Key, content: bytes) -> bytes:
        """``content`` with a signature around it, as InRelease has it."""
        return self._run("--local-user", key.fingerprint, "--clearsign", content=content)

    def detached(self, key: Key, content: bytes) -> bytes:
        """The signature alone, as Release.gpg has it."""
        return self._run("--local-user", key.fingerprint, "--armor", "--detach-sign", content=content)

    def close(self) -> None:
        """End the agent that gpg has started for this home."""
        subprocess.run(["gpgconf", "--homedir", str(self._home), "--kill", "all"], capture_output=True, env=self._environment())
        shutil.rmtree(self._short)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "GNUPGHOME": str(self._home), "LC_ALL": "C.UTF-8"}

    def _run(self, *arguments: str, content: bytes | None = None, check: bool = True) -> bytes:
        command = ["gpg", "--batch", "--yes", "--no-tty", "--quiet", "--pinentry-mode", "loopback", *arguments]
        done = subprocess.run(command, input=content or b"", capture_output=True, env=self._environment())
        if check and done.returncode != 0:
            raise ProvisionError("the lab's repository cannot be signed", why=done.stderr.decode(errors="replace").strip())
        return done.stdout


def index(packages: Iterable[Package], built: Mapping[str, bytes], folder: str) -> bytes:
    """The Packages file. ``built`` holds the files by name; ``folder`` is where they lie, below the archive's root."""
    stanzas = []
    for package in sorted(packages, key=lambda package: (package.name, package.version)):
        content = built[package.file_name]
        fields = package.control()
        description = fields.pop("Description")
        fields |= {
            "Filename": f"{folder}{package.file_name}",
            "Size": str(len(content)),
            "MD5sum": hashlib.md5(content, usedforsecurity=False).hexdigest(),
            "SHA1": hashlib.sha1(content, usedforsecurity=False).hexdigest(),
            "SHA256": hashlib.sha256(content).hexdigest(),
            "Description": description,
        }
        stanzas.append("".join(f"{name}: {value}\n" for name, value in fields.items()))
    return "\n".join(stanzas).encode()


def release(fields: Mapping[str, str], files: Mapping[str, bytes]) -> bytes:
    """The Release file over index ``files``, named relative to it."""
    lines = [f"{name}: {value}" for name, value in fields.items()]
    lines.append(f"Date: {_DATE}")
    for title, algorithm in (("MD5Sum", "md5"), ("SHA256", "sha256")):
        lines.append(f"{title}:")
        for name, content in sorted(files.items()):
            lines.append(f" {hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()} {len(content)} {name}")
    return ("\n".join(lines) + "\n").encode()


def publish_flat(folder: Path, packages: Sequence[Package], fields: Mapping[str, str], signer: Signer, key: Key) -> None:
    """An archive whose files all lie in ``folder``; its line of sources ends in ``/``."""
    built = {package.file_name: package.build() for package in packages}
    names = index(packages, built, "./")
    indexes = {"Packages": names, "Packages.gz": gzip.compress(names, 6, mtime=0)}
    _write(folder, {**built, **indexes, **_signed(fields, indexes, signer, key)})


def publish_suite(
    folder: Path, suite: str, component: str, packages: Sequence[Package], fields: Mapping[str, str], signer: Signer, key: Key
) -> None:
    """A suite with one component of an archive with pool and dists at ``folder``."""
    built = {package.file_name: package.build() for package in packages}
    pool = f"pool/{component}/{suite}/"
    names = index(packages, built, pool)
    place = f"{component}/binary-amd64/"
    indexes = {f"{place}Packages": names, f"{place}Packages.gz": gzip.compress(names, 6, mtime=0)}
    _write(folder / pool, built)
    _write(folder / "dists" / suite, {**indexes, **_signed(fields, indexes, signer, key)})


def _signed(fields: Mapping[str, str], indexes: Mapping[str, bytes], signer: Signer, key: Key) -> dict[str, bytes]:
    content = release(fields, indexes)
    return {"Release": content, "Release.gpg": signer.detached(key, content), "InRelease": signer.clear(key, content)}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
