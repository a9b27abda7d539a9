"""Imports from the archive of a foreign module, of which nothing is compiled twice in one run.

Compiling Ansible's library takes ten times as long as running it. What a child had to compile it leaves behind in a file; its parent
takes that in, so that the next child is born with it.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import zipimport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

Key = tuple[str, int, int]
"""Full name, checksum and size of a source."""

_known: dict[Key, CodeType] = {}
_fresh: dict[Key, CodeType] = {}
"""What this process compiled itself."""


class Archive:
    """Finds and loads what is in the archive at ``path``. Python's own importer would compile each source several times over."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._zip = zipimport.zipimporter(path)
        self._files: dict[str, Any] = self._zip._files  # type: ignore[attr-defined]

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """Part of the import system."""
        inside = self._inside(name)
        if inside is None:
            return None
        package = [f"{self._path}/{os.path.dirname(inside)}"] if self.is_package(name) else None
        return importlib.util.spec_from_file_location(
            name,
            f"{self._path}/{inside}",
            loader=self,  # type: ignore[arg-type]
            submodule_search_locations=package,
        )

    def _inside(self, name: str) -> str | None:
        base = name.replace(".", "/")
        return next((path for path in (f"{base}/__init__.py", f"{base}.py") if path in self._files), None)

    def create_module(self, _spec: Any) -> None:
        """Part of the import system: an ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Part of the import system."""
        exec(self.get_code(module.__name__), module.__dict__)

    def is_package(self, name: str) -> bool:
        """Part of the import system, for ``runpy``."""
        return (self._inside(name) or "").endswith("/__init__.py")

    def get_filename(self, name: str) -> str:
        """Part of the import system, for ``runpy``."""
        return f"{self._path}/{self._inside(name)}"

    def get_data(self, path: str) -> bytes:
        """Part of the import system: the bytes of a file in the archive."""
        data: bytes = self._zip.get_data(path)
        return data

    def get_source(self, name: str) -> str:
        """Part of the import system: tracebacks show lines through it."""
        return self.get_data(self.get_filename(name)).decode("utf-8", "surrogateescape")

    def get_code(self, name: str) -> CodeType:
        """The compiled module."""
        inside = self._inside(name)
        if inside is None:
            raise ImportError(f"{name} is not in {self._path}", name=name)
        entry = self._files[inside]
        key = (name, entry[7], entry[3])
        if key not in _known:
            source = self._zip.get_data(f"{self._path}/{inside}")
            _fresh[key] = _known[key] = compile(source, inside, "exec", dont_inherit=True)
        return _known[key]


def open_archive(path: str) -> None:
    """Import from the archive before anything else."""
    sys.meta_path.insert(0, Archive(path))
    sys.path.insert(0, path)


def leave(path: str) -> None:
    """Write down, for ``take``, what had to be compiled here."""
    if _fresh:
        with open(path, "wb") as file:
            marshal.dump(_fresh, file)


def take(path: str) -> None:
    """Keep what a child left behind, if it did."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            _known.update(marshal.load(file))
