"""Bytes that may still be elsewhere: known by digest and size, fetched only when they are really needed.

A file of gigabytes that is already right on the node never crosses the network: the digest decides.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Content:
    """A sequence of bytes, compared by digest. ``name`` is the file name it came from, for messages."""

    __slots__ = ("_data", "_digest", "_load", "name", "size")

    def __init__(
        self, data: bytes | None = None, digest: str = "", size: int = -1, load: Callable[[], bytes] | None = None, name: str = ""
    ) -> None:
        self._data = data
        self._digest = digest
        self._load = load
        self.size = len(data) if data is not None else size
        self.name = name

    @property
    def digest(self) -> str:
        """The SHA-256 in hexadecimal."""
        if not self._digest:
            self._digest = hashlib.sha256(self.bytes()).hexdigest()
        return self._digest

    def bytes(self) -> bytes:
        """The bytes themselves, fetched when they are not here."""
        if self._data is None:
            if self._load is None:
                raise ValueError(f"the content {self._digest[:12]} is not here")
            self._data = self._load()
        return self._data

    def at_hand(self) -> bool:
        """Whether ``bytes`` costs nothing."""
        return self._data is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.size == other.size and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Content({self.size} bytes, {self.digest[:12]})"


def content_of(value: Any) -> Content:
    """``value`` (text, bytes or a Content) as a Content; text is UTF-8, with undecodable bytes restored."""
    if isinstance(value, Content):
        return value
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return Content(bytes(value))
