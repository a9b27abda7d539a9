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

    def ensure(self, namespace: str, key: str, value: Any, *, target: str = "", options: dict[str, Any] | None = None) -> bool:
        """Set the value (None removes it) unless it is already so."""
        named = target or f"{namespace} {key}"
        options = options or {}
        try:
            now = self._node.reader.value(namespace, key)
        except UnknownReading as unknown:
            before = Unknown(unknown.because)
            change = SetValue(
                target=named, before=before, after=value, certain=False, namespace=namespace, key=key, value=value, options=options
            )
            self._node.record(change)
            return True
        if now == value:
            return False
        self._node.record(SetValue(target=named, before=now, after=value, namespace=namespace, key=key, value=value, options=options))
        return True
