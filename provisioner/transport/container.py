"""Agents in running containers, through ``docker exec`` or ``podman exec``."""

from __future__ import annotations

import re
import shutil

from provisioner.errors import HostUnreachable
from provisioner.ports import Target
from provisioner.transport.bootstrap import Start
from provisioner.transport.streams import ProcessStream

GONE = re.compile(
    r"No such container|no container with name|is not running|can only create exec sessions on running|is paused", re.IGNORECASE
)


def open_stream(target: Target, start: Start) -> ProcessStream:
    """Start the command in the target's container."""
    engine = shutil.which(target.connection)
    if engine is None:
        raise HostUnreachable(
            f"there is no {target.connection} on this machine", help=f"install {target.connection}, or use another connection"
        )
    user = ["--user", target.user] if target.user else []
    name = target.container or target.address or target.host
    return ProcessStream([engine, "exec", "--interactive", *user, name, *start.argv], target.user or "")


def explain(words: str, target: Target) -> HostUnreachable | None:
    """Why the engine itself ended, if it was not the command inside; ``words``: its stderr."""
    words = words.strip()
    if not words.startswith(("Error", "Cannot connect", "permission denied", "Got permission denied")):
        return None
    name = target.container or target.address or target.host
    if GONE.search(words):
        return HostUnreachable(f"the container {name} is not running", why=words, help=f"look at: {target.connection} ps -a")
    return HostUnreachable(f"{target.connection} cannot run a command in {name}", why=words, help=f"does this work? {target.connection} ps")
