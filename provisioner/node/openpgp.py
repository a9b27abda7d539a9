"""Fingerprints of OpenPGP public keys, without gpg: a fresh node has none, and a key must be checked before anything trusts it.

RFC 4880 (4.2 packets, 6.2 armor, 12.2 fingerprints) and RFC 9580 for version 6.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLIC_KEY = 6
PUBLIC_SUBKEY = 14


class Key:
    """A public key with all that belongs to it. ``fingerprint`` of the primary key, ``ids``: it and those of subkeys; ``data``: binary."""

    __slots__ = ("data", "fingerprint", "ids")

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.ids = [fingerprint]
        self.data = b""

    def matches(self, wanted: str) -> bool:
        """Whether a key id (8 or 16 digits, a fingerprint; 0x before it or not) means this key or one of its subkeys."""
        return any(each.endswith(wanted.upper().replace(" ", "").removeprefix("0X")) for each in self.ids)


class NoKey(ValueError):
    """The data holds no public key."""


def fingerprints(data: bytes) -> list[str]:
    """The fingerprints (upper-case hex) of the primary keys in armoured or binary data. Raises ``NoKey``."""
    return [key.fingerprint for key in keys(data)]


def keys(data: bytes) -> list[Key]:
    """The keys in armoured or binary data, or in a keyring file of the old format. Raises ``NoKey``."""
    found: list[Key] = []
    for block in _binary(data):
        position = 0
        for tag, body, end in _packets(block):
            if tag == PUBLIC_KEY and body:
                found.append(Key(_fingerprint(body)))
            elif tag == PUBLIC_SUBKEY and body and found:
                found[-1].ids.append(_fingerprint(body))
            if found:
                found[-1].data += block[position:end]
            position = end
    if not found:
        raise NoKey("no OpenPGP public key in this data")
    return found


def _fingerprint(body: bytes) -> str:
    if body[0] >= 6:
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False).hexdigest().upper()


def _binary(data: bytes) -> Iterator[bytes]:
    """The key material: as it is, or out of each armoured block."""
    if b"-----BEGIN PGP" not in data:
        yield data
        return
    import base64
    import binascii

    for block in data.split(b"-----BEGIN PGP PUBLIC KEY BLOCK-----")[1:]:
        text = block.split(b"-----END PGP")[0].replace(b"\r\n", b"\n")
        _headers, _, body = text.partition(b"\n\n")
        lines = [line for line in body.split(b"\n") if line and not line.startswith(b"=")]
        try:
            yield base64.b64decode(b"".join(lines))
        except binascii.Error:
            raise NoKey("the armour of the key is damaged") from None


def _packets(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Tag, body and end of each packet."""
    position = 0
    while position < len(data):
        head = data[position]
        if not head & 0x80:
            return
        if head & 0x40:
            tag, position, size = head & 0x3F, position + 1, 0
            first = data[position] if position < len(data) else 0
            if first < 192:
                size, position = first, position + 1
            elif first < 224:
                size, position = ((first - 192) << 8) + data[position + 1] + 192, position + 2
            elif first == 255:
                size, position = int.from_bytes(data[position + 1 : position + 5], "big"), position + 5
            else:
                return
        else:
            tag, width = head >> 2 & 0x0F, (1, 2, 4, 0)[head & 3]
            size = int.from_bytes(data[position + 1 : position + 1 + width], "big") if width else len(data) - position - 1
            position += 1 + width
        yield tag, data[position : position + size], min(position + size, len(data))
        position += size
