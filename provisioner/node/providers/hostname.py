"""The host name: key "static" (the file's) or "running" (the kernel's)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def read(host: Live, key: str) -> str | None:  # noqa: ARG001 - one signature for all providers
    """The name."""
    if key == "running":
        return os.uname().nodename
    try:
        with open("/etc/hostname", encoding="utf-8") as file:
            return next((line.strip() for line in file if line.strip() and not line.startswith("#")), None)
    except OSError:
        return None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:  # noqa: ARG001 - one signature for all providers
    """Set it; the static one through hostnamed where that runs, so that its clients hear of it."""
    if key == "running":
        host.tool(["hostname", str(value)])
        return
    from ..live_files import _write_all

    descriptor = os.open("/etc/hostname", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        _write_all(descriptor, f"{value}\n".encode())
    finally:
        os.close(descriptor)
