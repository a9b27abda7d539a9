"""The sources of modules as nodes get them: stripped, and read once for all hosts."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from provisioner.schema.registry import Registry
from provisioner.schema.shipping import sources_of
from provisioner.transport.packing import strip


class ModuleSources:
    """Gives the sources of a module by its name; see ``schema.shipping`` for what belongs to a module."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Mapping[str, str]:
        """Full module name on the node → source. Raises ``LookupError`` for a module that does not exist."""
        with self._lock:
            found = self._known.get(name)
            if found is None:
                found = self._known[name] = self._read(name)
            return found

    def _read(self, name: str) -> Mapping[str, str]:
        info = self._registry.find(name)
        if info is None:
            raise LookupError(f"there is no module {name!r}")
        return {full: strip(source) for full, source in sources_of(info).items()}
