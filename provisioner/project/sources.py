"""The sources of modules as nodes get them, looked up by name."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from provisioner.schema.registry import Registry
from provisioner.schema.shipping import sources_of
from provisioner.transport.packing import strip


class ModuleSources:
    """Gives the sources of a module by its name; read once for all hosts, without what only people read."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Mapping[str, str]:
        """Full module name on the node → source. Raises ``LookupError`` for a module that does not exist."""
        with self._lock:
            found = self._known.get(name)
            if found is None:
                info = self._registry.find(name)
                if info is None:
                    raise LookupError(f"there is no module {name!r}")
                found = self._known[name] = {full: strip(source) for full, source in sources_of(info).items()}
            return found
