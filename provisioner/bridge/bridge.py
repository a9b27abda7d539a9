"""``Bridge``: says whether a foreign module can be run, and makes of a call what the node needs for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.bridge.archive import COLLECTIONS, Library, pack
from provisioner.bridge.core import INSTALL, Core
from provisioner.bridge.routing import BUILTIN, Routing
from provisioner.bridge.styles import Style, style_of
from provisioner.diagnostics import did_you_mean
from provisioner.errors import InputError
from provisioner.schema.registry import ModuleInfo, Registry

SPECIAL_FILE_SYSTEMS = ("fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat")
"""File systems whose files cannot be labelled by SELinux one by one; what Ansible tells modules by default."""
WINDOWS = (".ps1", ".psm1")


@dataclass(frozen=True)
class Program:
    """A foreign module as the node gets it: see ``node.foreign.ForeignParams``."""

    name: str
    kind: str
    code: bytes
    main: str
    launcher: tuple[str, ...]
    honest: bool


class Bridge:
    """One for a session. ``core``: None where no ansible-core is installed; ``shared``: folders of ``module_utils`` for all projects."""

    def __init__(self, core: Core | None, registry: Registry, shared: tuple[Path, ...] = ()) -> None:
        self.core = core
        self.registry = registry
        self.routing = Routing(core, lambda: registry.collections)
        self._shared = shared
        self._own: list[Path] = []
        self._programs: dict[tuple[Path, int], Program] = {}
        self._lock = threading.Lock()

    def add_home(self, folder: Path) -> None:
        """Take in the ``module_utils/`` of a playbook's folder or a role."""
        if (folder / "module_utils").is_dir() and folder / "module_utils" not in self._own:
            self._own.append(folder / "module_utils")

    # -- what can be run -----------------------------------------------------------------------------------------------------------

    def refusal(self, info: ModuleInfo) -> tuple[str, str] | None:
        """Why a module that was found cannot be run, and what to do about it; None when it can."""
        if info.declared or info.path is None:
            return None
        if info.path.suffix in WINDOWS:
            return "it is written in PowerShell, and nodes are Linux machines", "use a module for Linux"
        action = self._action_of(info)
        if action is not None:
            return _by_action(action), _OTHERWISE
        if self.core is None and style_of(info.path).kind == "python":
            return f"{info.path} is a module of Ansible's kind, and those need ansible-core beside provision", INSTALL
        return None

    def absence(self, name: str) -> tuple[str, str]:
        """Why a module of this name was not found, and what to do about it."""
        full = self._moved(name)
        collection, short = _split(full)
        install = f"{INSTALL} runs Ansible's own modules"
        if not collection or collection in (BUILTIN, "ansible.legacy"):
            if self.core is None:
                return "it belongs to Ansible or to a collection, and has no counterpart here", install
            return f"ansible-core {self.core.version} has no such module, nor has any library/", _OTHERWISE
        removed = self.routing.removed(collection, short)
        if removed:
            return f"{collection} says: {removed.strip()}", _OTHERWISE
        home = self.routing.home(collection)
        if home is not None:
            action = home.joinpath("plugins", "action", *short.split(".")).with_suffix(".py")
            if action.is_file():
                return _by_action(action), _OTHERWISE
            near = did_you_mean(short, [path.stem for path in (home / "plugins" / "modules").rglob("*.py")])
            return f"the collection {collection} in {home} has no such module", near or _OTHERWISE
        get = f"install the collection: ansible-galaxy collection install {collection}"
        return f"the collection {collection} is not installed here", get if self.core is not None else f"{get}; and {INSTALL}"

    def _moved(self, name: str) -> str:
        """The full name a module goes by now."""
        for _ in range(9):
            collection, short = _split(name)
            collection = BUILTIN if collection in ("", "ansible.legacy") else collection
            new = self.routing.redirects(collection, "modules").get(short)
            if new is None:
                break
            name = new
        return name

    def _action_of(self, info: ModuleInfo) -> Path | None:
        """The action plugin that Ansible would run in a module's place."""
        if info.origin != "collection":
            return self.registry.action_plugin(info.name)
        home = self.routing.home(info.collection)
        path = home / "plugins" / "action" / f"{info.name}.py" if home is not None else None
        return path if path is not None and path.is_file() else None

    # -- what a node gets ----------------------------------------------------------------------------------------------------------

    def program(self, info: ModuleInfo) -> Program:
        """A module with all it imports, made once. Raises ``InputError`` when it cannot be run."""
        refused = self.refusal(info)
        if refused is not None:
            raise InputError.of(f"module {info.full_name!r} cannot be run", why=refused[0], help=refused[1])
        assert info.path is not None, "foreign modules have a file"
        key = (info.path, len(self._own))
        with self._lock:
            if key not in self._programs:
                self._programs[key] = self._made(info, info.path)
            return self._programs[key]

    def _made(self, info: ModuleInfo, path: Path) -> Program:
        try:
            style = style_of(path)
            if style.kind == "python":
                return Program(info.sent_as, "python", self._packed(info, style), _main(info), (), style.honest)
        except (OSError, SyntaxError) as error:
            raise InputError.of(f"module {info.full_name!r} cannot be read: {error}", help=f"it is {path}") from error
        if not style.shebang and style.kind != "json":
            raise InputError.of(f"module {info.full_name!r} does not say what runs it", why=f"{path} has no '#!' line", help="add one")
        return Program(info.sent_as, style.kind, style.text, "", style.shebang, style.honest)

    def _packed(self, info: ModuleInfo, style: Style) -> bytes:
        assert self.core is not None, "without it such modules are refused"
        routes = self.routing.redirects
        library = Library(
            self.core, (*self._own, *self._shared), tuple(self.registry.collections), lambda home: routes(home, "module_utils")
        )
        return pack(library, _main(info), style.text)

    def arguments(self, info: ModuleInfo, given: Mapping[str, Any], *, no_log: bool, verbosity: int, shell: str) -> dict[str, Any]:
        """The arguments of a task with those by which Ansible tells a module of the run; the node adds what it knows itself."""
        told = {
            "no_log": no_log,
            "debug": False,
            "verbosity": verbosity,
            "version": self.core.version if self.core is not None else "2.19.0",
            "module_name": info.full_name,
            "syslog_facility": "LOG_USER",
            "selinux_special_fs": list(SPECIAL_FILE_SYSTEMS),
            "socket": None,
            "shell_executable": shell,
            "keep_remote_files": False,
        }
        return {**given, **{f"_ansible_{name}": value for name, value in told.items()}}


_OTHERWISE = "do it in another way, or under a condition that does not hold on these hosts"


def _by_action(path: Path) -> str:
    return f"its work is done by an action plugin ({path}), and those are written against Ansible's internals"


def _split(name: str) -> tuple[str, str]:
    """Collection and name in it (which may have folders); a short name has no collection."""
    parts = name.split(".", 2)
    return (".".join(parts[:2]), parts[2]) if len(parts) == 3 else ("", name)


def _main(info: ModuleInfo) -> str:
    """The name of a module in its archive."""
    if info.origin == "collection":
        namespace, name, *folders = info.collection.split(".")
        return ".".join([COLLECTIONS, namespace, name, "plugins", "modules", *folders, info.name])
    return f"ansible.modules.{info.name}" if info.origin == "core" else f"ansible.legacy.{info.name}"
