"""A node in memory: a reader and a sink like the live side, for tests of modules and of the planning side.

fake = FakeNode(files={"/etc/motd": b"hello\\n"}, available=[Package("chrony", "4.3", units={"chrony.service": "multi-user.target"})])
node = Node(fake, fake)                              # apply
planned = Node(overlay := Overlay(fake), overlay)    # plan
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.node import changes
from provisioner.node.content import Content
from provisioner.node.faults import Fail
from provisioner.node.overlay_files import OverlayFiles
from provisioner.node.readings import CommandResult, FileState, GroupState, PackageState, UnitState, UserState

Runner = Callable[["FakeNode", changes.RunCommand], CommandResult]
UNITS = "/etc/systemd/system"
FILE_KINDS = (
    changes.WriteFile,
    changes.MakeDirectory,
    changes.MakeLink,
    changes.MakeHardLink,
    changes.MakeFifo,
    changes.Unpack,
    changes.Remove,
    changes.SetMode,
    changes.SetOwner,
    changes.SetTimes,
)


@dataclass(frozen=True)
class Package:
    """A package that the node's manager can install, and what comes with it. ``units``: name → the target that wants it, or ''."""

    name: str
    version: str = "1.0"
    depends: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    users: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


class _Nothing:
    """What is underneath the files of a fake node: an empty root."""

    def lstat(self, path: str) -> FileState | None:
        return FileState(kind="directory", mode=0o755, nlink=2, ino=1) if path == "/" else None

    def resolve(self, path: str) -> str:
        return os.path.normpath(path)

    def content(self, path: str) -> Content:
        raise FileNotFoundError(2, "No such file or directory", path)

    def names(self, path: str) -> list[str]:
        if path == "/":
            return []
        raise FileNotFoundError(2, "No such file or directory", path)

    def account(self) -> tuple[int, int]:
        return 0, 0

    def umask(self) -> int:
        return 0o022


