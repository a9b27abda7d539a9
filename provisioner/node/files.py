"""The file face of ``Node``: read, compare, and bring paths to a wanted state."""

from __future__ import annotations

import os
import time

from .changes import (
    Change,
    MakeDirectory,
    MakeFifo,
    MakeHardLink,
    MakeLink,
    Remove,
    SetMode,
    SetOwner,
    SetTimes,
    WriteFile,
)
from .content import Content, content_of
from .faults import Fail, UnknownReading
from .modes import resolve_mode
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .api import Node
    from .readings import FileState


GUARDED = (("/etc/sudoers", "visudo", "-cf %s"), ("/etc/ssh/sshd_config", "sshd", "-t -f %s"))


class Files:
    """Paths are absolute (``expand`` makes them so). ``ensure``-style methods return whether they changed anything."""

    def __init__(self, node: Node) -> None:
        self._node = node

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def expand(self, path: str) -> str:
        """``~`` and ``$VAR`` expanded, made absolute against the folder of the login (locally, of the run), without a trailing slash."""
        path = self._node.context.expand(path)
        if not path:
            raise Fail("a path is empty")
        if "\0" in path:
            raise Fail("a path holds a NUL byte")
        if not path.startswith("/"):
            path = os.path.join(os.getcwd(), path)
        return os.path.normpath(path)

    def lstat(self, path: str) -> FileState | None:
        """The path itself, or None."""
        return self._node.reader.lstat(path)

    def stat(self, path: str) -> FileState | None:
        """What the path leads to, links followed, or None."""
        return self._node.reader.lstat(self._node.reader.resolve(path))

    def known(self, path: str, *, follow: bool = True) -> FileState | None:
        """What the path leads to (or is itself), where that is known; None when it is absent or a pending step decides it."""
        try:
            return self.stat(path) if follow else self.lstat(path)
        except UnknownReading:
            return None

    def resolve(self, path: str) -> str:
        """The path with every link followed."""
        return self._node.reader.resolve(path)

    def exists(self, path: str) -> bool:
        """Whether there is anything at the path; a dangling link counts."""
        return self._node.reader.lstat(path) is not None

    def _itself(self, path: str) -> str:
        """The path with the links on the way followed, but not one at its end."""
        return os.path.join(self._node.reader.resolve(os.path.dirname(path)), os.path.basename(path))

    def content(self, path: str) -> Content:
        """The content of a file; fails with a clear message when there is none."""
        try:
            return self._node.reader.content(path)
        except PermissionError:
            raise Fail(f"{path} may not be read by this user; become another one", path=path) from None
        except OSError as error:
            raise self._not(path, "file", error) from None

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        return self.content(path).bytes()

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        try:
            return self._node.reader.names(path)
        except OSError as error:
            raise self._not(path, "directory", error) from None

    def _not(self, path: str, wanted: str, error: OSError) -> Fail:
        """Why a path cannot be read as what was wanted, in the same words whichever way it was found out."""
        state = self.stat(path)
        if state is None or state.kind == "link":
            return Fail(f"{path} does not exist", path=path)
        if state.kind != wanted:
            return Fail(f"{path} is a {state.kind}, not a {wanted}", path=path)
        return Fail(f"cannot read {path}: {error.strerror or error}", path=path)

    def walk(self, path: str) -> Iterator[tuple[str, FileState]]:
        """Everything below a directory, parents first, links not followed."""
        for name in self.names(path):
            child = os.path.join(path, name)
            state = self._node.reader.lstat(child)
            if state is None:
                continue
            yield child, state
            if state.kind == "directory":
                yield from self.walk(child)

    # -- wanted states -------------------------------------------------------------------------------------------------------------

    def write(
        self,
        path: str,
        content: Content | str | bytes,
        *,
        mode: str | int | None = None,
        owner: str | None = None,
        group: str | None = None,
        backup: bool = False,
        validate: str = "",
        in_place: bool = False,
        replace: bool = True,
        secret: bool = False,
    ) -> bool:
        """Make ``path`` a regular file with this content, mode and ownership; a link at the end is followed.

        validate: a command with ``%s`` that must accept the new file before it takes the old one's place. replace False leaves the
        content of an existing file alone. in_place writes over the old file instead of renaming (bind mounts). Files of sudo and sshd
        are checked by these programs without being asked.
        """
        path = self._node.reader.resolve(path)
        wanted = content_of(content)
        owner, group = self._node.accounts.known_owner(owner, group)
        mode, validate = self._guarded(path, mode, validate)
        final: dict[str, Any] = {"validate": validate, "in_place": in_place, "secret": secret}
        try:
            state = self._node.reader.lstat(path)
        except UnknownReading as unknown:
            bits = self._mode(mode, None, False, 0o666)
            self._write(path, wanted, Unknown(unknown.because), bits, owner, group, **final)
            return True
        if state is None:
            self._need_parent(path)
            bits = self._mode(mode, None, False, 0o666)
            self._node.note_diff(path, None, wanted)
            self._write(path, wanted, None, bits, owner, group, **final)
            return True
        if state.kind == "directory":
            raise Fail(f"{path} is a directory, and a file is wanted", path=path)
        if not replace or self._same_content(path, state, wanted):
            return self.attributes(path, mode=mode, owner=owner, group=group)
        old = self._old_content(path, state)
        if backup:
            self.backup(path)
        self._node.note_diff(path, old, wanted)
        if not in_place and self._is_mount(path):
            final["in_place"] = True
            self._node.warn(f"{path} is a mount point, so it is written in place")
        bits = state.mode if mode is None else resolve_mode(mode, state.mode, False, self._node.reader.umask())
        self._write(path, wanted, self._described(state, old), bits, owner or state.owner, group or state.group, **final)
        return True

    def _guarded(self, path: str, mode: str | int | None, validate: str) -> tuple[str | int | None, str]:
        """Mode and check of files that lock everybody out when they are wrong: their own programs look at them first."""
        for start, program, options in GUARDED:
            if path.startswith(start) and not validate:
                try:
                    found = self._node.commands.find(program)
                    if found is not None and (program != "sshd" or self.exists("/run/sshd")):
                        validate = f"{found} {options}"
                except UnknownReading:
                    continue  # the program is only just coming
        if path.startswith("/etc/sudoers.d/"):
            name = os.path.basename(path)
            if "." in name or name.endswith("~"):
                self._node.warn(f"sudo passes over {path}: it reads no file with a dot in its name or a tilde at its end")
            if mode is None and not self.exists(path):
                mode = 0o440
        return mode, validate

    def _write(self, path: str, content: Content, before: Any, mode: int, owner: str | None, group: str | None, **final: Any) -> None:
        after = {"sha256": content.digest, "size": content.size, "mode": f"{mode:04o}", **_owned(owner, group)}
        certain = not isinstance(before, Unknown)
        if final.get("in_place"):
            after["in_place"] = True
        final.update(content=content, mode=mode, owner=owner, group=group)
        self._node.record(WriteFile(target=path, before=before, after=after, certain=certain, **final))

    def _is_mount(self, path: str) -> bool:
        """Whether something is mounted over the file itself, as containers do with /etc/hosts: such a name cannot be given away."""
        mounts = self._node.reader.content("/proc/self/mounts").bytes() if self.exists("/proc/self/mounts") else b""
        return (" " + path.replace(" ", "\\040") + " ").encode("utf-8", "surrogateescape") in mounts

    def _same_content(self, path: str, state: FileState, wanted: Content) -> bool:
        return state.kind == "file" and state.size == wanted.size and self._node.reader.content(path).digest == wanted.digest

    def _old_content(self, path: str, state: FileState) -> Content | None:
        return self._node.reader.content(path) if state.kind == "file" else None

    @staticmethod
    def _described(state: FileState, content: Content | None = None) -> dict[str, Any]:
        said: dict[str, Any] = {"kind": state.kind, "mode": f"{state.mode:04o}", "owner": state.owner, "group": state.group}
        if content is not None:
            said.update(sha256=content.digest, size=content.size)
        if state.kind == "link":
            said["target"] = state.target
        return said

    def _mode(self, mode: str | int | None, current: int | None, is_directory: bool, default: int) -> int:
        umask = self._node.reader.umask()
        base = current if current is not None else default & ~umask
        return base if mode is None else resolve_mode(mode, base, is_directory, umask)

    def _need_parent(self, path: str) -> None:
        parent = os.path.dirname(path)
        try:
            state = self._node.reader.lstat(self._node.reader.resolve(parent))
        except UnknownReading:
            return
        if state is None:
            raise Fail(f"the directory {parent} does not exist; make it first (file: path={parent} state=directory)", path=path)
        if state.kind != "directory":
            raise Fail(f"{parent} is no directory", path=path)

    def backup(self, path: str) -> str:
        """Copy a file beside itself under a name with process and time, as Ansible does; returns that name."""
        state = self._node.reader.lstat(path)
        if state is None or state.kind != "file":
            raise Fail(f"{path} is no regular file, so it cannot be backed up", path=path)
        copy = f"{path}.{os.getpid()}.{time.strftime('%Y-%m-%d@%H:%M:%S~')}"
        content = self._node.reader.content(path)
        self._write(copy, content, None, state.mode, state.owner, state.group)
        return copy

    def directory(self, path: str, *, mode: str | int | None = None, owner: str | None = None, group: str | None = None) -> bool:
        """Make a directory and its missing parents; mode and ownership hold for every directory that is made, as in Ansible."""
        owner, group = self._node.accounts.known_owner(owner, group)
        path = here = self._node.reader.resolve(path)
        missing: list[tuple[str, Unknown | None]] = []
        while here != "/":
            before: Unknown | None = None
            try:
                state = self._node.reader.lstat(here)
            except UnknownReading as unknown:
                state, before = None, Unknown(unknown.because)
            if state is not None:
                if state.kind != "directory":
                    raise Fail(f"{here} is a {state.kind}, and a directory is wanted", path=here)
                break
            missing.append((here, before))
            here = os.path.dirname(here)
        for each, before in reversed(missing):
            self._make_directory(each, before, mode, owner, group)
        return bool(missing) or self.attributes(path, mode=mode, owner=owner, group=group)

    def _make_directory(self, path: str, before: Any, mode: str | int | None, owner: str | None, group: str | None) -> None:
        bits = self._mode(mode, None, True, 0o777)
        after = {"kind": "directory", "mode": f"{bits:04o}", **_owned(owner, group)}
        certain = not isinstance(before, Unknown)
        self._node.record(MakeDirectory(target=path, before=before, after=after, certain=certain, mode=bits, owner=owner, group=group))

    def link(self, path: str, to: str, *, force: bool = False) -> bool:
        """Make ``path`` a symbolic link to ``to``; force replaces a file or an empty directory that is in the way."""
        path = self._itself(path)
        try:
            state = self._node.reader.lstat(path)
        except UnknownReading as unknown:
            self._node.record(
                MakeLink(target=path, before=Unknown(unknown.because), after={"kind": "link", "target": to}, certain=False, to=to)
            )
            return True
        if state is not None and state.kind == "link" and state.target == to:
            return False
        if state is None:
            self._need_parent(path)
        elif state.kind == "directory":
            if not force or self._node.reader.names(path):
                raise Fail(f"{path} is a directory" + (" that is not empty" if force else ""), path=path)
            self.absent(path)
        elif state.kind != "link" and not force:
            raise Fail(f"{path} is a {state.kind}; force=true replaces it", path=path)
        before = None if state is None else self._described(state)
        self._node.record(MakeLink(target=path, before=before, after={"kind": "link", "target": to}, to=to))
        return True

    def hard_link(self, path: str, to: str, *, force: bool = False) -> bool:
        """Make ``path`` another name of the file ``to``."""
        path, to = self._itself(path), self._itself(to)
        source = self._node.reader.lstat(to)
        if source is None:
            raise Fail(f"{to} does not exist", path=path, src=to)
        if source.kind == "directory":
            raise Fail(f"{to} is a directory, and only files can have several names", path=path, src=to)
        state = self._node.reader.lstat(path)
        if state is not None:
            if source.ino and (state.dev, state.ino) == (source.dev, source.ino):
                return False
            if state.kind == "directory":
                raise Fail(f"{path} is a directory", path=path)
            if not force:
                raise Fail(f"{path} is another file; force=true replaces it", path=path)
        else:
            self._need_parent(path)
        before = None if state is None else self._described(state)
        self._node.record(MakeHardLink(target=path, before=before, after={"kind": "hard link", "target": to}, to=to))
        return True

    def fifo(self, path: str, *, mode: str | int | None = None) -> bool:
        """Make ``path`` a named pipe."""
        path = self._itself(path)
        state = self._node.reader.lstat(path)
        if state is None:
            self._need_parent(path)
            bits = self._mode(mode, None, False, 0o666)
            self._node.record(MakeFifo(target=path, after={"kind": "fifo", "mode": f"{bits:04o}"}, mode=bits))
            return True
        if state.kind != "fifo":
            raise Fail(f"{path} is a {state.kind}, and a fifo is wanted", path=path)
        return self.attributes(path, mode=mode)

    def absent(self, path: str) -> bool:
        """Remove a path and all below it; a link is removed, not what it points to."""
        path = self._itself(path)
        if path == "/":
            raise Fail("refusing to remove /", path=path)
        try:
            state = self._node.reader.lstat(path)
        except UnknownReading as unknown:
            self._node.record(Remove(target=path, before=Unknown(unknown.because), certain=False))
            return True
        if state is None:
            return False
        before = self._described(state)
        if state.kind == "file" and self._node.context.diff and state.size < 1 << 20:
            self._node.note_diff(path, self._node.reader.content(path), None)
        self._node.record(Remove(target=path, before=before))
        return True

    def attributes(
        self, path: str, *, mode: str | int | None = None, owner: str | None = None, group: str | None = None, follow: bool = True
    ) -> bool:
        """Set mode and ownership of something that exists; on a link itself (follow False) only ownership."""
        if follow:
            path = self._node.reader.resolve(path)
        owner, group = self._node.accounts.known_owner(owner, group)
        changes: list[Change] = []
        try:
            state = self._node.reader.lstat(path)
        except UnknownReading as unknown:
            before = Unknown(unknown.because)
            if owner is not None or group is not None:
                changes.append(SetOwner(target=path, before=before, after=_owned(owner, group), certain=False, owner=owner, group=group))
            if isinstance(mode, int) or (mode is not None and mode.strip().isdigit()):
                bits = resolve_mode(mode, 0, False)
                changes.append(SetMode(target=path, before=before, after=f"{bits:04o}", certain=False, mode=bits))
            elif mode is not None:
                raise
        else:
            if state is None:
                raise Fail(f"{path} does not exist", path=path)
            changes = self._attribute_changes(path, state, mode, owner, group)
        for change in changes:
            self._node.record(change)
        return bool(changes)

    def _attribute_changes(self, path: str, state: FileState, mode: str | int | None, owner: str | None, group: str | None) -> list[Change]:
        changes: list[Change] = []
        accounts = self._node.accounts
        new_owner = None if owner is None or accounts.is_owner(owner, state.owner, state.uid) else owner
        new_group = None if group is None or accounts.is_group(group, state.group, state.gid) else group
        if new_owner is not None or new_group is not None:
            before = _owned(state.owner if new_owner is not None else None, state.group if new_group is not None else None)
            changes.append(SetOwner(target=path, before=before, after=_owned(new_owner, new_group), owner=new_owner, group=new_group))
        if mode is not None and state.kind != "link":
            bits = resolve_mode(mode, state.mode, state.kind == "directory", self._node.reader.umask())
            # The kernel drops set-id bits when the owner changes, so they are set again.
            if bits != state.mode or (changes and bits & 0o6000):
                changes.append(SetMode(target=path, before=f"{state.mode:04o}", after=f"{bits:04o}", mode=bits))
        return changes

    def times(self, path: str, *, atime: float | None = None, mtime: float | None = None) -> bool:
        """Set access and/or modification time, in seconds since 1970."""
        state = self._node.reader.lstat(path)
        if state is None:
            raise Fail(f"{path} does not exist", path=path)
        atime = None if atime is not None and abs(state.atime - atime) < 1e-6 else atime
        mtime = None if mtime is not None and abs(state.mtime - mtime) < 1e-6 else mtime
        if atime is None and mtime is None:
            return False
        before = {"atime": state.atime, "mtime": state.mtime}
        after = {"atime": state.atime if atime is None else atime, "mtime": state.mtime if mtime is None else mtime}
        self._node.record(SetTimes(target=path, before=before, after=after, atime=atime, mtime=mtime))
        return True


def _owned(owner: str | None, group: str | None) -> dict[str, str]:
    said = {"owner": owner, "group": group}
    return {name: value for name, value in said.items() if value is not None}
