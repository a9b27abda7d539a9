"""What collections, and ansible-core, say of their names in ``meta/runtime.yml``: where they have gone, and which belong together."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from provisioner.bridge.core import Core
from provisioner.keeping import kept, signature

BUILTIN = "ansible.builtin"


class Routing:
    """Reads each collection's file once. ``collections`` gives the folders that hold ``ansible_collections``."""

    def __init__(self, core: Core | None, collections: Callable[[], Iterable[Path]]) -> None:
        self._core = core
        self._collections = collections
        self._known: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def redirects(self, collection: str, kind: str) -> Mapping[str, str]:
        """Name → full name it goes by now, for a kind of plugin (``modules``, ``module_utils``, ``filter``…)."""
        entries = self._entries(collection, "plugin_routing").get(kind) or {}
        return {name: entry["redirect"] for name, entry in entries.items() if isinstance(entry, dict) and entry.get("redirect")}

    def removed(self, collection: str, name: str) -> str:
        """Why a module is gone for good, or an empty text."""
        entries = self._entries(collection, "plugin_routing").get("modules") or {}
        tombstone = (entries.get(name) or {}).get("tombstone") or {}
        return str(tombstone.get("warning_text") or "it was removed") if tombstone else ""

    def group(self, collection: str, name: str) -> set[str]:
        """The full names of the modules in an action group, for ``module_defaults``."""
        found: set[str] = set()
        for entry in self._entries(collection, "action_groups").get(name) or ():
            if isinstance(entry, str):
                found.add(entry if entry.count(".") >= 2 else f"{collection}.{entry}")
            elif isinstance(entry, dict):
                for other in (entry.get("metadata") or {}).get("extend_group") or ():
                    home, _, short = other.rpartition(".")
                    found |= self.group(home or collection, short) if (home or collection, short) != (collection, name) else set()
        return found

    def home(self, collection: str) -> Path | None:
        """The folder of an installed collection."""
        namespace, _, name = collection.partition(".")
        for root in self._collections():
            base = root if root.name == "ansible_collections" else root / "ansible_collections"
            if (base / namespace / name).is_dir():
                return base / namespace / name
        return None

    def _entries(self, collection: str, section: str) -> Mapping[str, Any]:
        with self._lock:
            if collection not in self._known:
                self._known[collection] = self._read(collection)
        found = self._known[collection].get(section)
        return found if isinstance(found, dict) else {}

    def _read(self, collection: str) -> Mapping[str, Any]:
        if collection == BUILTIN:
            path = self._core.routing if self._core is not None else None
        else:
            home = self.home(collection)
            path = home / "meta" / "runtime.yml" if home is not None else None
        if path is None or not path.is_file():
            return {}
        found = json.loads(kept("routing", signature([path]), lambda: _as_json(path)))
        return found if isinstance(found, dict) else {}


def _as_json(path: Path) -> bytes:
    """What matters of a routing file; those of big collections take long to read as YAML."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_bytes(), Loader=loader)
    except yaml.YAMLError:
        return b"{}"  # the collection works without, but for names that have moved
    data = data if isinstance(data, dict) else {}
    return json.dumps({name: data.get(name) for name in ("plugin_routing", "action_groups")}, default=str).encode()
