"""Answers in debconf's database: the key is "PACKAGE QUESTION", the value the answer; ``options``: vtype and unseen."""

from __future__ import annotations

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live

QUIET = {"DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NOWARNINGS": "yes", "LC_ALL": "C"}


def read(host: Live, key: str) -> str | None:
    """The answer, or None for a question that debconf does not know (yet)."""
    package, _, question = key.partition(" ")
    try:
        result = host.execute(["debconf-communicate", package], stdin=f"GET {question}\n".encode(), environment=QUIET)
    except OSError:
        raise Fail("debconf is not installed here; it belongs to Debian and its kin") from None
    code, _, answer = result.out.rstrip("\n").partition(" ")
    if result.rc or code not in ("0", "10"):
        raise Fail(f"debconf does not answer about {question}: {result.err.strip() or result.out.strip()}", rc=result.rc)
    return answer if code == "0" else None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:
    """Preset the answer, as if a person had given it."""
    package, _, question = key.partition(" ")
    flags = ["--unseen"] if options.get("unseen") else []
    line = f"{package} {question} {options.get('vtype', 'string')} {value}\n"
    host.tool(["debconf-set-selections", *flags], stdin=line.encode("utf-8", "surrogateescape"), environment=QUIET)
