"""What can be learnt of a node: plain records, the same whether read live or foreseen by the overlay."""

from __future__ import annotations

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FileState(Record):
    """A path as ``lstat`` sees it. ``kind``: file, directory, link, or the specials block, char, fifo, socket.

    mode: permission bits (int); owner, group: names, or the number as text where no name is; uid, gid: None while a planned account
    has no number yet; size in bytes; times in seconds; target: where a link points.
    """

    kind: str
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"
    uid: int | None = 0
    gid: int | None = 0
    size: int = 0
    mtime: float = 0.0
    atime: float = 0.0
    ctime: float = 0.0
    target: str = ""
    dev: int = 0
    ino: int = 0
    nlink: int = 1


class UserState(Record):
    """A line of passwd with its shadow fields; ``groups``: supplementary groups; ``password`` is the hash ("" when not readable)."""

    name: str
    uid: int | None = None
    gid: int | None = None
    group: str = ""
    comment: str = ""
    home: str = ""
    shell: str = ""
    password: str = ""
    groups: tuple[str, ...] = ()
    expires: int | None = None
    password_min: int | None = None
    password_max: int | None = None
    password_warn: int | None = None


class GroupState(Record):
    """A line of the group file; ``gid`` is None while a planned group has no number yet."""

    name: str
    gid: int | None = None
    members: tuple[str, ...] = ()


class PackageState(Record):
    """An installed package. ``held``: kept back by the package manager's own hold; ``auto``: pulled in by another one."""

    name: str
    version: str
    arch: str = ""
    held: bool = False
    source: str = ""
    status: str = "installed"


class UnitState(Record):
    """A systemd unit. ``load``: loaded, not-found, masked…; ``active``: active, inactive, failed…; ``enabled``: enabled, disabled,
    static, masked, generated, alias, indirect or "" when there is no unit file."""

    name: str
    load: str = "loaded"
    active: str = "inactive"
    sub: str = "dead"
    enabled: str = "disabled"
    needs_reload: bool = False
    path: str = ""
    properties: dict[str, str] = {}

    @property
    def exists(self) -> bool:
        """Whether there is anything to start or enable."""
        return self.load not in ("not-found", "")

    @property
    def running(self) -> bool:
        """Whether the unit counts as started."""
        return self.active in ("active", "activating", "reloading")

    @property
    def is_enabled(self) -> bool:
        """Whether the unit starts at boot; runtime enabling does not count."""
        return self.enabled in ("enabled", "static", "alias", "indirect", "generated")


class CommandResult(Record):
    """A command's end: exit status (negative: killed by that signal), raw output, seconds it took."""

    argv: Any
    rc: int
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0

    @property
    def out(self) -> str:
        """stdout as text; bytes that are no UTF-8 become lone surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self) -> str:
        """stderr as text."""
        return self.stderr.decode("utf-8", "surrogateescape")


class ModuleReport(Record):
    """The result of a foreign module. ``doubt``: why it may come out differently when it is run for real, or ""."""

    result: dict[str, Any]
    doubt: str = ""
