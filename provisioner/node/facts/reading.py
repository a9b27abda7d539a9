"""Small reads that never fail: a fact that cannot be read is left out, it does not stop a run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def text(path: str, default: str = "") -> str:
    """A file's text, or the default."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return default


def word(path: str, default: str = "NA") -> str:
    """A file's text without surrounding space."""
    return text(path, default).strip() or default


def output(argv: Sequence[str], timeout: float = 10) -> str:
    """What a program prints, or nothing when it is missing, fails or hangs."""
    from .. import process
    from ..faults import TimedOut

    try:
        result = process.run(list(argv), timeout=timeout)
    except (OSError, TimedOut):
        return ""
    return result.out if result.rc == 0 else ""


def assignments(data: str) -> dict[str, str]:
    """``KEY=value`` lines with shell quoting, as in os-release."""
    found = {}
    for line in data.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            found[key.strip()] = value.strip().strip("'\"")
    return found
