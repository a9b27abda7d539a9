"""The sources of modules as nodes get them, looked up by name."""

from __future__ import annotations

import marshal
import threading
from collections.abc import Mapping

from provisioner.keeping import kept, signature
from provisioner.node import APART
from provisioner.schema import shipping
from provisioner.schema.registry import Registry
from provisioner.transport.packing import strip


class ModuleSources:
    """Gives the sources of a module by its name; read once for all hosts, without what only people read."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, Mapping[str, str]] = {}
        self._built_in: Mapping[str, Mapping[str, str]] | None = None
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Mapping[str, str]:
        """Full module name on the node → source. Raises ``LookupError`` for a module that does not exist."""
        with self._lock:
            found = self._known.get(name)
            if found is None:
                found = self._known[name] = self._find(name)
            return found

    def _find(self, name: str) -> Mapping[str, str]:
        info = self._registry.find(name)
        if info is None:
            raise LookupError(f"there is no module {name!r}")
        if info.origin != "builtin":
            return {full: strip(source) for full, source in shipping.sources_of(info).items()}
        if self._built_in is None:
            files = sorted(file for folder in APART for file in (shipping.NODE / folder).glob("*.py"))
            key = signature([*files, *sorted(shipping.NODE.glob("*.py"))])
            self._built_in = marshal.loads(kept("modules", key, self._all_built_in))
        return self._built_in[info.name]

    def _all_built_in(self) -> bytes:
        """What each built-in module needs; every source once, under its own name."""
        stripped: dict[str, str] = {}
        needed: dict[str, dict[str, str]] = {}
        for info in self._registry.built_in():
            sources = shipping.sources_of(info)
            for full, source in sources.items():
                if full not in stripped:
                    stripped[full] = strip(source)
            needed[info.name] = {full: stripped[full] for full in sources}
        return marshal.dumps(needed)
