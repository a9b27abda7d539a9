"""File flags (``chattr``): the key is a path, the value the sorted letters."""

from __future__ import annotations

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def read(host: Live, key: str) -> str | None:
    """The flags, or None where the file system has none or the tool is missing."""
    try:
        result = host.execute(["lsattr", "-d", "--", key])
    except OSError:
        return None
    return "".join(sorted(result.out.split(" ", 1)[0].replace("-", ""))) if result.rc == 0 else None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:  # noqa: ARG001 - one signature for all providers
    """Set exactly these flags."""
    now = set(read(host, key) or "")
    wanted = set(value or "")
    for sign, letters in (("-", now - wanted), ("+", wanted - now)):
        if letters:
            result = host.execute(["chattr", sign + "".join(sorted(letters)), "--", key])
            if result.rc:
                raise Fail(f"chattr refuses: {result.err.strip()}", path=key)
