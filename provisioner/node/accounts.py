"""The accounts face of ``Node``: users, groups, and names against numbers."""

from __future__ import annotations

from .changes import PutGroup, PutUser, RemoveGroup, RemoveUser
from .faults import Fail, UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node
    from .readings import GroupState, UserState


class Accounts:
    """Users and groups by name."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def user(self, name: str) -> UserState | None:
        """A user by name, or None."""
        return self._node.reader.users().get(name)

    def group(self, name: str) -> GroupState | None:
        """A group by name, or None."""
        return self._node.reader.groups().get(name)

    def known_owner(self, owner: str | None, group: str | None) -> tuple[str | None, str | None]:
        """Check that owner and group exist; a number that has a name becomes that name, other numbers stay."""
        if owner is not None:
            owner = self._known("user", str(owner), self._node.reader.users)
        if group is not None:
            group = self._known("group", str(group), self._node.reader.groups)
        return owner, group

    @staticmethod
    def _known(kind: str, name: str, read: Any) -> str:
        try:
            entries = read()
        except UnknownReading:
            return name
        try:
            if name in entries:
                return name
        except UnknownReading:
            return name  # a pending step may bring it
        if name.isdigit():
            number = int(name)
            for entry in entries.values():
                if (entry.uid if kind == "user" else entry.gid) == number:
                    return str(entry.name)
            return name
        raise Fail(f"the {kind} {name} does not exist; create it first ({kind}: name={name})")

    @staticmethod
    def is_owner(wanted: str, name: str, number: int | None) -> bool:
        """Whether a path that belongs to ``name``/``number`` belongs to ``wanted``."""
        return wanted == name or (wanted.isdigit() and number is not None and int(wanted) == number)

    is_group = is_owner

    def ensure_user(self, name: str, fields: dict[str, Any], options: dict[str, Any] | None = None) -> bool:
        """Create the user with these fields, or change the ones that differ.

        Fields are those of ``UserState``; ``groups`` is the exact set of supplementary groups, ``append_groups`` only adds.
        """
        options = options or {}
        wanted = {key: value for key, value in fields.items() if value is not None}
        before: Any = None
        try:
            state = self.user(name)
        except UnknownReading as unknown:
            state, before = None, Unknown(unknown.because)
        if state is None:
            certain = before is None
            self._node.record(
                PutUser(target=name, before=before, after=_shown(wanted), certain=certain, create=True, fields=wanted, options=options)
            )
            return True
        differing = {key: value for key, value in wanted.items() if not self._same_field(state, key, value)}
        if not differing:
            return False
        before = {}
        for key in differing:
            source = "groups" if key == "append_groups" else key
            before[key] = getattr(state, source)
        self._node.record(
            PutUser(
                target=name,
                before=_shown(before),
                after=_shown(differing),
                certain=not all(isinstance(value, Unknown) for value in before.values()),
                create=False,
                fields=differing,
                options=options,
            )
        )
        return True

    @staticmethod
    def _same_field(state: UserState, key: str, value: Any) -> bool:
        if key == "groups":
            return set(value) - {state.group} == set(state.groups) - {state.group}
        if key == "append_groups":
            return set(value) <= {*state.groups, state.group}
        if key == "group":
            return value == state.group or (str(value).isdigit() and state.gid == int(value))
        return bool(getattr(state, key) == value)

    def remove_user(self, name: str, *, purge: bool = False, force: bool = False) -> bool:
        """Remove a user; purge takes home and mail along."""
        try:
            if self.user(name) is None:
                return False
        except UnknownReading as unknown:
            self._node.record(RemoveUser(target=name, before=Unknown(unknown.because), certain=False, purge=purge, force=force))
            return True
        self._node.record(RemoveUser(target=name, before="present", purge=purge, force=force))
        return True

    def ensure_group(self, name: str, *, gid: int | None = None, system: bool = False, options: dict[str, Any] | None = None) -> bool:
        """Create the group, or change its number."""
        options = options or {}
        after = {} if gid is None else {"gid": gid}
        before: Any = None
        try:
            state = self.group(name)
        except UnknownReading as unknown:
            state, before = None, Unknown(unknown.because)
        if state is None:
            certain = before is None
            self._node.record(
                PutGroup(target=name, before=before, after=after, certain=certain, create=True, gid=gid, system=system, options=options)
            )
            return True
        if gid is None or state.gid == gid:
            return False
        self._node.record(PutGroup(target=name, before={"gid": state.gid}, after=after, create=False, gid=gid, options=options))
        return True

    def remove_group(self, name: str) -> bool:
        """Remove a group; refuses while it is some user's primary group."""
        try:
            state = self.group(name)
        except UnknownReading as unknown:
            self._node.record(RemoveGroup(target=name, before=Unknown(unknown.because), certain=False))
            return True
        if state is None:
            return False
        for user in self._node.reader.users().values():
            if user.group == name:
                raise Fail(f"the group {name} is the primary group of the user {user.name}; remove or move that user first")
        self._node.record(RemoveGroup(target=name, before={"gid": state.gid}))
        return True


def _shown(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as a plan may show them: never a password hash."""
    return {key: "********" if key == "password" and value else value for key, value in fields.items()}
