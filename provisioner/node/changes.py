"""The change kinds: everything provision can do to a node, as frozen data.

A change has a ``target`` (what), ``before`` and ``after`` (plain data, for plans, diffs and comparison) and the payload its live side
needs. ``certain`` is False when the apply may find it unnecessary. Plan, apply, diff and journal all come from these records.
"""

from __future__ import annotations

from .content import Content
from .record import Record
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Change(Record):
    """Base of all kinds. Fields below are common; ``target`` is a path, package, unit, account… in words a person knows."""

    KIND = ""
    SUMMARY = ("kind", "target", "before", "after", "certain")

    target: str
    before: Any = None
    after: Any = None
    certain: bool = True
    secret: bool = False

    def summary(self) -> dict[str, Any]:
        """The change as events, plans and reports carry it: kind, target, before, after, certain."""
        before, after = self.before, self.after
        if self.secret:
            before, after = (value if value is None or isinstance(value, Unknown) else "********" for value in (before, after))
        return {"kind": self.KIND, "target": self.target, "before": before, "after": after, "certain": self.certain}


class WriteFile(Change):
    """Put a regular file with this content; mode, owner and group are final (None: as the old file, or the default of a new one)."""

    KIND = "write_file"
    content: Content
    mode: int | None = None
    owner: str | None = None
    group: str | None = None
    in_place: bool = False
    validate: str = ""


class MakeDirectory(Change):
    """Make one directory; its parent exists."""

    KIND = "make_directory"
    mode: int | None = None
    owner: str | None = None
    group: str | None = None


class MakeLink(Change):
    """Make, or replace, a symbolic link."""

    KIND = "make_link"
    to: str


class MakeHardLink(Change):
    """Make, or replace, a second name of the file ``to``."""

    KIND = "make_hard_link"
    to: str


class MakeFifo(Change):
    """Make a fifo."""

    KIND = "make_fifo"
    mode: int | None = None


class Unpack(Change):
    """Unpack an archive into the directory ``target``: see ``archives``.

    archive: its path, or its content. flags: tar's options, or ["zip"]. members: what comes out, each the fields of a
    ``archives.Member``. mode, owner, group: for all of it instead of what the archive says.
    """

    KIND = "unpack"
    archive: Any
    flags: tuple[str, ...] = ()
    members: tuple[dict[str, Any], ...] = ()
    mode: str | None = None
    owner: str | None = None
    group: str | None = None


class Remove(Change):
    """Remove a path and everything below it."""

    KIND = "remove"


class SetMode(Change):
    """Set permission bits."""

    KIND = "set_mode"
    mode: int


class SetOwner(Change):
    """Set owner and/or group (names, or numbers as text) of the path itself, never through a link."""

    KIND = "set_owner"
    owner: str | None = None
    group: str | None = None


class SetTimes(Change):
    """Set access and modification time (seconds since 1970; None: leave)."""

    KIND = "set_times"
    atime: float | None = None
    mtime: float | None = None


class SetValue(Change):
    """Set a keyed value outside the file tree: kernel parameters, hostname, loaded modules, mounts, package selections, GPU settings.

    ``namespace`` names the provider in ``settings.py``; ``value`` None removes. ``options`` go to the provider unseen.
    """

    KIND = "set"
    namespace: str
    key: str
    value: Any = None
    options: dict[str, Any] = {}


class InstallPackages(Change):
    """Install, upgrade or downgrade packages. ``request``: what was asked, in the manager's words; ``after`` foreseen versions by name."""

    KIND = "install_packages"
    manager: str
    request: tuple[str, ...]
    options: dict[str, Any] = {}


class RemovePackages(Change):
    """Remove packages."""

    KIND = "remove_packages"
    manager: str
    request: tuple[str, ...]
    options: dict[str, Any] = {}


class RefreshIndex(Change):
    """Fetch the package manager's index again. Not counted as a change of the node by itself."""

    KIND = "refresh_index"
    manager: str
    options: dict[str, Any] = {}


class SetUnit(Change):
    """Bring one aspect of a unit to a state: ``aspect`` active, enabled or masked; ``value`` True or False."""

    KIND = "set_unit"
    aspect: str
    value: bool
    options: dict[str, Any] = {}


class RequestUnit(Change):
    """Ask a unit to restart or reload; happens whenever asked."""

    KIND = "request_unit"
    verb: str
    options: dict[str, Any] = {}


class ReloadUnits(Change):
    """Make the service manager read its unit files again."""

    KIND = "reload_units"
    verb: str = "daemon-reload"
    options: dict[str, Any] = {}


class PutUser(Change):
    """Create a user or change some of its fields; only the fields in ``fields`` are set."""

    KIND = "put_user"
    create: bool
    fields: dict[str, Any] = {}
    options: dict[str, Any] = {}


class RemoveUser(Change):
    """Remove a user; ``purge`` also removes home and mail."""

    KIND = "remove_user"
    purge: bool = False
    force: bool = False


class PutGroup(Change):
    """Create a group or change its number."""

    KIND = "put_group"
    create: bool
    gid: int | None = None
    system: bool = False
    options: dict[str, Any] = {}


class RemoveGroup(Change):
    """Remove a group."""

    KIND = "remove_group"


class RunCommand(Change):
    """Run a command whose effect cannot be foreseen.

    ``touches``: None when it may alter anything; else the only (kind, name) pairs it may alter, kinds as in ``declare.Module.resource``.
    """

    KIND = "run_command"
    argv: tuple[str, ...] = ()
    shell: str = ""
    executable: str = ""
    chdir: str = ""
    stdin: bytes | None = None
    environment: dict[str, str] = {}
    touches: tuple[tuple[str, str], ...] | None = None
    timeout: float | None = None
    finish: bool = False


class RunModule(Change):
    """Run a module that is not written against ``Node``. Whether it changed anything is for it to say.

    ``touches``: as with ``RunCommand``. ``perform`` and ``rehearse`` run it, or have it say what it would do: see ``foreign``.
    """

    KIND = "run_module"
    touches: tuple[tuple[str, str], ...] | None = None
    perform: Any = None
    rehearse: Any = None


class Request(Change):
    """Send a request that may alter something elsewhere. ``perform`` sends it and returns the answer; it stays on this side."""

    KIND = "request"
    perform: Any = None


class Reboot(Change):
    """Boot the node again."""

    KIND = "reboot"
    delay: float = 0.0
    message: str = ""
    command: str = ""


KINDS: dict[str, type[Change]] = {
    kind.KIND: kind
    for kind in (
        WriteFile,
        MakeDirectory,
        MakeLink,
        MakeHardLink,
        MakeFifo,
        Unpack,
        Remove,
        SetMode,
        SetOwner,
        SetTimes,
        SetValue,
        InstallPackages,
        RemovePackages,
        RefreshIndex,
        SetUnit,
        RequestUnit,
        ReloadUnits,
        PutUser,
        RemoveUser,
        PutGroup,
        RemoveGroup,
        RunCommand,
        RunModule,
        Request,
        Reboot,
    )
}
