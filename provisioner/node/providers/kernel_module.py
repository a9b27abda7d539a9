"""Loaded kernel modules: the key is a name, the value True while it is loaded; None asks to take it out."""

from __future__ import annotations

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def read(host: Live, key: str) -> bool | None:
    """True when the module is loaded or built in, else None."""
    name = key.replace("-", "_")
    try:
        with open("/proc/modules", encoding="ascii", errors="replace") as file:
            if any(line.split(" ", 1)[0] == name for line in file):
                return True
    except FileNotFoundError:
        pass  # a kernel without loadable modules: what it has is built in
    return True if _built_in(host, name) else None


def _built_in(host: Live, name: str) -> bool:  # noqa: ARG001 - one signature for all helpers
    import os

    release = os.uname().release
    try:
        with open(f"/lib/modules/{release}/modules.builtin", encoding="ascii", errors="replace") as file:
            return any(line.rstrip().rpartition("/")[2].partition(".ko")[0].replace("-", "_") == name for line in file)
    except OSError:
        return False


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:
    """Load or unload."""
    argv = ["modprobe", key, *str(options.get("params") or "").split()] if value else ["modprobe", "-r", key]
    try:
        result = host.execute(argv)
    except OSError:
        raise Fail("modprobe is not installed (package kmod)") from None
    if result.rc:
        raise Fail(f"{' '.join(argv)} failed: {result.err.strip()}", rc=result.rc, stderr=result.err)
