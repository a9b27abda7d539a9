"""The foreseen system beside the file tree: accounts, packages, units and keyed values."""

from __future__ import annotations

import os

from .faults import Fail, UnknownReading
from .packages import bare_name
from .readings import GroupState, PackageState, UnitState, UserState
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .changes import (
        Change,
        InstallPackages,
        PutGroup,
        PutUser,
        RefreshIndex,
        ReloadUnits,
        RemoveGroup,
        RemovePackages,
        RemoveUser,
        RequestUnit,
        SetUnit,
        SetValue,
    )
    from .content import Content
    from .ports import Reader
    from .readings import FileState

UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
# A service that starts makes sockets, state and devices; it does not write configuration.
RUNTIME_PLACES = ("/run/", "/var/", "/tmp/", "/dev/", "/proc/", "/sys/")
REMOVALS = ("remove", "purge", "autoremove")
SOLVER_PLACES = ("/etc/apt/", "/etc/yum.repos.d/", "/etc/dnf/", "/var/lib/apt/")


class Foreseen(dict):  # type: ignore[type-arg]
    """A table of names in which a name that is absent, or may be altered, raises ``UnknownReading`` when it is asked for."""

    def __init__(self, entries: dict[str, Any], unknown: dict[str, str], pending: str | None) -> None:
        super().__init__(entries)
        self._unknown = unknown
        self._pending = pending

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def get(self, name: Any, default: Any = None) -> Any:
        if name in self._unknown:
            raise UnknownReading(self._unknown[name])
        found = super().get(name, default)
        if found is None and self._pending:
            raise UnknownReading(self._pending)
        return found


