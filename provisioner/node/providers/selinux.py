"""SELinux labels: the key is a path, the value ``user:role:type:level``."""

from __future__ import annotations

import os

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live

LABEL = "security.selinux"


def read(host: Live, key: str) -> str | None:  # noqa: ARG001 - one signature for all providers
    """The label, or None where there is none."""
    try:
        return os.getxattr(key, LABEL, follow_symlinks=False).rstrip(b"\0").decode()
    except OSError:
        return None


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:  # noqa: ARG001 - one signature for all providers
    """Set the label."""
    try:
        os.setxattr(key, LABEL, str(value).encode() + b"\0", follow_symlinks=False)
    except OSError as error:
        raise Fail(f"SELinux refuses the label {value} for {key}: {error.strerror}", path=key) from None
