"""Whether a host key may be trusted: ``known_hosts`` files, read and extended as OpenSSH does."""

from __future__ import annotations

import base64
import fcntl
import fnmatch
import hashlib
import hmac
import os
import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from provisioner.errors import HostUnreachable
from provisioner.transport.ssh_config import Settings


@dataclass(frozen=True)
class Entry:
    """A line of a file: ``marker`` is "", "@revoked" or "@cert-authority"; ``names`` as written there."""

    place: str
    marker: str
    names: str
    kind: str
    key: str

    def matches(self, name: str) -> bool:
        """Whether the line is about a host of this name."""
        if self.names.startswith("|1|"):
            salt, _, wanted = self.names[3:].partition("|")
            try:
                made = hmac.new(base64.b64decode(salt), name.encode(), "sha1").digest()
                return hmac.compare_digest(made, base64.b64decode(wanted))
            except ValueError:
                return False
        found = False
        for pattern in self.names.lower().split(","):
            if fnmatch.fnmatchcase(name, pattern.removeprefix("!").replace("[", "[[]")):
                if pattern.startswith("!"):
                    return False
                found = True
        return found


class KnownHosts:
    """A file, read once for as long as it does not change: plain names are looked up, the rest is tried line by line."""

    def __init__(self, path: Path) -> None:
        self._plain: dict[str, list[Entry]] = {}
        self._odd: list[Entry] = []
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            words = line.split()
            marker = words.pop(0) if words and words[0].startswith("@") else ""
            if len(words) < 3 or words[0].startswith("#"):
                continue
            entry = Entry(f"{path}:{number}", marker, *words[:3])
            if any(sign in entry.names for sign in "|*?!"):
                self._odd.append(entry)
            else:
                for name in entry.names.lower().split(","):
                    self._plain.setdefault(name, []).append(entry)

    def find(self, name: str) -> Iterator[Entry]:
        """The lines about a host."""
        yield from self._plain.get(name, ())
        yield from (entry for entry in self._odd if entry.matches(name))


_files: dict[Path, tuple[tuple[int, int], KnownHosts]] = {}
_reading = threading.Lock()


def _file(path: Path) -> KnownHosts | None:
    try:
        state = path.stat()
        stamp = (state.st_mtime_ns, state.st_size)
        with _reading:
            if path not in _files or _files[path][0] != stamp:
                _files[path] = (stamp, KnownHosts(path))
            return _files[path][1]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostUnreachable(f"cannot read {path}: {error.strerror}") from None


def name_of(settings: Settings) -> str:
    """Under what name the host's keys are kept."""
    name = (settings.key_name or settings.address).lower()
    return name if settings.port == 22 or settings.key_name else f"[{name}]:{settings.port}"


def entries_of(settings: Settings) -> list[Entry]:
    """All lines about a host; for an odd port those without it as well, if there are no others."""
    for name in dict.fromkeys((name_of(settings), (settings.key_name or settings.address).lower())):
        files = (_file(path) for path in (*settings.known_hosts, *settings.system_known_hosts))
        found = [entry for file in files if file is not None for entry in file.find(name)]
        if found:
            return found
    return []


class Policy(paramiko.MissingHostKeyPolicy):
    """Judges every host key of a connection; Paramiko's own lists stay empty, so it is asked each time."""

    def __init__(self, settings: Settings, entries: Sequence[Entry]) -> None:
        self._settings = settings
        self._entries = entries

    def missing_host_key(self, _client: paramiko.SSHClient, _hostname: str, key: paramiko.PKey) -> None:
        """``HostUnreachable`` for a key that may not be trusted."""
        kind, text = key.get_name(), key.get_base64()
        revoked = next((entry for entry in self._entries if entry.marker == "@revoked" and entry.key == text), None)
        if revoked is not None:
            raise HostUnreachable("the host key is revoked", why=f"{revoked.place} says so of {fingerprint(text)}")
        plain = [entry for entry in self._entries if not entry.marker]
        if any(entry.key == text for entry in plain) or self._settings.checking == "no":
            return
        other = next((entry for entry in plain if entry.kind == kind), None)
        if other is not None:
            raise _changed(self._settings, other, kind, text)
        if self._settings.checking == "accept-new":
            remember(self._settings, kind, text)
            return
        raise _unknown(self._settings, self._entries, kind, text)


