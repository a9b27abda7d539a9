"""Filters, tests and lookups of installed collections, found by their full names when a template first uses one."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Diagnostics

if TYPE_CHECKING:
    from provisioner.templating.environment import Environment

PACKAGE = "ansible_collections"
KINDS = {"filter": "FilterModule", "test": "TestModule", "lookup": "LookupModule"}


class Table(dict[str, Any]):
    """Plugins of one kind by name; a full name that nothing has yet is looked for before it counts as unknown."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.look: Callable[[str], None] = lambda name: None

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        if not isinstance(name, str) or name.count(".") < 2:
            return False
        self.look(name)
        return super().__contains__(name)

    def __missing__(self, name: str) -> Any:
        if name in self:
            return dict.__getitem__(self, name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The plugin of this name, or ``default``."""
        try:
            return self[name]
        except KeyError:
            return default


class CollectionPlugins:
    """Loads plugins of collections into an environment.

    roots     the folders that hold ``ansible_collections``, in the order they are searched
    own       collections that are being worked on, not installed: full name → folder
    moved     (collection, kind) → where names of it have gone
    """

    def __init__(
        self,
        environment: Environment,
        roots: Callable[[], Iterable[Path]],
        moved: Callable[[str, str], Mapping[str, str]],
        diagnostics: Callable[[], Diagnostics],
        own: Mapping[str, Path] | None = None,
    ) -> None:
        self._environment = environment
        self._roots = roots
        self._moved = moved
        self._own = own if own is not None else {}
        self._diagnostics = diagnostics
        self._looked: set[tuple[str, str]] = set()
        self._lock = threading.RLock()
        for kind, table in environment.tables.items():
            table.look = functools.partial(self.look, kind)

    def look(self, kind: str, name: str) -> None:
        """Load what may define the plugin of this full name: the file of its name, else all files of its kind in the collection."""
        namespace, collection, short = name.split(".", 2)
        full = f"{namespace}.{collection}"
        table = self._environment.tables[kind]
        with self._lock:
            if (kind, name) in self._looked:
                return
            self._looked.add((kind, name))
            new = self._moved(full, kind).get(short)
            if new is not None and new != name and new in table:
                table[name] = table[new]
                return
            installed = [base / namespace / collection for base in self._bases()]
            for home in [self._own[full], *installed] if full in self._own else installed:
                folder = home / "plugins" / kind
                if folder.is_dir():
                    self._load(kind, full, short, folder)
                    return

    def _bases(self) -> list[Path]:
        return [root if root.name == PACKAGE else root / PACKAGE for root in self._roots()]

    def _load(self, kind: str, collection: str, short: str, folder: Path) -> None:
        from provisioner.templating.plugins import load_file

        self._open_package()
        own = folder.joinpath(*short.split(".")).with_suffix(".py")
        others = [] if kind == "lookup" else sorted(folder.glob("*.py"))
        for path in [own, *others]:
            if not path.is_file() or path.name.startswith("_") or (kind, str(path)) in self._looked:
                continue
            self._looked.add((kind, str(path)))
            load_file(self._environment, path, KINDS[kind], self._diagnostics(), collection)
            if dict.__contains__(self._environment.tables[kind], f"{collection}.{short}"):
                return

    def _open_package(self) -> None:
        """Let plugins import from collections, wherever those are."""
        package = sys.modules.get(PACKAGE)
        if package is None:
            package = sys.modules[PACKAGE] = ModuleType(PACKAGE)
        known = list(getattr(package, "__path__", []))
        package.__path__ = [*known, *(str(base) for base in self._bases() if str(base) not in known)]
