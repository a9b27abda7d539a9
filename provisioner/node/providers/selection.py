"""dpkg selections: the key is a package name, the value install, hold, deinstall or purge."""

from __future__ import annotations

from ..managers.apt import STATUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def read(host: Live, key: str) -> str | None:  # noqa: ARG001 - one signature for all providers
    """The selection, or None for a package dpkg does not know."""
    name, _, arch = key.partition(":")
    with open(STATUS, "rb") as file:
        data = b"\n" + file.read()
    start = data.find(b"\nPackage: " + name.encode() + b"\n")
    while start >= 0:
        end = data.find(b"\n\n", start + 1)
        paragraph = data[start : end if end >= 0 else len(data)]
        if not arch or b"\nArchitecture: " + arch.encode() + b"\n" in paragraph:
            line = next((line for line in paragraph.split(b"\n") if line.startswith(b"Status: ")), b"")
            return line.split()[1].decode() if len(line.split()) > 1 else None
        start = data.find(b"\nPackage: " + name.encode() + b"\n", start + 1)
    return None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:  # noqa: ARG001 - one signature for all providers
    """Set the selection."""
    host.tool(["dpkg", "--set-selections"], stdin=f"{key} {value}\n".encode())
