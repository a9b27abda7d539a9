"""Users and groups, live: the name services for reading, the shadow tools for changing."""

from __future__ import annotations

import grp
import os
import pwd

from .changes import PutGroup, PutUser, RemoveGroup, RemoveUser
from .readings import GroupState, UserState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .readings import CommandResult

FILES = ("/etc/passwd", "/etc/group", "/etc/shadow")
FLAGS = {
    "uid": "--uid",
    "group": "--gid",
    "comment": "--comment",
    "home": None,
    "shell": "--shell",
    "password": "--password",
}


class LiveAccounts:
    """The accounts part of ``Live``. Readings are kept while the account files stay the same."""

    _accounts: tuple[Any, dict[str, UserState], dict[str, GroupState]] | None = None
    _names: dict[tuple[str, int], str] | None = None

    if TYPE_CHECKING:

        def tool(self, argv: Sequence[str], **options: Any) -> CommandResult: ...

    def users(self) -> dict[str, UserState]:
        """See ``ports.Reader.users``."""
        return self._tables()[0]

    def groups(self) -> dict[str, GroupState]:
        """See ``ports.Reader.groups``."""
        return self._tables()[1]

    def _tables(self) -> tuple[dict[str, UserState], dict[str, GroupState]]:
        stamp = tuple(_stamp(path) for path in FILES)
        if self._accounts is None or self._accounts[0] != stamp:
            groups = {
                entry.gr_name: GroupState(name=entry.gr_name, gid=entry.gr_gid, members=tuple(entry.gr_mem)) for entry in grp.getgrall()
            }
            self._accounts = (stamp, _users(groups), groups)
            self._names = None
        return self._accounts[1], self._accounts[2]

    def owner_name(self, uid: int) -> str:
        """The user name of a number, or the number as text."""
        return self._name("user", uid)

    def group_name(self, gid: int) -> str:
        """The group name of a number, or the number as text."""
        return self._name("group", gid)

    def _name(self, kind: str, number: int) -> str:
        if self._names is None:
            self._names = {}
        known = self._names.get((kind, number))
        if known is None:
            try:
                known = pwd.getpwuid(number).pw_name if kind == "user" else grp.getgrgid(number).gr_name
            except KeyError:
                known = str(number)
            self._names[(kind, number)] = known
        return known

    def owner_number(self, owner: str) -> int:
        """The number of a user name or number text."""
        try:
            return pwd.getpwnam(owner).pw_uid
        except KeyError:
            return int(owner)

    def group_number(self, group: str) -> int:
        """The number of a group name or number text."""
        try:
            return grp.getgrnam(group).gr_gid
        except KeyError:
            return int(group)

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def _put_user(self, change: PutUser) -> None:
        argv = [*_user_argv(change), change.target]
        if len(argv) > 2 or change.create:
            self.tool(argv)
        self._age(change)
        self._accounts = None

    def _age(self, change: PutUser) -> None:
        """Password ageing, which useradd and usermod leave to chage."""
        flags = {"password_min": "--mindays", "password_max": "--maxdays", "password_warn": "--warndays"}
        argv = ["chage"]
        for name, flag in flags.items():
            if name in change.fields:
                argv += [flag, str(change.fields[name])]
        if len(argv) > 1:
            self.tool([*argv, change.target])

    def _remove_user(self, change: RemoveUser) -> None:
        flags = (["--remove"] if change.purge else []) + (["--force"] if change.force else [])
        self.tool(["userdel", *flags, change.target])
        self._accounts = None

    def _put_group(self, change: PutGroup) -> None:
        argv = ["groupadd" if change.create else "groupmod"]
        if change.gid is not None:
            argv += ["--gid", str(change.gid)]
        if change.options.get("non_unique"):
            argv.append("--non-unique")
        if change.system and change.create:
            argv.append("--system")
        self.tool([*argv, change.target])
        self._accounts = None

    def _remove_group(self, change: RemoveGroup) -> None:
        self.tool(["groupdel", change.target])
        self._accounts = None


def _user_argv(change: PutUser) -> list[str]:
    """The useradd or usermod command, without the name at its end."""
    fields, options = change.fields, change.options
    argv = ["useradd" if change.create else "usermod"]
    for name, flag in FLAGS.items():
        if flag and name in fields:
            argv += [flag, str(fields[name])]
    if "home" in fields:
        argv += ["--home-dir" if change.create else "--home", fields["home"]]
        if not change.create and options.get("move_home"):
            argv.append("--move-home")
    if options.get("non_unique") and "uid" in fields:
        argv.append("--non-unique")
    if "expires" in fields:
        argv += ["--expiredate", "" if fields["expires"] is None or fields["expires"] < 0 else _date(fields["expires"])]
    groups = fields.get("groups")
    if groups is not None:
        argv += ["--groups", ",".join(groups)]
    elif fields.get("append_groups"):
        argv += ["--groups", ",".join(fields["append_groups"])]
        if not change.create:
            argv.append("--append")
    if change.create:
        argv += ["--system"] if options.get("system") else []
        argv.append("--create-home" if options.get("create_home", True) else "--no-create-home")
        if options.get("skeleton"):
            argv += ["--skel", options["skeleton"]]
        if "group" not in fields and _has_group(change.target):
            # A group of that name is there already: without this useradd refuses.
            argv += ["--gid", change.target]
    return argv


def _has_group(name: str) -> bool:
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def _date(days: int) -> str:
    import time

    return time.strftime("%Y-%m-%d", time.gmtime(days * 86400))


def _users(groups: dict[str, GroupState]) -> dict[str, UserState]:
    by_number = {group.gid: name for name, group in reversed(groups.items())}
    memberships: dict[str, list[str]] = {}
    for group in groups.values():
        for member in group.members:
            memberships.setdefault(member, []).append(group.name)
    shadow = _shadow()
    users = {}
    for entry in pwd.getpwall():
        hidden = shadow.get(entry.pw_name, [])
        users[entry.pw_name] = UserState(
            name=entry.pw_name,
            uid=entry.pw_uid,
            gid=entry.pw_gid,
            group=by_number.get(entry.pw_gid, str(entry.pw_gid)),
            comment=entry.pw_gecos,
            home=entry.pw_dir,
            shell=entry.pw_shell,
            password=hidden[1] if len(hidden) > 1 else "",
            groups=tuple(memberships.get(entry.pw_name, ())),
            password_min=_number(hidden, 3),
            password_max=_number(hidden, 4),
            password_warn=_number(hidden, 5),
            expires=_number(hidden, 7),
        )
    return users


def _shadow() -> dict[str, list[str]]:
    try:
        with open("/etc/shadow", encoding="utf-8", errors="surrogateescape") as file:
            return {line.split(":", 1)[0]: line.rstrip("\n").split(":") for line in file}
    except OSError:
        return {}


def _number(fields: list[str], index: int) -> int | None:
    return int(fields[index]) if len(fields) > index and fields[index].lstrip("-").isdigit() else None


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_ino
