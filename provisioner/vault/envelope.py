"""The Ansible Vault file format, versions 1.1 and 1.2: a header line, then hex text of salt, HMAC and AES-256-CTR ciphertext.

    $ANSIBLE_VAULT;1.1;AES256
    $ANSIBLE_VAULT;1.2;AES256;prod

The body is hex of three lines that are hex themselves: salt (32 bytes), HMAC-SHA256 over the ciphertext, ciphertext. One PBKDF2-HMAC-SHA256
run of 10,000 rounds over password and salt gives 80 bytes: cipher key (32), HMAC key (32), counter block (16).
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
import textwrap
import threading
from collections import OrderedDict
from dataclasses import dataclass

MAGIC = "$ANSIBLE_VAULT"
DEFAULT_ID = "default"
_ROUNDS = 10_000
_WIDTH = 80
_KEYS_KEPT = 4096


class EnvelopeError(ValueError):
    """The text is no vault envelope, or a damaged one; the message says which part."""


class WrongPassword(Exception):
    """The HMAC does not fit: another password, or changed ciphertext."""


@dataclass(frozen=True)
class Envelope:
    """A parsed envelope; ``vault_id`` is ``default`` where the header names none."""

    vault_id: str
    salt: bytes
    digest: bytes
    ciphertext: bytes

    @classmethod
    def parse(cls, text: str | bytes) -> Envelope:
        """Read an envelope; blanks at line ends, CRLF and indentation do not matter. Raises ``EnvelopeError``."""
        try:
            lines = (text if isinstance(text, str) else text.decode("ascii")).split()
        except UnicodeDecodeError:
            raise EnvelopeError("it holds bytes that are no ASCII text") from None
        vault_id = _parse_header(lines[0] if lines else "")
        try:
            salt, digest, ciphertext = (binascii.unhexlify(part) for part in binascii.unhexlify("".join(lines[1:])).split(b"\n", 2))
        except (binascii.Error, ValueError):
            raise EnvelopeError("its body is not three parts of hexadecimal text: it was cut or edited") from None
        return cls(vault_id, salt, digest, ciphertext)

    @classmethod
    def seal(cls, plain: bytes, password: bytes, vault_id: str = DEFAULT_ID, salt: bytes | None = None) -> Envelope:
        """Encrypt ``plain``; a fixed ``salt`` gives the same envelope each time (for those who compare encrypted files)."""
        salt = salt if salt is not None else os.urandom(32)
        cipher_key, mac_key, counter = _keys(password, salt)
        padding = 16 - len(plain) % 16
        ciphertext = _aes_ctr(cipher_key, counter, plain + bytes([padding]) * padding)
        return cls(vault_id, salt, hmac.digest(mac_key, ciphertext, "sha256"), ciphertext)

    def open(self, password: bytes) -> bytes:
        """The plain bytes. Raises ``WrongPassword``."""
        cipher_key, mac_key, counter = _keys(password, self.salt)
        if not hmac.compare_digest(hmac.digest(mac_key, self.ciphertext, "sha256"), self.digest):
            raise WrongPassword
        padded = _aes_ctr(cipher_key, counter, self.ciphertext)
        return padded[: -padded[-1]] if padded else b""

    def text(self) -> str:
        """The envelope as it stands in a file, with a final newline."""
        header = f"{MAGIC};1.1;AES256" if self.vault_id == DEFAULT_ID else f"{MAGIC};1.2;AES256;{self.vault_id}"
        body = binascii.hexlify(b"\n".join(binascii.hexlify(part) for part in (self.salt, self.digest, self.ciphertext))).decode()
        return "\n".join([header, *textwrap.wrap(body, _WIDTH)]) + "\n"


def is_vaulted(content: str | bytes) -> bool:
    """Whether a file's content is a vault envelope as a whole."""
    start = content[: len(MAGIC) + 1]
    return start in (MAGIC + ";", (MAGIC + ";").encode())


def _parse_header(line: str) -> str:
    fields = line.split(";")
    if fields[0] != MAGIC or len(fields) < 3:
        raise EnvelopeError(f"it does not begin with '{MAGIC};1.1;AES256'")
    if fields[1] not in ("1.1", "1.2"):
        raise EnvelopeError(f"format version {fields[1]!r} is not supported, only 1.1 and 1.2")
    if fields[2] != "AES256":
        raise EnvelopeError(f"cipher {fields[2]!r} is not supported, only AES256")
    return fields[3] if fields[1] == "1.2" and len(fields) > 3 and fields[3] else DEFAULT_ID


def _aes_ctr(key: bytes, counter: bytes, data: bytes) -> bytes:
    # Imported here: loading OpenSSL costs more than the whole of `provision --help`.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


_cache: OrderedDict[tuple[bytes, bytes], bytes] = OrderedDict()
_cache_lock = threading.Lock()


def _keys(password: bytes, salt: bytes) -> tuple[bytes, bytes, bytes]:
    """Cipher key, HMAC key and first counter block; kept, since deriving costs 5 ms and a file is often read more than once."""
    with _cache_lock:
        found = _cache.get((password, salt))
    if found is None:
        found = hashlib.pbkdf2_hmac("sha256", password, salt, _ROUNDS, 80)
        with _cache_lock:
            _cache[password, salt] = found
            if len(_cache) > _KEYS_KEPT:
                _cache.popitem(last=False)
    return found[:32], found[32:64], found[64:]
