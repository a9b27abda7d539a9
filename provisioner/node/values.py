"""The values face of ``Node``: keyed state outside the file tree (kernel parameters, hostname, mounts, selections, GPU settings…)."""

from __future__ import annotations

from .changes import SetValue
from .faults import UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node


class Values:
    """``namespace`` names a provider in ``settings.py``; keys and values are the provider's."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def get(self, namespace: str, key: str) -> Any:
        """The value now, or None where there is none."""
        return self._node.reader.value(namespace, key)

    def ensure(
        self,
        namespace: str,
        key: str,
        value: Any,
        *,
        target: str = "",
        options: dict[str, Any] | None = None,
        secret: bool = False,
    ) -> bool:
        """Set the value (None removes it) unless it is already so. ``secret``: reports never show it."""
        try:
            now = self._node.reader.value(namespace, key)
            certain = True
        except UnknownReading as unknown:
            now, certain = Unknown(unknown.because), False
        if certain and now == value:
            return False
        self._node.record(
            SetValue(
                target=target or f"{namespace} {key}",
                before=now,
                after=value,
                certain=certain,
                secret=secret,
                namespace=namespace,
                key=key,
                value=value,
                options=options or {},
            )
        )
        return True
