"""The foreseen system beside the file tree: accounts, packages and keyed values."""

from __future__ import annotations

import os

from .faults import Fail, UnknownReading
from .overlay_units import UNIT_FOLDERS
from .packages import bare_name
from .readings import GroupState, PackageState, UserState
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Callable

    from .changes import (
        Change,
        InstallPackages,
        PutGroup,
        PutUser,
        RefreshIndex,
        RemoveGroup,
        RemovePackages,
        RemoveUser,
        SetValue,
    )
    from .content import Content
    from .ports import Reader
    from .readings import FileState

REMOVALS = ("remove", "purge", "autoremove")
SOLVER_PLACES = ("/etc/apt/", "/etc/yum.repos.d/", "/etc/dnf/", "/var/lib/apt/")


class Foreseen(dict):  # type: ignore[type-arg]
    """A table of names in which a name that is absent, or may be altered, raises ``UnknownReading`` when it is asked for."""

    def __init__(self, entries: dict[str, Any], unknown: dict[str, str], pending: str | None, taint: Callable[[str], None]) -> None:
        super().__init__(entries)
        self._unknown = unknown
        self._pending = pending
        self._taint = taint

    def values(self) -> Any:
        """All that are known; what is decided on their being all is not certain while more may come."""
        if self._pending:
            self._taint(self._pending)
        return super().values()

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
        _units: dict[str, dict[str, bool]]
        _marks: dict[str, tuple[int, str]]

        def pending(self, after: int = 0, path: str = "") -> str | None: ...
        def read_base(self) -> None: ...
        def mark_path(self, path: str, because: str) -> None: ...
        def taint(self, because: str) -> None: ...
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
        return Foreseen(self.known_users(), self._unknown_of("user"), self.pending(), self._taint)

    def groups(self) -> dict[str, GroupState]:
        """See ``ports.Reader.groups``."""
        self.read_base()
        return Foreseen(self.known_groups(), self._unknown_of("group"), self.pending(), self._taint)

    def _taint(self, because: str) -> None:
        self.tainted = because

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
        state: UserState = old.evolve(**given, group=group, groups=tuple(dict.fromkeys(groups)), gid=self.known_groups()[group].gid)
        self._users[name] = state
        self._join(name, state.groups)
        if change.create and change.options.get("create_home", True):
            self.mark_path(str(state.home), because)

    def _join(self, name: str, groups: tuple[str, ...]) -> None:
        """Make these, and only these, the groups that list the user."""
        for group, state in self.known_groups().items():
            if (name in state.members) != (group in groups):
                others = tuple(member for member in state.members if member != name)
                self._groups[group] = state.evolve(members=(*others, name) if group in groups else others)

    def _fold_remove_user(self, change: RemoveUser) -> None:
        old = self.known_users().get(change.target)
        self._users[change.target] = None
        self._join(change.target, ())
        own = self.known_groups().get(change.target)
        if own is not None and not own.members and all(user.group != change.target for user in self.known_users().values()):
            self._groups[change.target] = None
        if old is not None and change.purge and isinstance(old.home, str):
            self.mark_path(old.home, f"removing the user {change.target}")

    def _fold_put_group(self, change: PutGroup) -> None:
        self._unknown_names.pop(("group", change.target), None)
        old = self.known_groups().get(change.target)
        self._groups[change.target] = GroupState(name=change.target, gid=change.gid, members=old.members if old is not None else ())
        for name, user in self.known_users().items():
            if user.group == change.target and user.gid != change.gid:
                self._users[name] = user.evolve(gid=change.gid)

    def _fold_remove_group(self, change: RemoveGroup) -> None:
        self._groups[change.target] = None
        for name, user in self.known_users().items():
            if change.target in user.groups:
                self._users[name] = user.evolve(groups=tuple(group for group in user.groups if group != change.target))

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
        names = set(map(bare_name, request))
        earlier = [word for word in self._requests.get(manager, ()) if bare_name(word) not in names]
        try:
            answer = self._base.solve(manager, verb, [*earlier, *request], options)
        except Fail:
            # What fails alone fails for good; what only fails together with earlier requests may yet do.
            if earlier:
                self._base.solve(manager, verb, request, options)
                raise UnknownReading(f"installing {', '.join(earlier)}") from None
            raise
        install = {}
        wanted = dict(answer["install"])
        for name in names - set(wanted):
            # What the solver finds right as it is, an earlier step will have moved away from there.
            there = self._base.package(manager, name) if self._packages.get((manager, name)) is not None else None
            if there is not None:
                wanted[name] = (there.version, there.version)
        for name, (old, new) in wanted.items():
            planned = self._packages.get((manager, name))
            if planned is not None and planned.version == new:
                continue
            if planned is not None and name in names and name not in request and not options.get("allow_downgrade"):
                # Which of two versions is the newer one only the manager can tell.
                raise UnknownReading(f"installing {name} {planned.version}")
            install[name] = (planned.version if planned is not None else old, new)
        gone = {name for (known, name), state in self._packages.items() if known == manager and state is None}
        remove = {name: old for name, old in answer["remove"].items() if name not in gone}
        return {**answer, "install": install, "remove": remove}

    def _solve_removal(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """What a removal takes away: what the solver says of the packages that are there, and those that would have come until then."""
        planned = {name: state for (known, name), state in self._packages.items() if known == manager}
        names = set(map(bare_name, request))
        others = [word for word in self._requests.get(manager, ()) if bare_name(word) not in names]
        if others and ":" not in manager and not self._go_together(manager, others, names, options):
            # One of the others may need what goes, and would go with it; pip never takes others along.
            raise UnknownReading(f"installing {', '.join(others)}")
        answer = self._base.solve(manager, verb, [word for word in request if bare_name(word) not in planned], options)
        remove = {name: old for name, old in answer["remove"].items() if planned.get(name, True) is not None}
        for name in map(bare_name, request):
            state = planned.get(name)
            if state is not None:
                remove[name] = str(state.version)
        return {**answer, "remove": remove}

    def _go_together(self, manager: str, others: list[str], names: set[str], options: dict[str, Any]) -> bool:
        """Whether what was installed before stays whole without what is now removed: the solver is asked for both at once (``name-``)."""
        if manager == "dnf":
            return False
        try:
            answer = self._base.solve(manager, "install", [*others, *(f"{name}-" for name in sorted(names))], options)
        except Fail:
            return False
        planned = {name for (known, name), state in self._packages.items() if known == manager and state is not None}
        return planned - names <= set(answer["install"]) and not planned & set(answer["remove"])

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
            if change.options.get("allow_remove"):
                # Others may go, and all that they brought.
                self._unknown_names[(f"packages of {change.manager}", "")] = because
                self.taint(because)
            for word in change.request:
                self._unknown_names[("package", bare_name(word))] = because
            return
        for name, version in after.items():
            state = None if version is None else PackageState(name=name, version=str(version))
            self._packages[(change.manager, name)] = state
            self._unknown_names.pop(("package", name), None)
            if state is None:
                self._forget_files_of(change.manager, name, because)

    def _fold_remove_packages(self, change: RemovePackages) -> None:
        because = f"removing {change.target}"
        self._solver_unknown[change.manager] = because
        before = change.before if isinstance(change.before, dict) else dict.fromkeys(map(bare_name, change.request))
        for name in before:
            if isinstance(change.before, dict):
                self._packages[(change.manager, name)] = None
            else:
                self._unknown_names[("package", name)] = because
            self._forget_files_of(change.manager, name, because)

    def _forget_files_of(self, manager: str, package: str, because: str) -> None:
        """What a package brought goes with it: its files, and the units among them, are not known any more."""
        listed = self._files_of(manager, package)
        if listed is None:
            self.taint(because)
        for path in listed or ():
            state = self._look_quietly(path) if path.startswith("/") else None
            if state is not None and state.kind != "directory":
                self.mark_path(path, because)
                if os.path.dirname(path) in UNIT_FOLDERS:
                    self._unknown_names[("unit", os.path.basename(path))] = because

    def _files_of(self, manager: str, package: str) -> list[str] | None:
        """The files of an installed package; None where that is not known."""
        if self._base.package(manager, package) is None:
            return []
        for name in (package, f"{package}:{self._base.package(manager, package).arch}"):  # type: ignore[union-attr]
            try:
                data = self._base.content(f"/var/lib/dpkg/info/{name}.list").bytes()
            except OSError:
                continue
            return data.decode("utf-8", "surrogateescape").splitlines()
        return None

    def _fold_refresh_index(self, change: RefreshIndex) -> None:
        self._solver_unknown[change.manager] = "refreshing the package index"

    def _doubt_packages(self, change: Change, because: str) -> None:
        manager = str(getattr(change, "manager", ""))
        self._arrive(because)
        self._solver_unknown[manager] = self._solver_unknown[f"{manager} set"] = because
        for word in getattr(change, "request", ()):
            self._unknown_names[("package", bare_name(word))] = because

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
        if change.namespace == "mount":
            # What shows at the place is now that of another file system.
            self.mark_path(change.key, f"{'mounting' if change.value else 'unmounting'} {change.key}")

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
