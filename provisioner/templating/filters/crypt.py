"""Password hashes of ``crypt(3)``: the shadow formats MD5, SHA-256, SHA-512 (in Python, or by the C library) and bcrypt.

The scheme of the two SHA formats is published at akkadia.org/drepper/SHA-crypt.txt, that of MD5 came with FreeBSD.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import hashlib
import re
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass

_BCRYPT_ALPHABET = "./" + string.ascii_uppercase + string.ascii_lowercase + string.digits
ALPHABET = "./" + string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Scheme:
    """A format: its marks, the longest salt, and the rounds that Ansible uses when none are given (0: there are none)."""

    prefix: str
    salt_size: int
    rounds: int = 0


SCHEMES: dict[str, Scheme] = {
    "md5_crypt": Scheme("1", 8),
    "sha256_crypt": Scheme("5", 16, 535_000),
    "sha512_crypt": Scheme("6", 16, 656_000),
    "bcrypt": Scheme("2b", 22, 12),
}
ALIASES = {"md5": "md5_crypt", "sha256": "sha256_crypt", "sha512": "sha512_crypt", "blowfish": "bcrypt"}
_FREE_ROUNDS = 5000
"""The rounds of the SHA formats that need not be written."""


def hash_password(
    password: str, scheme: str, salt: str | None = None, salt_size: int | None = None, rounds: int | None = None, ident: str | None = None
) -> str:
    """The hash as it stands in ``/etc/shadow``; without a salt it is another one every time. Raises ``ValueError``."""
    name = ALIASES.get(scheme, scheme)
    if name not in SCHEMES:
        raise ValueError(f"{scheme} is not in the list of supported passlib algorithms: {', '.join([*ALIASES, *SCHEMES])}")
    kind = SCHEMES[name]
    salt = salt or "".join(secrets.choice(ALPHABET) for _ in range(salt_size or kind.salt_size))
    if not re.fullmatch(r"[./0-9A-Za-z]+", salt):
        raise ValueError("Could not hash the secret: the salt has characters other than letters, digits, dot and slash")
    if len(salt) > kind.salt_size or (name == "bcrypt" and len(salt) != kind.salt_size):
        size = f"exactly {kind.salt_size}" if name == "bcrypt" else f"at most {kind.salt_size}"
        raise ValueError(f"Could not hash the secret: the salt has {len(salt)} characters; {name} takes {size}")
    if name == "bcrypt":
        return _bcrypt(password, salt, kind.rounds if rounds is None else int(rounds), ident or kind.prefix)
    count = kind.rounds if rounds is None else int(rounds)
    if kind.rounds and not 1000 <= count <= 999_999_999:
        raise ValueError(f"Could not hash the secret: {count} rounds; {name} takes 1000 to 999999999")
    note = f"rounds={count}$" if kind.rounds and count != _FREE_ROUNDS else ""
    return _shadow(password, f"${kind.prefix}${note}{salt}", kind.prefix, salt, count)


@functools.lru_cache(maxsize=512)
def _shadow(password: str, setting: str, prefix: str, salt: str, rounds: int) -> str:
    """The same password and salt come again for every host and every plan, and a hash takes a large part of a second."""
    library = _library()
    if library is not None:
        found = library(password.encode(), setting.encode())
        if found is not None and found.decode().startswith(setting):
            return str(found.decode())
    digest = _md5(password.encode(), salt.encode()) if prefix == "1" else _sha(password.encode(), salt.encode(), rounds, prefix)
    return f"{setting}${digest}"


@functools.lru_cache(maxsize=1)
def _library() -> Callable[[bytes, bytes], bytes | None] | None:
    """``crypt_r`` of the C library, which is quicker; safe in threads because the state is ours."""
    path = ctypes.util.find_library("crypt")
    if path is None:
        return None
    try:
        function = ctypes.CDLL(path).crypt_r
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_char_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]

    def crypt(password: bytes, setting: bytes) -> bytes | None:
        state = ctypes.create_string_buffer(256 * 1024)
        found: bytes | None = function(password, setting, state)
        return found

    return crypt


def _bcrypt(password: str, salt: str, rounds: int, ident: str) -> str:
    import bcrypt

    if len(password.encode()) > 72:
        raise ValueError("Could not hash the secret: bcrypt takes passwords of at most 72 bytes")
    # 22 characters hold four bits more than the 16 bytes of a salt; libraries refuse or clear them
    last = _BCRYPT_ALPHABET[_BCRYPT_ALPHABET.index(salt[-1]) & 0x30]
    setting = f"${ident}${rounds:02d}${salt[:-1]}{last}".encode()
    return bcrypt.hashpw(password.encode(), setting).decode()


def _encoded(digest: bytes, order: list[tuple[int, ...]]) -> str:
    """Bytes in groups, each as a number of six-bit digits, lowest first."""
    text = ""
    for group in order:
        number = 0
        for index in group:
            number = number << 8 | digest[index]
        for _ in range(len(group) + 1):
            text += ALPHABET[number & 63]
            number >>= 6
    return text


def _md5(password: bytes, salt: bytes) -> str:
    mixed = hashlib.md5(password + salt + password).digest()
    text = password + b"$1$" + salt + (mixed * (len(password) // 16 + 1))[: len(password)]
    count = len(password)
    while count:
        text += b"\0" if count & 1 else password[:1]
        count >>= 1
    state = hashlib.md5(text).digest()
    for turn in range(1000):
        state = hashlib.md5(_turn(turn, state, password, salt)).digest()
    return _encoded(state, [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5), (11,)])


def _turn(turn: int, state: bytes, password: bytes, salt: bytes) -> bytes:
    text = password if turn & 1 else state
    text += salt if turn % 3 else b""
    text += password if turn % 7 else b""
    return text + (state if turn & 1 else password)


_ORDER_256 = [*((i, (i + 10) % 30, (i + 20) % 30) for i in (0, 21, 12, 3, 24, 15, 6, 27, 18, 9)), (31, 30)]
_ORDER_512 = [*((i, (i + 21) % 63, (i + 42) % 63) for i in [(22 * step) % 63 for step in range(21)]), (63,)]


def _sha(password: bytes, salt: bytes, rounds: int, prefix: str) -> str:
    new = hashlib.sha256 if prefix == "5" else hashlib.sha512
    size = new().digest_size

    def repeated(digest: bytes, length: int) -> bytes:
        return (digest * (length // size + 1))[:length]

    mixed = new(password + salt + password).digest()
    text = password + salt + repeated(mixed, len(password))
    count = len(password)
    while count:
        text += mixed if count & 1 else password
        count >>= 1
    state = new(text).digest()
    password_part = repeated(new(password * len(password)).digest(), len(password))
    salt_part = repeated(new(salt * (16 + state[0])).digest(), len(salt))
    for turn in range(rounds):
        state = new(_turn(turn, state, password_part, salt_part)).digest()
    return _encoded(state, _ORDER_256 if prefix == "5" else _ORDER_512)
