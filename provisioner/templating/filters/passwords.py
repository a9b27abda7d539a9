"""The filter ``password_hash``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from provisioner.templating.filters.crypt import hash_password
from provisioner.templating.natural import text_of


def password_hash(
    password: Any,
    hashtype: str = "sha512",
    salt: Any = None,
    salt_size: int | None = None,
    rounds: int | None = None,
    ident: str | None = None,
) -> str:
    """A password's hash for ``/etc/shadow``: md5, sha256, sha512 or blowfish."""
    if not isinstance(password, (str, int, float)):
        raise TypeError("the password has to be a text")
    if salt_size is not None and not isinstance(salt_size, (int, str)):
        raise TypeError("salt_size must be an integer")
    return hash_password(
        text_of(password), hashtype, None if salt is None else text_of(salt), None if salt_size is None else int(salt_size), rounds, ident
    )


FILTERS: dict[str, Callable[..., Any]] = {"password_hash": password_hash}
