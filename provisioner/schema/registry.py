"""Where modules are found: built in, in ``library/`` folders, in installed packages, in installed collections, in ansible-core.

A module is looked up by name without importing the others: a built-in module is the file of its name, and aliases and collections are
read from the sources as text. Nothing is imported before ``ModuleInfo.module`` is asked for.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from provisioner.diagnostics import Span, did_you_mean
from provisioner.errors import InputError
from provisioner.node.declare import Module
from provisioner.schema import structural

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Origin = Literal["builtin", "structural", "library", "package", "collection", "core"]
BUILTIN_PACKAGE = "provisioner.node.modules"
ENTRY_POINTS = "provisioner.modules"
BUILTIN_COLLECTIONS = ("ansible.builtin", "ansible.legacy")

_NO_MODULES = (".pyc", ".pyo", ".yml", ".yaml", ".md", ".rst", ".txt")
"""Endings of files that lie beside modules under the same name."""
_DECLARED = re.compile(r"^MODULE\b.*=\s*Module\(", re.MULTILINE)
_ALIASES = re.compile(r"^ {4}aliases=\(([^)]*)\)", re.MULTILINE)
_COLLECTION = re.compile(r"^ {4}collection=[\"']([\w.]+)[\"']", re.MULTILINE)


@dataclass(frozen=True)
class ModuleInfo:
    """A module that was found. ``declared`` tells ours from foreign ones (Ansible's own kind, programs), which have no declaration."""

    name: str
    origin: Origin
    path: Path | None
    declared: bool
    collection: str = ""
    entry_point: EntryPoint | None = field(default=None, repr=False, compare=False)

    @property
    def full_name(self) -> str:
        """With its collection: ``ansible.posix.mount``."""
        return f"{self.collection}.{self.name}" if self.collection else self.name

    @property
    def sent_as(self) -> str:
        """The name under which a node gets a module: for foreign ones never that of one of ours."""
        if self.declared or self.collection:
            return self.name if self.declared else self.full_name
        return f"ansible.legacy.{self.name}"

    @property
    def module(self) -> Module:
        """The declaration, imported when first asked for. Raises ``InputError`` when the file is broken, ``TypeError`` for foreign ones."""
        if not self.declared:
            raise TypeError(f"{self.name} is not declared in our way")
        return _declaration(self)

    def source(self) -> str:
        """The text of the module's file, as it is sent to nodes. Raises ``OSError``, and ``TypeError`` where there is no file."""
        if self.path is None:
            raise TypeError(f"{self.name} has no file of its own")
        return self.path.read_text("utf-8")


class Registry:
    """Finds modules by the names people write.

    ``libraries`` are searched before the built-in modules (but never for ``ansible.builtin.X``), and after those of playbooks and roles;
    ``collections`` are folders that hold ``ansible_collections``.
    """

    def __init__(self, libraries: Iterable[Path] = (), collections: Iterable[Path] = ()) -> None:
        self._own_libraries: list[Path] = []
        self._libraries = list(dict.fromkeys(folder for folder in libraries if folder.is_dir()))
        self._own_collections: list[Path] = []
        self._collections = list(collections)
        self._homes: list[Path] = []
        self._listed: dict[Path, tuple[Path, ...]] = {}
        self._core: Path | None = None
        self._moved: Callable[[str], Mapping[str, str]] = lambda collection: {}
        self._found: dict[tuple[str, tuple[str, ...]], ModuleInfo | None] = {}
        self._rejected: Mapping[str, str] = {}
        self._nearest: dict[str, str] = {}

    @property
    def libraries(self) -> tuple[Path, ...]:
        """The ``library/`` folders known so far, in the order they are searched."""
        return (*self._own_libraries, *self._libraries)

    @property
    def collections(self) -> tuple[Path, ...]:
        """The folders that hold ``ansible_collections``, in the order they are searched."""
        return (*self._own_collections, *self._collections)

    def use_core(self, modules: Path | None, moved: Callable[[str], Mapping[str, str]]) -> None:
        """What nobody else has is looked for in ansible-core's ``modules``; ``moved``: collection → where names of it have gone."""
        self._core, self._moved = modules, moved
        self._found.clear()

    def reject(self, names: Iterable[str], because: str) -> None:
        """Find none of these modules from now on, whoever has them."""
        self._rejected = {**self._rejected, **dict.fromkeys(map(_plain, names), because)}
        self._found.clear()

    def rejection(self, name: str) -> str:
        """Why a module is not to be used, or an empty text."""
        return self._rejected.get(_plain(name), "")

    def add_library(self, folder: Path) -> None:
        """Search one more ``library/`` folder, of a playbook or a role; folders that do not exist are passed over."""
        if folder not in self._own_libraries and folder.is_dir():
            self._own_libraries.append(folder)
            self._found.clear()

    def add_home(self, folder: Path) -> bool:
        """Take in what a playbook's folder or a role brings along: ``library/`` and ``collections/``. True the first time."""
        if folder in self._homes:
            return False
        self._homes.append(folder)
        self.add_library(folder / "library")
        if (folder / "collections").is_dir():
            self._own_collections.append(folder / "collections")
            self._found.clear()
        return True

    def add_collections(self, folders: Iterable[Path]) -> None:
        """Search more folders that hold ``ansible_collections``."""
        for folder in folders:
            if folder not in self._collections:
                self._collections.append(folder)
                self._found.clear()

    def action_plugin(self, name: str) -> Path | None:
        """The action plugin of Ansible's kind that a playbook or role brings under this name."""
        return next((path for folder in self._homes if (path := folder / "action_plugins" / f"{name}.py").is_file()), None)

    def find(self, name: str, collections: Iterable[str] = ()) -> ModuleInfo | None:
        """The module of this name, short or full; ``collections`` are searched for short names (the ``collections:`` keyword)."""
        key = (name, tuple(collections))
        if key not in self._found:
            self._found[key] = None if self.rejection(name) else self._find(name, key[1])
        return self._found[key]

    @staticmethod
    def built_in() -> Iterator[ModuleInfo]:
        """Every module that comes with us."""
        for name in _builtin_files():
            found = _own(name)
            if found is not None:
                yield found

    def names(self) -> list[str]:
        """Every short name that ``find`` knows without collections, sorted."""
        found = {*_builtin_files(), *structural.MODULES, *_entry_points()}
        for folder in self.libraries:
            found.update(path.stem for path in self._files(folder))
        return sorted(found)

    def modules(self) -> Iterator[ModuleInfo]:
        """All modules that are declared in our way, by name."""
        for name in self.names():
            info = self.find(name)
            if info is not None and info.declared:
                yield info

    def nearest(self, name: str) -> str:
        """``did you mean …?`` for a name that was not found, or an empty text."""
        if name not in self._nearest:
            short = name.rpartition(".")[2]
            known = short != name and self.find(short) is not None
            self._nearest[name] = f"did you mean {short!r}?" if known else did_you_mean(short, [*self.names(), *_aliases()])
        return self._nearest[name]

    def _find(self, name: str, collections: tuple[str, ...]) -> ModuleInfo | None:
        prefix, _, short = name.rpartition(".")
        if not prefix:
            found = self._in_libraries(short)
            for collection in () if found else collections:
                found = found or self._find(f"{collection}.{short}", ())
            return found or _own(short) or self._in_core(short)
        if prefix == "ansible.builtin":
            return _of_collection(short, BUILTIN_COLLECTIONS) or _own(short) or self._in_core(short)
        if prefix == "ansible.legacy":
            return self._in_libraries(short) or _own(short) or self._in_core(short)
        own = _of_collection(short, (prefix,))
        return own or self._in_collections(prefix, short) or self._elsewhere(prefix, short)

    def _in_core(self, name: str) -> ModuleInfo | None:
        """One of ansible-core's own modules, or what it says has become of one."""
        path = self._core / f"{name}.py" if self._core is not None else None
        if path is not None and path.is_file() and not name.startswith("_"):
            return ModuleInfo(name, "core", path, False, "ansible.builtin")
        return self._elsewhere("ansible.builtin", name)

    def _elsewhere(self, collection: str, name: str) -> ModuleInfo | None:
        new = self._moved(collection).get(name)
        return self._find(new, ()) if new is not None and new != f"{collection}.{name}" else None

    def _files(self, folder: Path) -> tuple[Path, ...]:
        """The files of a ``library/``, looked at once."""
        if folder not in self._listed:
            self._listed[folder] = tuple(
                path
                for path in sorted(folder.rglob("*"))
                if path.is_file() and not path.name.startswith((".", "__")) and path.suffix not in _NO_MODULES
            )
        return self._listed[folder]

    def _in_libraries(self, name: str) -> ModuleInfo | None:
        for folder in self.libraries:
            for path in self._files(folder):
                if path.stem in (name, f"_{name}"):
                    return ModuleInfo(name, "library", path, _is_declared(path))
        return None

    def _in_collections(self, collection: str, name: str) -> ModuleInfo | None:
        namespace, _, rest = collection.partition(".")
        head, *folders = rest.split(".")
        for root in self.collections:
            base = root / "ansible_collections" if root.name != "ansible_collections" else root
            folder = base.joinpath(namespace, head, "plugins", "modules", *folders)
            for path in (folder / f"{name}.py", folder / name, *sorted(folder.glob(f"{name}.*"))):
                if path.is_file() and path.suffix not in _NO_MODULES:
                    return ModuleInfo(name, "collection", path, _is_declared(path), collection)
        return None


def _plain(name: str) -> str:
    """A module's name without Ansible's own collection."""
    return next((name.removeprefix(f"{prefix}.") for prefix in BUILTIN_COLLECTIONS if name.startswith(f"{prefix}.")), name)


def _own(name: str) -> ModuleInfo | None:
    """Structural, built in by file or alias, or from an installed package."""
    if name in structural.MODULES:
        return ModuleInfo(name, "structural", None, True, "ansible.builtin")
    path = _builtin_files().get(name)
    if path is not None:
        return ModuleInfo(name, "builtin", path, True, _scan(path)[1])
    target = _aliases().get(name)
    if target is not None:
        return _own(target)
    entry_point = _entry_points().get(name)
    if entry_point is not None:
        return ModuleInfo(name, "package", None, True, entry_point=entry_point)
    return None


def _of_collection(name: str, collections: tuple[str, ...]) -> ModuleInfo | None:
    """One of ours under the collection where Ansible keeps it; community.general also has modules that moved out of it."""
    found = _own(name)
    if found is None or found.origin == "package":
        return None
    home = found.collection
    if home in collections or (home.startswith(("community.", "ansible.posix")) and collections == ("community.general",)):
        return found
    return None


@functools.lru_cache(maxsize=1)
def _builtin_files() -> Mapping[str, Path]:
    spec = importlib.util.find_spec(BUILTIN_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return {path.stem: path for folder in folders for path in sorted(Path(folder).glob("*.py")) if not path.stem.startswith("_")}


@functools.cache
def _scan(path: Path) -> tuple[tuple[str, ...], str]:
    """Aliases and collection from a module's source, without importing it."""
    text = path.read_text("utf-8")
    start = _DECLARED.search(text)
    if start is None:
        return (), "ansible.builtin"
    aliases = _ALIASES.search(text, start.end())
    collection = _COLLECTION.search(text, start.end())
    names = ast.literal_eval(f"({aliases.group(1).strip().rstrip(',')},)") if aliases and aliases.group(1).strip() else ()
    return tuple(names), collection.group(1) if collection else "ansible.builtin"


@functools.lru_cache(maxsize=1)
def _aliases() -> Mapping[str, str]:
    found = {alias: name for name, path in _builtin_files().items() for alias in _scan(path)[0]}
    for name, module in structural.MODULES.items():
        found.update(dict.fromkeys(module.aliases, name))
    return found


@functools.lru_cache(maxsize=1)
def _entry_points() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # asked for names that are not our own, and dear: it brings the package email

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _is_declared(path: Path) -> bool:
    return path.suffix == ".py" and _DECLARED.search(path.read_text("utf-8", "replace")) is not None


@functools.cache
def _declaration(info: ModuleInfo) -> Module:
    if info.origin == "structural":
        return structural.MODULES[info.name]
    if info.origin == "builtin":
        return _module_of(importlib.import_module(f"{BUILTIN_PACKAGE}.{info.name}"), info)
    if info.entry_point is not None:
        loaded = info.entry_point.load()
        return loaded if isinstance(loaded, Module) else _module_of(loaded, info)
    return _module_of(_imported(info), info)


def _imported(info: ModuleInfo) -> ModuleType:
    """A module file outside the package, imported as if it stood beside the built-in ones, so that ``from ..declare`` works."""
    name = f"{BUILTIN_PACKAGE}.{info.name}_{abs(hash(info.path)):x}"
    spec = importlib.util.spec_from_file_location(name, info.path) if info.path else None
    if spec is None or spec.loader is None:
        raise InputError.of(f"module {info.name!r} cannot be imported", Span(str(info.path)))
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:  # a person's file: whatever it raises is its own mistake
        del sys.modules[name]
        raise InputError.of(f"module {info.name!r} does not load: {type(error).__name__}: {error}", Span(str(info.path))) from error
    return loaded


def _module_of(loaded: object, info: ModuleInfo) -> Module:
    module = getattr(loaded, "MODULE", None)
    if not isinstance(module, Module):
        help_ = "assign MODULE = Module(name=..., ...)"
        raise InputError.of(f"module {info.name!r} declares no MODULE", Span(str(info.path or info.name)), help=help_)
    return module
