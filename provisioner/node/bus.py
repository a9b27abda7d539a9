"""What systemd says of a unit, asked over its own socket: starting ``systemctl`` costs a node fifty times as much.

D-Bus as in its specification (message format, SASL EXTERNAL), as far as two questions need it. ``_socket`` is what ``socket`` is made of;
importing the latter costs more than all the questions of a run.
"""

from __future__ import annotations

import os
import re
import struct
from _socket import AF_UNIX, SOCK_STREAM, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOCKET = "/run/systemd/private"
"""systemd's socket for root, there from the first moment of a boot, whether a message bus runs or not."""
PATIENCE = 25.0
"""Seconds to wait for an answer, as long as systemctl does."""
UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}", re.ASCII)
"""What a unit's name consists of; systemctl takes anything else for a path or a pattern."""

_SYSTEMD = "org.freedesktop.systemd1."
_REPLY, _ERROR = 2, 3
_FIXED = {"y": "<B", "b": "<I", "n": "<h", "q": "<H", "i": "<i", "u": "<I", "x": "<q", "t": "<Q", "d": "<d", "h": "<I"}
_ALIGNMENT = {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "x": 8, "t": 8, "d": 8, "(": 8, "{": 8}


class Bus:
    """A conversation with systemd. ``OSError``: there is none to be had, or it has ended."""

    def __init__(self) -> None:
        self._came = b""
        self._serial = 0
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        try:
            self._socket.settimeout(PATIENCE)
            self._socket.connect(SOCKET)
            self._socket.sendall(b"\0AUTH EXTERNAL %s\r\nBEGIN\r\n" % str(os.geteuid()).encode().hex().encode())
            # A question that comes along with this is read with it, and then forgotten until another one comes.
            while b"\r\n" not in self._came:
                self._receive()
            verdict, _, self._came = self._came.partition(b"\r\n")
            if not verdict.startswith(b"OK"):
                raise OSError(verdict.decode("ascii", "replace"))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it; systemd tells whoever is connected of everything, so nobody should be for long."""
        self._socket.close()

    def unit(self, name: str, general: tuple[str, ...], more: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        """Properties of a unit: ``general`` ones, all of one moment, and some of its own kind, by interface; those it lacks are left out.

        ``LookupError`` when systemd has no answer.
        """
        path = f"/org/freedesktop/systemd1/unit/{_label(name)}"
        first = self._ask(path, "GetAll", f"{_SYSTEMD}Unit")
        questions = [(prop, self._ask(path, "Get", _SYSTEMD + interface, prop)) for interface, names in more.items() for prop in names]
        error, message, start = self._answer(first)
        if error:
            raise LookupError(error)
        found = {prop: _entry(message, start, prop) for prop in general}
        for prop, number in questions:
            error, message, start = self._answer(number)
            if not error:
                found[prop] = _Values(message, start).read("v")
        return {prop: value for prop, value in found.items() if value is not None}

    def _ask(self, path: str, member: str, *words: str) -> int:
        """Put a question about properties; its number."""
        self._serial += 1
        body = bytearray()
        for word in words:
            _text(body, "s", word)
        fields = bytearray()
        head = ((1, "o", path), (2, "s", "org.freedesktop.DBus.Properties"), (3, "s", member), (8, "g", "s" * len(words)))
        for code, kind, value in head:
            _pad(fields, 8)
            fields += bytes((code, 1)) + kind.encode() + b"\0"
            _text(fields, kind, value)
        message = bytearray(b"l\1\0\1" + struct.pack("<III", len(body), self._serial, len(fields)) + fields)
        _pad(message, 8)
        self._socket.sendall(message + body)
        return self._serial

    def _answer(self, number: int) -> tuple[str, bytes, int]:
        """The answer to a question: the name of an error or "", the message, and where in it the values start."""
        while True:
            message, start = self._message()
            if message[1] in (_REPLY, _ERROR):
                fields = dict(_Values(message, 12).read("a(yv)"))
                if fields.get(5) == number:
                    return str(fields.get(4)) if message[1] == _ERROR else "", message, start

    def _message(self) -> tuple[bytes, int]:
        """The next message, and where in it the values start."""
        while len(self._came) < 16:
            self._receive()
        if self._came[:1] != b"l":
            raise OSError("systemd answers in a byte order that is not ours")
        size, _serial, fields_size = struct.unpack_from("<III", self._came, 4)
        start = -(-(16 + fields_size) // 8) * 8
        while len(self._came) < start + size:
            self._receive()
        message, self._came = self._came[: start + size], self._came[start + size :]
        return message, start

    def _receive(self) -> None:
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise OSError("systemd has ended the conversation")
        self._came += piece


class _Values:
    """Values in a message, from a place in it on; alignment counts from the message's start."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    def read(self, signature: str) -> Any:
        """The value of a single complete type that comes next."""
        kind = signature[0]
        self._align(kind)
        if kind in _FIXED:
            return self._fixed(kind)
        if kind in "so":
            return self._text(self._fixed("u"))
        if kind == "g":
            return self._text(self._fixed("y"))
        if kind == "v":
            return self.read(self.read("g"))
        if kind == "a":
            end = self._fixed("u")
            self._align(signature[1])
            end += self._place
            items = []
            while self._place < end:
                items.append(self.read(signature[1:]))
            return dict(items) if signature[1] == "{" else items
        return tuple([self.read(part) for part in _split(signature[1:-1])])

    def _align(self, kind: str) -> None:
        step = _ALIGNMENT.get(kind, 4)
        self._place = -(-self._place // step) * step

    def _fixed(self, kind: str) -> Any:
        value = struct.unpack_from(_FIXED[kind], self._data, self._place)[0]
        self._place += struct.calcsize(_FIXED[kind])
        return bool(value) if kind == "b" else value

    def _text(self, size: int) -> str:
        found = self._data[self._place : self._place + size].decode("utf-8", "surrogateescape")
        self._place += size + 1
        return found


def _entry(message: bytes, start: int, key: str) -> Any:
    """A value of a dictionary of variants, or None.

    Looked for rather than read: reading all hundred properties of a unit costs more than asking for them. Nothing else can be taken for
    a key, since it starts with its length, and so with zero bytes, which no text holds.
    """
    sought = struct.pack("<I", len(key)) + key.encode() + b"\0"
    place = message.find(sought, start)
    return None if place < 0 else _Values(message, place + len(sought)).read("v")


def _split(signature: str) -> list[str]:
    """The complete types that a signature is made of."""
    parts = []
    while signature:
        length = depth = 0
        while True:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[length], 0)
            length += 1
            if not depth and signature[length - 1] != "a":
                break
        parts.append(signature[:length])
        signature = signature[length:]
    return parts


def _text(into: bytearray, kind: str, text: str) -> None:
    data = text.encode()
    if kind == "g":
        into.append(len(data))
    else:
        _pad(into, 4)
        into += struct.pack("<I", len(data))
    into += data + b"\0"


def _pad(into: bytearray, step: int) -> None:
    into += bytes(-len(into) % step)


def _label(name: str) -> str:
    """A name as part of an object's path: what is no letter, nor a digit behind the first place, in hexadecimal."""
    return re.sub(r"^[0-9]|[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):02x}", name)
