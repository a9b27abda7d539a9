"""Frames between controller and agent, and the messages they carry.

A frame is a magic number, the length of a JSON header, the length of a raw body, then both. The magic number catches a stream that
something else has written to; the limits catch a peer that lies. Bytes that are not UTF-8 travel inside JSON as lone surrogates.

Messages of the controller (``type``):

    hello    version, mode ("apply" | "plan"), who, lock_wait, cache, login (user name of the connection)   → hello | refused
    code     files: {module name: source}: sources of modules that later steps use,
             keys: {module name: digest} under which the compiled form is cached                             (no answer)
    steps    id, steps: [step…]; runs them in order and stops after the first that fails                    → reply per step, then done
    blob     sha256, last, error (why there is none, or ""); body = next piece of a content the agent asked for with ``need``
    journal  add: [text…], done: [text…]: handlers notified and not yet run                                 (no answer)
    exec     argv | shell, stdin, timeout, user: a plain command for verify and doctor; body = stdin        → executed + body stdout‖stderr
    bye                                                                                                     → end of the agent

A step: ``id``, ``module``, ``params``, ``user`` (run as; None = as the agent), ``environment``, ``timeout`` (s, None), ``diff`` (bool),
``maybe`` (reason why it may not happen at all, or None), ``quiet`` (declared to change nothing: ``changed_when: false``), ``trial``
(``check_mode: true`` on this task: plan it even in an apply), ``real`` (``check_mode: false``: run it even in a plan), ``background``
({limit: seconds, folder}: run it in a process of its own and only answer that it has begun; a plan takes no notice; or None),
``notify`` (texts noted in the journal before the step's first change; the controller strikes off what it did not notify after all).

Messages of the agent:

    hello    version, python, pid, uid, user, hostname, pending: [text…] (journal)
    refused  reason, holder
    reply    id, result {…, failed, changed, msg}, changes: [change…], diffs: [unified diff…], seconds,
             deferred (reason: could not be decided), tainted (reason: decided on readings that an earlier step may alter),
             unknown (reason: result known only after apply); body = the long texts of the result
    done     id, ran (number of steps that ran)
    need     sha256, offset
    data     step, last; body = piece of a file that a ``fetch`` step reads
    progress step, text; an empty text only says that the agent lives
    executed rc, stdout_bytes, timed_out; body = stdout followed by stderr
    bug      trace: our own fault
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

VERSION = 1
MAGIC = b"PVN1"
HEAD = struct.Struct(">4sII")
LIMIT = 256 * 1024 * 1024
PIECE = 256 * 1024
LONG = 64 * 1024
"""Characters from which a text travels in the body: as JSON each control character would take six bytes."""
UNKNOWN_KEY = "$unknown"
TEXT_KEY = "$text"
CONTENT_KEY = "$content"


class WireError(Exception):
    """The stream does not carry our frames (any more)."""


class EndOfStream(WireError):
    """The other side closed the stream."""


class Unknown:
    """Inside results and changes of a plan: a value that only the apply can know."""

    __slots__ = ("because",)

    def __init__(self, because: str) -> None:
        self.because = because

    def __repr__(self) -> str:
        return f"<unknown: {self.because}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return 1


def encode_special(value: Any) -> Any:
    """JSON for what has none: for ``json.dumps(default=…)``."""
    if isinstance(value, Unknown):
        return {UNKNOWN_KEY: value.because}
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "surrogateescape")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def detach(value: Any, body: bytearray) -> Any:
    """``value`` with its long texts moved to ``body``."""
    if isinstance(value, str) and len(value) > LONG:
        start = len(body)
        body += value.encode("utf-8", "surrogatepass")
        return {TEXT_KEY: [start, len(body)]}
    if isinstance(value, dict):
        return {key: detach(child, body) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [detach(child, body) for child in value]
    return value


def attach(value: Any, body: bytes) -> Any:
    """The opposite of ``detach``."""
    if isinstance(value, dict):
        if TEXT_KEY in value:
            start, end = value[TEXT_KEY]
            return str(memoryview(body)[start:end], "utf-8", "surrogatepass")
        return {key: attach(child, body) for key, child in value.items()}
    if isinstance(value, list):
        return [attach(child, body) for child in value]
    return value


def pack(header: dict[str, Any], body: bytes = b"") -> bytes:
    """One frame as bytes."""
    text = json.dumps(header, default=encode_special, separators=(",", ":")).encode("ascii")
    if len(text) > LIMIT or len(body) > LIMIT:
        raise WireError(f"a message of {len(text) + len(body)} bytes is over the limit of {LIMIT}")
    return HEAD.pack(MAGIC, len(text), len(body)) + text + body


def read_frame(read: Callable[[int], bytes], decode: Callable[[bytes], Any] = json.loads) -> tuple[dict[str, Any], bytes]:
    """The next frame; ``read(n)`` returns up to n bytes and nothing at the end of the stream. ``decode`` reads the header's JSON."""
    magic, text_size, body_size = HEAD.unpack(_exactly(read, HEAD.size))
    if magic != MAGIC:
        raise WireError(f"expected a frame, got {magic!r}")
    if text_size > LIMIT or body_size > LIMIT:
        raise WireError(f"a frame of {text_size + body_size} bytes is over the limit of {LIMIT}")
    header = decode(_exactly(read, text_size))
    if not isinstance(header, dict):
        raise WireError("a frame's header is not a mapping")
    return header, _exactly(read, body_size)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    pieces = []
    missing = size
    while missing:
        piece = read(min(missing, 1 << 20))
        if not piece:
            raise EndOfStream("the stream ended" if missing == size else "the stream ended inside a frame")
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