class FakeNode(OverlayFiles):
    """Everything a ``Reader`` and a ``Sink`` are, without a machine.

    commands: program → function that plays it; one that is not listed does nothing and succeeds.
    answers: command line → output of a command that only reads; one that is not listed is not installed.
    ``made`` lists the changes that came in.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        users: Iterable[str] = (),
        installed: Iterable[Package] = (),
        available: Iterable[Package] = (),
        values: Mapping[tuple[str, str], Any] | None = None,
        commands: Mapping[str, Runner] | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> None:
        self._base = _Nothing()  # type: ignore[assignment]
        self._serial = 1
        self.tainted = None
        self._start_files()
        self._links_changed = True
        self.made: list[changes.Change] = []
        self._groups = {"root": GroupState(name="root", gid=0)}
        self._users = {"root": UserState(name="root", uid=0, gid=0, group="root", home="/root", shell="/bin/bash")}
        self._archive: dict[str, dict[str, Package]] = {}
        self._installed: dict[str, Package] = {}
        self._units: dict[str, dict[str, bool]] = {}
        self._read: dict[str, tuple[int, bytes]] = {}
        self._values = dict(values or {})
        self._commands = dict(commands or {})
        self._answers = dict(answers or {})
        for path, data in (files or {}).items():
            self.put(path, data)
        for name in users:
            self._add_user(name, {}, {})
        for package in (*installed, *available):
            self._archive.setdefault(package.name, {})[package.version] = package
        for package in installed:
            self._bring(package)

    # -- files: the overlay's own over nothing -------------------------------------------------------------------------------------

    def pending(self, after: int = 0, path: str = "") -> str | None:  # noqa: ARG002 - nothing is ever pending here
        """Part of ``OverlayFiles``."""
        return None

    def opaque_since(self) -> tuple[int, str]:
        """Part of ``OverlayFiles``."""
        return 0, ""

    def read_base(self) -> None:
        """Part of ``OverlayFiles``."""

    def known_users(self) -> dict[str, Any]:
        """All users."""
        return dict(self._users)

    def known_groups(self) -> dict[str, Any]:
        """All groups."""
        return dict(self._groups)

    def put(self, path: str, data: bytes = b"", mode: int = 0o644) -> None:
        """Put a file there, with the folders above it, as if it had always been there."""
        self.folder(os.path.dirname(path))
        self._file_change(changes.WriteFile(target=path, content=Content(data), mode=mode))

    def folder(self, path: str) -> None:
        """Put a folder there, with those above it."""
        if path not in ("", "/") and self.lstat(path) is None:
            self.folder(os.path.dirname(path))
            self._file_change(changes.MakeDirectory(target=path, mode=0o755))

    def _file_change(self, change: changes.Change) -> None:
        self._serial += 1
        getattr(self, f"_fold_{change.KIND}")(change)

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def users(self) -> dict[str, UserState]:
        """See ``ports.Reader.users``."""
        return dict(self._users)

    def groups(self) -> dict[str, GroupState]:
        """See ``ports.Reader.groups``."""
        return dict(self._groups)

    def package(self, manager: str, name: str) -> PackageState | None:
        """See ``ports.Reader.package``."""
        return self.packages(manager).get(name)

    def packages(self, manager: str) -> dict[str, PackageState]:  # noqa: ARG002 - there is one manager, whatever it is called
        """See ``ports.Reader.packages``."""
        return {name: PackageState(name=name, version=package.version) for name, package in self._installed.items()}

    def solve(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """See ``ports.Reader.solve``."""
        if verb in ("remove", "purge"):
            gone = self._gone({word.split("=")[0] for word in request})
            return {"install": {}, "remove": {name: self._installed[name].version for name in sorted(gone)}}
        chosen: dict[str, Package] = {}
        leaving = {word[:-1] for word in request if word.endswith("-")}
        for word in request:
            if not word.endswith("-"):
                self._choose(word, chosen)
        if any(leaving & {name, *package.depends} for name, package in chosen.items()):
            raise Fail(f"E: {', '.join(sorted(leaving))} cannot go")
        for package in chosen.values():
            if set(package.conflicts) & set(chosen):
                raise Fail(f"E: {package.name} conflicts with {', '.join(set(package.conflicts) & set(chosen))}")
        install = {}
        for name, package in chosen.items():
            old = self._installed.get(name)
            if old is None or old.version != package.version:
                install[name] = (old.version if old is not None else None, package.version)
        in_the_way = {name for package in chosen.values() for name in package.conflicts if name in self._installed and name not in chosen}
        remove = {name: self._installed[name].version for name in sorted(self._gone(in_the_way | leaving))}
        return {"install": install, "remove": remove}

    def _choose(self, word: str, chosen: dict[str, Package]) -> None:
        name, _, version = word.partition("=")
        versions = self._archive.get(name)
        if not versions or (version and version not in versions):
            raise Fail(f"E: Unable to locate package {word}")
        package = versions[version] if version else versions[max(versions)]
        known = chosen.get(name)
        if known is not None and (not version or known.version == version):
            return
        chosen[name] = package
        for needed in package.depends:
            if needed not in self._installed and needed not in chosen:
                self._choose(needed, chosen)

    def _gone(self, names: set[str]) -> set[str]:
        """Installed packages among these, and those that need them."""
        gone = {name for name in names if name in self._installed}
        while True:
            more = {name for name, package in self._installed.items() if name not in gone and gone & set(package.depends)}
            if not more:
                return gone
            gone |= more

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:  # noqa: ARG002 - one service manager
        """See ``ports.Reader.unit``."""
        kept = self._units.get(name, {})
        wanted_by = self._definition(name)
        if kept.get("masked"):
            return UnitState(name=name, load="masked", active="active" if kept.get("active") else "inactive", enabled="masked")
        if wanted_by is None:
            return UnitState(name=name, load="not-found", active="active" if kept.get("active") else "inactive", enabled="")
        enabled = "enabled" if kept.get("enabled") else ("disabled" if wanted_by else "static")
        text = self._text(name)
        stale = name in self._read and self._read[name] != (self._written(name), text)
        active = "active" if kept.get("active") else "inactive"
        path = f"{UNITS}/{name}" if text is not None or name in self._read else ""
        return UnitState(name=name, active=active, enabled=enabled, needs_reload=stale, path=path)

    def _definition(self, name: str) -> str | None:
        """What wants the unit ('' nothing), or None when there is no such unit."""
        text = self._text(name)
        if text is None:
            text = self._read.get(name, (0, None))[1]
        if text is not None:
            return "x" if b"[Install]" in text else ""
        return next((package.units[name] for package in self._installed.values() if name in package.units), None)

    def _text(self, name: str) -> bytes | None:
        path = f"{UNITS}/{name}"
        return self.content(path).bytes() if self.lstat(path) is not None else None

    def value(self, namespace: str, key: str) -> Any:
        """See ``ports.Reader.value``."""
        return self._values.get((namespace, key))

    def query(
        self,
        argv: Sequence[str],
        about: Sequence[tuple[str, str]],  # noqa: ARG002 - nothing is ever pending here
        stdin: bytes | None,  # noqa: ARG002
        timeout: float | None,  # noqa: ARG002
        environment: dict[str, str],  # noqa: ARG002
    ) -> CommandResult:
        """See ``ports.Reader.query``."""
        if " ".join(argv) not in self._answers:
            raise FileNotFoundError(2, "No such file or directory", argv[0])
        return CommandResult(argv=tuple(argv), rc=0, stdout=self._answers[" ".join(argv)].encode())

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def apply(self, change: changes.Change) -> Any:
        """See ``ports.Sink.apply``."""
        self.made.append(change)
        if isinstance(change, FILE_KINDS):
            return self._file_change(change)
        return getattr(self, f"_make_{change.KIND}")(change)

    def _add_user(self, name: str, fields: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        group = str(fields.get("group") or name)
        if group.isdigit():
            group = next((known for known, entry in self._groups.items() if entry.gid == int(group)), group)
        if group not in self._groups:
            self._groups[group] = GroupState(name=group, gid=self._free({entry.gid for entry in self._groups.values()}, options))
        uid = fields.get("uid") or self._free({entry.uid for entry in self._users.values()}, options)
        home = str(fields.get("home") or f"/home/{name}")
        self._users[name] = UserState(
            name=name,
            uid=uid,
            gid=self._groups[group].gid,
            group=group,
            comment=str(fields.get("comment") or ""),
            home=home,
            shell=str(fields.get("shell") or "/bin/sh"),
            password=str(fields.get("password") or "!"),
        )
        self._join(name, (*(fields.get("groups") or ()), *(fields.get("append_groups") or ())))
        if options.get("create_home", True):
            self.folder(home)

    @staticmethod
    def _free(taken: set[int | None], options: Mapping[str, Any]) -> int:
        numbers = range(999, 99, -1) if options.get("system") else range(1000, 60000)
        return next(number for number in numbers if number not in taken)

    def _join(self, name: str, groups: Iterable[str]) -> None:
        """Make these, and only these, the user's supplementary groups."""
        wanted = tuple(dict.fromkeys(groups))
        for group, entry in self._groups.items():
            members = tuple(member for member in entry.members if member != name) + ((name,) if group in wanted else ())
            self._groups[group] = entry.evolve(members=members)
        self._users[name] = self._users[name].evolve(groups=wanted)

    def _make_put_user(self, change: changes.PutUser) -> None:
        name, fields = change.target, change.fields
        for group in (*(fields.get("groups") or ()), *(fields.get("append_groups") or ())):
            if group not in self._groups:
                raise Fail(f"usermod: group '{group}' does not exist")
        if change.create:
            self._add_user(name, fields, change.options)
            return
        old = self._users[name]
        same = {key: value for key, value in fields.items() if key in ("uid", "comment", "home", "shell", "password")}
        if "group" in fields:
            same.update(group=fields["group"], gid=self._groups[fields["group"]].gid)
        self._users[name] = old.evolve(**same)
        if "groups" in fields or "append_groups" in fields:
            kept = () if "groups" in fields else old.groups
            self._join(name, (*kept, *(fields.get("groups") or ()), *(fields.get("append_groups") or ())))

    def _make_remove_user(self, change: changes.RemoveUser) -> None:
        self._join(change.target, ())
        del self._users[change.target]
        own = self._groups.get(change.target)
        if own is not None and not own.members and all(user.group != change.target for user in self._users.values()):
            del self._groups[change.target]

    def _make_put_group(self, change: changes.PutGroup) -> None:
        old = self._groups.get(change.target)
        taken = {entry.gid for entry in self._groups.values()}
        gid = change.gid if change.gid is not None else self._free(taken, {"system": change.system})
        self._groups[change.target] = GroupState(name=change.target, gid=gid, members=old.members if old is not None else ())
        for name, user in self._users.items():
            if user.group == change.target:
                self._users[name] = user.evolve(gid=gid)

    def _make_remove_group(self, change: changes.RemoveGroup) -> None:
        for name, user in self._users.items():
            self._users[name] = user.evolve(groups=tuple(group for group in user.groups if group != change.target))
        del self._groups[change.target]

    def _bring(self, package: Package) -> None:
        self._installed[package.name] = package
        for name in package.users:
            if name not in self._users:
                self._add_user(name, {"shell": "/usr/sbin/nologin"}, {"system": True, "create_home": False})
        for name, wanted_by in package.units.items():
            self._units.setdefault(name, {"active": True, "enabled": bool(wanted_by)})
            self._want(name, bool(wanted_by))
        for path, data in self._brought(package).items():
            self.put(path, data)

    @staticmethod
    def _brought(package: Package) -> dict[str, bytes]:
        """The files of a package: its own, its units' and dpkg's list of them all."""
        files = {**package.files, **{f"/lib/systemd/system/{name}": b"[Unit]\n" for name in package.units}}
        return {**files, f"/var/lib/dpkg/info/{package.name}.list": "".join(f"{path}\n" for path in files).encode()}

    def _take(self, name: str) -> None:
        package = self._installed.pop(name)
        for unit in package.units:
            masked = self._units.pop(unit, {}).get("masked")
            if masked:
                self._units[unit] = {"masked": True}
            self._want(unit, False)
        for path in self._brought(package):
            if self.lstat(path) is not None:
                self._file_change(changes.Remove(target=path))

    def _make_install_packages(self, change: changes.InstallPackages) -> None:
        answer = self.solve(change.manager, str(change.options.get("verb", "install")), change.request, change.options)
        for name in answer["remove"]:
            self._take(name)
        for name, (_old, version) in answer["install"].items():
            self._bring(self._archive[name][version])

    def _make_remove_packages(self, change: changes.RemovePackages) -> None:
        for name in self.solve(change.manager, "remove", change.request, change.options)["remove"]:
            self._take(name)

    def _make_refresh_index(self, change: changes.RefreshIndex) -> None:
        """The archive is what it is."""

    def _make_set_unit(self, change: changes.SetUnit) -> None:
        state = self.unit(change.target, change.options)
        if change.value and change.aspect != "masked" and (not state.exists or state.load == "masked"):
            raise Fail(f"Unit {change.target} {'is masked' if state.load == 'masked' else 'not found'}.")
        self._units.setdefault(change.target, {})[change.aspect] = change.value
        self._load(change.target)
        if change.aspect == "enabled":
            self._want(change.target, change.value)

    def _want(self, name: str, wanted: bool) -> None:
        """The link that starts a unit at boot."""
        link = f"{UNITS}/multi-user.target.wants/{name}"
        if wanted:
            self.folder(os.path.dirname(link))
            self._file_change(changes.MakeLink(target=link, to=f"/lib/systemd/system/{name}"))
        elif self.lstat(link) is not None:
            self._file_change(changes.Remove(target=link))

    def _make_request_unit(self, change: changes.RequestUnit) -> None:
        if not self.unit(change.target, change.options).exists:
            raise Fail(f"Unit {change.target} not found.")
        self._units.setdefault(change.target, {})["active"] = True
        self._load(change.target)

    def _load(self, name: str) -> None:
        """The manager keeps the definition of what runs or is wanted, and forgets all others."""
        text = self._text(name)
        kept = self._units.get(name, {})
        if not kept.get("active") and not kept.get("enabled"):
            self._read.pop(name, None)
        elif text is not None:
            self._read.setdefault(name, (self._written(name), text))

    def _written(self, name: str) -> int:
        """When the unit file was written last, counted in changes."""
        entry = self._entries.get(f"{UNITS}/{name}")
        return 0 if entry is None else entry.serial

    def _make_reload_units(self, change: changes.ReloadUnits) -> None:  # noqa: ARG002 - whatever the verb
        for name in list(self._read):
            del self._read[name]
            self._load(name)

    def _make_set(self, change: changes.SetValue) -> None:
        self._values[(change.namespace, change.key)] = change.value

    def _make_run_command(self, change: changes.RunCommand) -> CommandResult:
        program = change.argv[0] if change.argv else change.shell.split(" ")[0]
        run = self._commands.get(program)
        return run(self, change) if run is not None else CommandResult(argv=change.argv, rc=0)

    def _make_request(self, change: changes.Request) -> Any:
        return change.perform()

    def _make_reboot(self, change: changes.Reboot) -> None:  # noqa: ARG002 - whenever and however
        """Nothing that is kept here goes with a boot but what runs."""
        for kept in self._units.values():
            kept["active"] = kept.get("enabled", False)
