"""The sources of modules as nodes get them: each with the files beside it that it imports, under the names they have there."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from provisioner.schema.registry import BUILTIN_PACKAGE, Registry
from provisioner.transport.packing import strip

SHIPPED = "shipped"
"""The package of users' modules on a node, as ``node.session`` has it: importing that would load the whole agent here."""


class ModuleSources:
    """Gives the sources of a module by its name; read and stripped once for all hosts."""

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
        if info.path is None:
            return {f"{SHIPPED}.{name}": info.source()}
        package = BUILTIN_PACKAGE if info.origin == "builtin" else SHIPPED
        return dict(_with_siblings(package, info.path, set()))


def _with_siblings(package: str, path: Path, seen: set[Path]) -> Iterator[tuple[str, str]]:
    """A module file and every file beside it that it imports by a relative import."""
    seen.add(path)
    source = path.read_text("utf-8")
    yield f"{package}.{path.stem}", strip(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names]
            for name in names:
                sibling = path.with_name(f"{name}.py")
                if sibling not in seen and sibling.is_file():
                    yield from _with_siblings(package, sibling, seen)
