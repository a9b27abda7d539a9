"""What belongs to this process as a whole: how much it says, what it must not say, and where its streams go."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TextIO

from provisioner.values import Secrets


@dataclass
class Process:
    """State of one ``provision`` command; ``verbosity`` is the number of ``-v``."""

    verbosity: int = 0
    color: bool | None = None
    """None: decided by the terminal, ``NO_COLOR`` and ``FORCE_COLOR``."""
    secrets: Secrets = field(default_factory=Secrets)
    document_of: str = ""
    """The command that still owes standard output its one JSON document, or ''."""


process = Process()


def prepare_streams() -> None:
    """Let no character that a terminal cannot show break the output."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def silence_streams() -> None:
    """The reader of our output is gone: let the interpreter's own last flush go nowhere instead of failing."""
    silence(sys.stdout, sys.stderr)


def silence(*streams: TextIO) -> None:
    """Let what these streams still hold back go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):  # a stream that is closed, or captured by a test, has nothing left to flush
            continue
    os.close(nowhere)


def use_color(stream: object) -> bool:
    """Whether to colour what goes to this stream."""
    if process.color is not None:
        return process.color
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) and os.environ.get("TERM", "") not in ("", "dumb")
