"""Agents on this very machine (``ansible_connection: local``)."""

from __future__ import annotations

import getpass

from provisioner.errors import HostUnreachable
from provisioner.transport.bootstrap import Start
from provisioner.transport.streams import ProcessStream


def login() -> str:
    """Who we are here."""
    return getpass.getuser()


def open_stream(start: Start) -> ProcessStream:
    """Start the command here."""
    try:
        return ProcessStream(start.argv, login())
    except OSError as error:
        raise HostUnreachable(f"cannot start {start.argv[0]} here: {error.strerror}") from None
