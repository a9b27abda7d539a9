"""Kernel parameters as they are now (not those of files): the key is dotted, the value text with single spaces."""

from __future__ import annotations

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def path_of(key: str) -> str:
    """The file of a key; a key may use slashes where a part holds a dot (``net/ipv4/conf/eth0.100/forwarding``)."""
    parts = key.split("/") if "/" in key else key.split(".")
    return "/proc/sys/" + "/".join(parts)


def read(host: Live, key: str) -> str | None:  # noqa: ARG001 - one signature for all providers
    """The value, or None where the kernel has no such parameter."""
    try:
        with open(path_of(key), encoding="utf-8") as file:
            return " ".join(file.read().split())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Fail(f"the kernel parameter {key} cannot be read: {error.strerror}") from None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:
    """Set it in the running kernel and read it back: the kernel clamps some values and refuses others."""
    try:
        with open(path_of(key), "w", encoding="utf-8") as file:
            file.write(str(value))
    except FileNotFoundError:
        raise Fail(f"the kernel has no parameter {key}; is the module loaded that brings it?") from None
    except OSError as error:
        raise Fail(f"the kernel refuses {key} = {value}: {error.strerror}") from None
    if read(host, key) != " ".join(str(value).split()) and not options.get("approximate"):
        raise Fail(f"the kernel took {key} = {value} but shows {read(host, key)}")