def _changed(settings: Settings, known: Entry, kind: str, text: str) -> HostUnreachable:
    file = known.place.rpartition(":")[0]
    forget = shlex.join(["ssh-keygen", "-R", name_of(settings), "-f", file])
    return HostUnreachable(
        "THE HOST KEY HAS CHANGED: somebody may be in the middle, or the node was installed anew",
        why=f"{known.place} has {kind} {fingerprint(known.key)}, the host offers {fingerprint(text)}",
        help=f"compare on the node's console: ssh-keygen -lf /etc/ssh/ssh_host_{_short(kind)}_key.pub; if it was installed anew: {forget}",
    )


def _unknown(settings: Settings, entries: Sequence[Entry], kind: str, text: str) -> HostUnreachable:
    port = ["-p", str(settings.port)] if settings.port != 22 else []
    file = settings.known_hosts[0] if settings.known_hosts else Path("~/.ssh/known_hosts").expanduser()
    if settings.jump or settings.command:
        accept = f"log in once by hand: {shlex.join(['ssh', *port, '-l', settings.user, settings.alias])}"
    elif settings.key_name:
        accept = f"add this line to {file}: {settings.key_name} {kind} {text}"
    else:
        accept = f"{shlex.join(['ssh-keyscan', '-t', _short(kind), *port, settings.address])} >> {shlex.quote(str(file))}"
    why = f"{name_of(settings)} offers {kind} {fingerprint(text)}, which is in no known_hosts file"
    if any(entry.marker == "@cert-authority" for entry in entries):
        why += "; host certificates cannot be checked, only plain keys"
    return HostUnreachable(
        "the host key is not known",
        why=why,
        help=f"after comparing the fingerprint: {accept}; to trust each host on first sight: ansible_host_key_checking: accept-new",
    )


def _short(kind: str) -> str:
    """``ed25519`` for ``ssh-ed25519``, as key scanners and key files call it."""
    return "ecdsa" if kind.startswith("ecdsa") else kind.removeprefix("ssh-")


def fingerprint(text: str) -> str:
    """A key as people compare it."""
    try:
        digest = hashlib.sha256(base64.b64decode(text)).digest()
    except ValueError:
        return f"an unreadable key ({text[:16]}…)"
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def remember(settings: Settings, kind: str, text: str) -> None:
    """Add a host's key to the user's file, which other runs may be adding to as well."""
    if not settings.known_hosts:
        return  # UserKnownHostsFile is none or /dev/null: nothing shall be kept
    path = settings.known_hosts[0]
    name = name_of(settings)
    if settings.hash_names:
        salt = os.urandom(20)
        made = hmac.new(salt, name.encode(), "sha1").digest()
        name = f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(made).decode()}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            broken = size > 0 and file.read(1) != b"\n"
            file.write(f"{chr(10) if broken else ''}{name} {kind} {text}\n".encode())
    except OSError as error:
        raise HostUnreachable(f"cannot note the host key in {path}: {error.strerror}") from None


def preferred(entries: Sequence[Entry], offered: Sequence[str]) -> tuple[str, ...]:
    """Key types in the order to ask for them: those that are known first, so that a host with several is not taken for a stranger."""
    known = {entry.kind for entry in entries if entry.marker != "@revoked"}
    if "ssh-rsa" in known:
        known |= {"rsa-sha2-512", "rsa-sha2-256"}
    return (*(kind for kind in offered if kind in known), *(kind for kind in offered if kind not in known))
