"""What the first stage runs: an importer for sources that came over the stream, and the reading side of the code cache.

This file is compiled anew at each start, so it is short; ``cache`` writes what is read here.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any, BinaryIO

TAG = f"{sys.implementation.cache_tag}-{sys.hexversion:x}"
_Spec: Any = type(sys.__spec__)


class Importer:
    """Finds modules in memory. ``packed``: the agent's own sources, not unpacked while the cache has their compiled form."""

    def __init__(self, key: str, packed: bytes) -> None:
        self.key = key
        self.packed = packed
        self.sources: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.packages: set[str] = set()
        self.compiled: dict[str, bytes] = {}
        self.fresh: set[str] = set()
        """Modules that had to be compiled here."""
        self._enter(read_cached(key))
        if not self.compiled:
            self.unpack()

    def unpack(self) -> dict[str, str]:
        """The agent's own sources."""
        own: dict[str, str] = marshal.loads(zlib.decompress(self.packed))
        for name in own.keys() - self.sources.keys():
            self.sources[name] = own[name]
            self._name(name)
        return own

    def add(self, sources: dict[str, str], keys: dict[str, str]) -> None:
        """Take in sources of modules; ``keys`` names each in the cache."""
        self.sources.update(sources)
        self.keys.update(keys)
        for name in sources:
            self._name(name)

    def _enter(self, compiled: dict[str, bytes]) -> None:
        self.compiled.update(compiled)
        for name in compiled:
            self._name(name)

    def _name(self, name: str) -> None:
        while "." in name:
            name = name.rpartition(".")[0]
            self.packages.add(name)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """Part of the import system."""
        if name in self.sources or name in self.compiled or name in self.packages:
            return _Spec(name, self, origin=self._file(name), is_package=name in self.packages)
        return None

    def create_module(self, _spec: Any) -> None:
        """Part of the import system: an ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Part of the import system."""
        exec(self.code(module.__name__), module.__dict__)

    def get_source(self, name: str) -> str:
        """Part of the import system: tracebacks show lines through it."""
        if name not in self.sources and name in self.compiled:
            self.unpack()
        return self.sources.get(name, "")

    def code(self, name: str) -> CodeType:
        """The compiled module, from the cache if it is there."""
        if name in self.keys and name not in self.compiled:
            self._enter(read_cached(self.keys[name]))
        if name in self.compiled:
            ready: CodeType = marshal.loads(self.compiled[name])
            return ready
        if name in self.sources:
            self.fresh.add(name)
        return self.compile(name)

    def compile(self, name: str) -> CodeType:
        """The module compiled from its source."""
        return compile(self.sources.get(name, ""), self._file(name), "exec", dont_inherit=True)

    def _file(self, name: str) -> str:
        return name.replace(".", "/") + ("/__init__.py" if name in self.packages else ".py")


def cache_folder() -> str:
    """Where compiled code is kept."""
    return "/var/cache/provision" if os.geteuid() == 0 else os.path.expanduser("~/.cache/provision")


def read_cached(key: str) -> dict[str, bytes]:
    """Compiled modules by name as kept under ``key``; nothing when there is no such file, or one that somebody else could have written."""
    try:
        folder = cache_folder()
        if not private(os.lstat(folder), 0o40000):
            return {}
        number = os.open(f"{folder}/{key}.{TAG}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(number, "rb") as file:
            if not private(os.fstat(number), 0o100000):
                return {}
            check, data = file.read(4), file.read()
        found: dict[str, bytes] = marshal.loads(data) if int.from_bytes(check, "big") == zlib.crc32(data) else {}
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return found


def private(state: os.stat_result, kind: int) -> bool:
    """Whether this is a file or folder (``kind``: its type bits) that only we can have filled."""
    return state.st_mode & 0o170000 == kind and state.st_uid == os.geteuid() and not state.st_mode & 0o022


def start(stream: BinaryIO, key: str, size: int) -> None:
    """Take the agent's own sources from the stream and run it."""
    importer = Importer(key, stream.read(size))
    sys.meta_path.insert(0, importer)
    from provisioner.node import agent

    agent.main(stream, importer)