class OverlaySystem:
    """The system part of ``Overlay``."""

    if TYPE_CHECKING:
        _base: Reader
        _serial: int
        tainted: str | None
        _entries: dict[str, Any]
        _marks: dict[str, tuple[int, str]]

        def pending(self, after: int = 0, path: str = "") -> str | None: ...
        def read_base(self) -> None: ...
        def mark_path(self, path: str, because: str) -> None: ...
        def content(self, path: str) -> Content: ...
        def _look(self, path: str) -> FileState | None: ...
        def _look_quietly(self, path: str) -> FileState | None: ...
        def _arrive(self, because: str, places: tuple[str, ...] = ()) -> None: ...
        def _fold_make_directory(self, change: Any) -> None: ...

    def _start_system(self) -> None:
        self._users: dict[str, UserState | None] = {}
        self._groups: dict[str, GroupState | None] = {}
        self._unknown_names: dict[tuple[str, str], str] = {}
        self._packages: dict[tuple[str, str], PackageState | None] = {}
        self._requests: dict[str, list[str]] = {}
        self._solver_unknown: dict[str, str] = {}
        self._units: dict[str, dict[str, bool]] = {}
        self._reloaded = 0
        self._values: dict[tuple[str, str], Any] = {}

    # -- accounts ------------------------------------------------------------------------------------------------------------------

    def known_users(self) -> dict[str, Any]:
        """All users that are known, without asking what may still appear."""
        return {name: state for name, state in {**self._base.users(), **self._users}.items() if state is not None}

    def known_groups(self) -> dict[str, Any]:
        """All groups that are known."""
        return {name: state for name, state in {**self._base.groups(), **self._groups}.items() if state is not None}

    def users(self) -> dict[str, UserState]:
        """See ``ports.Reader.users``."""
        self.read_base()
        return Foreseen(self.known_users(), self._unknown_of("user"), self.pending())

    def groups(self) -> dict[str, GroupState]:
        """See ``ports.Reader.groups``."""
        self.read_base()
        return Foreseen(self.known_groups(), self._unknown_of("group"), self.pending())

    def _unknown_of(self, kind: str) -> dict[str, str]:
        return {name: because for (known, name), because in self._unknown_names.items() if known == kind}

    def _fold_put_user(self, change: PutUser) -> None:
        name, fields = change.target, change.fields
        because = f"creating the user {name}"
        old = self.known_users().get(name)
        self._unknown_names.pop(("user", name), None)
        group = str(fields.get("group") or (old.group if old is not None else name))
        if group.isdigit():
            group = next((known for known, state in self.known_groups().items() if state.gid == int(group)), group)
        elif group not in self.known_groups():
            self._groups[group] = GroupState(name=group)
        groups = fields.get("groups")
        if groups is None:
            groups = (*(old.groups if old is not None else ()), *fields.get("append_groups", ()))
        given = {key: value for key, value in fields.items() if key in UserState.__fields__ and key not in ("group", "groups")}
        if old is None:
            unsaid: dict[str, Any] = {key: Unknown(because) for key in ("shell", "comment", "password") if key not in given}
            given = {**unsaid, "home": f"/home/{name}", **given}
            old = UserState(name=name)
        planned = self._groups.get(group)
        state: UserState = old.evolve(**given, group=group, groups=tuple(dict.fromkeys(groups)), gid=planned.gid if planned else old.gid)
        self._users[name] = state
        for member_of in state.groups:
            known = self.known_groups().get(member_of)
            if known is not None and name not in known.members:
                self._groups[member_of] = known.evolve(members=(*known.members, name))
        if change.create and change.options.get("create_home", True):
            self.mark_path(str(state.home), because)

    def _fold_remove_user(self, change: RemoveUser) -> None:
        old = self.known_users().get(change.target)
        self._users[change.target] = None
        own = self.known_groups().get(change.target)
        if own is not None and not set(own.members) - {change.target}:
            self._groups[change.target] = None
        if old is not None and change.purge and isinstance(old.home, str):
            self.mark_path(old.home, f"removing the user {change.target}")

    def _fold_put_group(self, change: PutGroup) -> None:
        self._unknown_names.pop(("group", change.target), None)
        old = self.known_groups().get(change.target)
        self._groups[change.target] = GroupState(name=change.target, gid=change.gid, members=old.members if old is not None else ())

    def _fold_remove_group(self, change: RemoveGroup) -> None:
        self._groups[change.target] = None

    # -- packages ------------------------------------------------------------------------------------------------------------------

    def package(self, manager: str, name: str) -> PackageState | None:
        """See ``ports.Reader.package``."""
        for kind in ("package", f"packages of {manager}"):
            because = self._unknown_names.get((kind, name if kind == "package" else ""))
            if because:
                raise UnknownReading(because)
        if (manager, name) in self._packages:
            return self._packages[(manager, name)]
        state = self._base.package(manager, name)
        because = self._pending_packages(manager)
        if state is None and because:
            raise UnknownReading(because)
        self.read_base()
        return state

    def _pending_packages(self, manager: str) -> str | None:
        """Why a package that is not installed may be by then: a command ran, or an install whose whole set is not known."""
        since, because = self._opaque
        return because or self._solver_unknown.get(f"{manager} set") or ("" if since else None)

    if TYPE_CHECKING:
        _opaque: tuple[int, str]

    def packages(self, manager: str) -> dict[str, PackageState]:
        """See ``ports.Reader.packages``."""
        found = dict(self._base.packages(manager))
        self.read_base()
        because = self._pending_packages(manager)
        if because:
            raise UnknownReading(because)
        for (known, name), state in self._packages.items():
            if known == manager:
                found.pop(name, None)
                if state is not None:
                    found[name] = state
        return found

    def solve(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """See ``ports.Reader.solve``: pending installs are solved together with this one, and what they bring is taken off."""
        because: str | None = self._solver_unknown.get(manager) or self._opaque[1]
        for kind, name in options.get("about", ()):
            because = because or self._pending_for(kind, name)
        for path in [*self._entries, *self._marks]:
            if path.startswith(SOLVER_PLACES) and ":" not in manager:
                because = because or f"changing {path}"
        if because:
            raise UnknownReading(because)
        if verb in REMOVALS:
            return self._solve_removal(manager, verb, request, options)
        earlier = self._requests.get(manager, [])
        try:
            answer = self._base.solve(manager, verb, [*earlier, *request], options)
        except Fail:
            if not earlier:
                raise
            raise UnknownReading(f"installing {', '.join(earlier)}") from None
        install = {}
        for name, (old, new) in answer["install"].items():
            planned = self._packages.get((manager, name))
            if planned is not None and planned.version == new:
                continue
            install[name] = (planned.version if planned is not None else old, new)
        gone = {name for (known, name), state in self._packages.items() if known == manager and state is None}
        remove = {name: old for name, old in answer["remove"].items() if name not in gone}
        return {**answer, "install": install, "remove": remove}

    def _solve_removal(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """What a removal takes away: what the solver says of the packages that are there, and those that would have come until then."""
        planned = {name: state for (known, name), state in self._packages.items() if known == manager}
        answer = self._base.solve(manager, verb, [word for word in request if bare_name(word) not in planned], options)
        remove = {name: old for name, old in answer["remove"].items() if planned.get(name, True) is not None}
        for name in map(bare_name, request):
            state = planned.get(name)
            if state is not None:
                remove[name] = str(state.version)
        return {**answer, "remove": remove}

    def _fold_install_packages(self, change: InstallPackages) -> None:
        because = f"installing {change.target}"
        self._arrive(because, _places(change.manager))
        if change.options.get("verb", "install") == "install":
            self._requests.setdefault(change.manager, []).extend(change.request)
        else:
            self._solver_unknown[change.manager] = because
        after = change.after if isinstance(change.after, dict) else None
        if after is None or any(isinstance(version, Unknown) for version in after.values()):
            self._solver_unknown[f"{change.manager} set"] = because
            self._solver_unknown[change.manager] = because
            for word in change.request:
                self._unknown_names[("package", bare_name(word))] = because
            return
        for name, version in after.items():
            state = None if version is None else PackageState(name=name, version=str(version))
            self._packages[(change.manager, name)] = state
            self._unknown_names.pop(("package", name), None)

    def _fold_remove_packages(self, change: RemovePackages) -> None:
        because = f"removing {change.target}"
        self._solver_unknown[change.manager] = because
        before = change.before if isinstance(change.before, dict) else dict.fromkeys(map(bare_name, change.request))
        for name in before:
            if isinstance(change.before, dict):
                self._packages[(change.manager, name)] = None
            else:
                self._unknown_names[("package", name)] = because
            self._forget_files_of(name, because)

    def _forget_files_of(self, package: str, because: str) -> None:
        """What a package brought goes with it: its files, and the units among them, are not known any more."""
        try:
            listed = self._base.content(f"/var/lib/dpkg/info/{package}.list").bytes().decode("utf-8", "surrogateescape")
        except OSError:
            return
        for path in listed.splitlines():
            state = self._look_quietly(path) if path.startswith("/") else None
            if state is not None and state.kind != "directory":
                self.mark_path(path, because)
                if os.path.dirname(path) in UNIT_FOLDERS:
                    self._unknown_names[("unit", os.path.basename(path))] = because

    def _fold_refresh_index(self, change: RefreshIndex) -> None:
        self._solver_unknown[change.manager] = "refreshing the package index"

    def _doubt_packages(self, change: Change, because: str) -> None:
        manager = str(getattr(change, "manager", ""))
        self._arrive(because)
        self._solver_unknown[manager] = self._solver_unknown[f"{manager} set"] = because
        for word in getattr(change, "request", ()):
            self._unknown_names[("package", bare_name(word))] = because

    # -- units ---------------------------------------------------------------------------------------------------------------------

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:
        """See ``ports.Reader.unit``."""
        because = self._unknown_names.get(("unit", name))
        if because:
            raise UnknownReading(because)
        try:
            state = self._base.unit(name, options)
        except Fail:
            if self.pending():
                raise UnknownReading(str(self.pending())) from None
            raise
        self.read_base()
        path = self._unit_file(name)
        if path:
            state = self._with_file(state, path)
        elif not state.exists:
            because = self.pending()
            if because:
                raise UnknownReading(because)
        noted = self._units.get(name)
        if not noted:
            return state
        fields: dict[str, Any] = {}
        if "active" in noted:
            fields["active"] = "active" if noted["active"] else "inactive"
        if "enabled" in noted:
            fields["enabled"] = "enabled" if noted["enabled"] else "disabled"
        if "masked" in noted:
            fields["load"] = "masked" if noted["masked"] else "loaded"
            if state.enabled == "masked" and not noted["masked"]:
                fields.setdefault("enabled", "disabled")
        return state.evolve(**fields)

    def _unit_file(self, name: str) -> str:
        """The unit file of this name that a pending change writes, or ""."""
        template = f"{name.split('@')[0]}@.{name.rsplit('.', 1)[-1]}" if "@" in name else name
        for folder in UNIT_FOLDERS:
            for candidate in (f"{folder}/{name}", f"{folder}/{template}"):
                entry = self._entries.get(candidate)
                if entry is not None and entry.state is not None and entry.content is not None:
                    return candidate
        return ""

    def _with_file(self, state: UnitState, path: str) -> UnitState:
        """A unit as its pending unit file makes it."""
        entry = self._entries[path]
        if state.exists:
            return state.evolve(needs_reload=entry.serial > self._reloaded or state.needs_reload)
        installable = b"[Install]" in self.content(path).bytes()
        return state.evolve(load="loaded", active="inactive", sub="dead", enabled="disabled" if installable else "static", path=path)

    def _fold_set_unit(self, change: SetUnit) -> None:
        self._unknown_names.pop(("unit", change.target), None)
        self._units.setdefault(change.target, {})[change.aspect] = change.value
        if isinstance(change.before, Unknown):
            # Only this aspect is known now; without the unit file underneath, the others are not.
            self._unknown_names[("unit", change.target)] = change.before.because
        if change.aspect == "active" and change.value:
            self._arrive(f"starting {change.target}", RUNTIME_PLACES)
        if change.aspect in ("enabled", "masked"):
            for folder in self._wanted_by(change.target):
                self.mark_path(f"{folder}/{change.target}", f"enabling {change.target}")

    def _wanted_by(self, name: str) -> list[str]:
        """The folders in which enabling puts links, from the unit file's [Install] section."""
        path = self._unit_file(name) or next((f"{folder}/{name}" for folder in UNIT_FOLDERS if self._look_quietly(f"{folder}/{name}")), "")
        folders = ["/etc/systemd/system"] if not path.startswith("/etc/systemd/system/") else []
        if path:
            for line in self.content(path).bytes().decode("utf-8", "replace").splitlines():
                key, _, value = line.partition("=")
                suffix = {"WantedBy": "wants", "RequiredBy": "requires"}.get(key.strip())
                if suffix:
                    folders += [f"/etc/systemd/system/{target}.{suffix}" for target in value.split()]
        return folders

    def _fold_request_unit(self, change: RequestUnit) -> None:
        self._units.setdefault(change.target, {})["active"] = True
        self._arrive(f"{change.verb}ing {change.target}", RUNTIME_PLACES)

    def _fold_reload_units(self, change: ReloadUnits) -> None:  # noqa: ARG002 - all units are read again, whatever the verb
        self._reloaded = self._serial

    # -- keyed values --------------------------------------------------------------------------------------------------------------

    def value(self, namespace: str, key: str) -> Any:
        """See ``ports.Reader.value``."""
        for known in (f"{namespace}:{key}", f"{namespace}:"):
            because = self._unknown_names.get(("value", known))
            if because:
                raise UnknownReading(because)
        if (namespace, key) in self._values:
            return self._values[(namespace, key)]
        found = self._base.value(namespace, key)
        if found is None and self.pending():
            raise UnknownReading(str(self.pending()))
        self.read_base()
        return found

    def _fold_set(self, change: SetValue) -> None:
        self._unknown_names.pop(("value", f"{change.namespace}:{change.key}"), None)
        self._values[(change.namespace, change.key)] = change.value

    # -- not knowing ---------------------------------------------------------------------------------------------------------------

    def _forget_system(self, kind: str, name: str, because: str) -> None:
        self._unknown_names[(kind, name)] = because
        if kind == "package":
            self._arrive(because)

    def _pending_for(self, kind: str, name: str) -> str | None:
        """Why the answer of a query about this resource is not known, or None."""
        known = self._unknown_names.get((kind, name))
        if known:
            return known
        if kind == "path":
            prefix = name.rstrip("/") + "/"
            for path in [*self._entries, *self._marks]:
                if path == name or path.startswith(prefix):
                    return f"changing {path}"
        if kind == "package" and (self._packages or self._solver_unknown):
            return next(iter(self._solver_unknown.values()), "changing packages")
        if kind == "unit" and name in self._units:
            return f"changing {name}"
        if kind == "value":
            for namespace, key in self._values:
                if name in (f"{namespace}:", f"{namespace}:{key}"):
                    return f"setting {namespace} {key}"
        return None


def _places(manager: str) -> tuple[str, ...]:
    """Where packages of a manager put files; () is anywhere. ``pip:PYTHON`` fills the tree of its Python."""
    _kind, colon, python = manager.partition(":")
    if not colon:
        return ()
    tree = os.path.dirname(os.path.dirname(python))
    return ("/usr/local/", "/usr/lib/", "/usr/share/", "/etc/", "/root/", "/home/") if tree in ("", "/", "/usr") else (f"{tree}/",)
