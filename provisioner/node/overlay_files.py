"""The foreseen file tree: copy-on-write over live readings.

Every recorded change gets a serial number. An entry says what a path will be; a mark says that something at or below a path is not known.
What counts for a path is the newest word about it or about a directory above it; without any, the node's own reading holds, except that
what is *absent* there may be brought by a pending effect (a package being installed, a command) and is then unknown.
"""

from __future__ import annotations

import os
import time

from .content import Content
from .faults import UnknownReading
from .live_files import circular
from .readings import FileState
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .changes import MakeDirectory, MakeFifo, MakeHardLink, MakeLink, Remove, SetMode, SetOwner, SetTimes, Unpack, WriteFile
    from .ports import Reader

LINK_LIMIT = 40


class Entry:
    """What a path will be: ``state`` None is absent; ``source`` is the real path whose content it still has, if no ``content`` is known.

    ``fresh``: a directory that is new, so that nothing of the real tree shows below it.
    """

    __slots__ = ("content", "fresh", "serial", "source", "state")

    def __init__(self, state: FileState | None, serial: int, content: Content | None = None, source: str = "", fresh: bool = False) -> None:
        self.state = state
        self.serial = serial
        self.content = content
        self.source = source
        self.fresh = fresh


class OverlayFiles:
    """The file part of ``Overlay``."""

    if TYPE_CHECKING:
        _base: Reader
        _serial: int
        tainted: str | None

        def pending(self, after: int = 0, path: str = "") -> str | None: ...
        def opaque_since(self) -> tuple[int, str]: ...
        def read_base(self) -> None: ...

    def _start_files(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._marks: dict[str, tuple[int, str]] = {}
        self._links_changed = False
        # What became of files that have several names, by inode: a change through one name shows through all.
        self._inodes: dict[tuple[int, int], dict[str, Any]] = {}

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        """See ``ports.Reader.resolve``."""
        if not self._links_changed:
            return self._base.resolve(path)
        found = self._walk(path, 0)
        if found is None:
            raise circular(path)
        return found

    def _walk(self, path: str, depth: int) -> str | None:
        """The path without links, or None when they lead round in a circle."""
        if depth > LINK_LIMIT:
            return None
        done = "/"
        parts = [part for part in path.split("/") if part and part != "."]
        for index, part in enumerate(parts):
            if part == "..":
                done = os.path.dirname(done)
                continue
            here = os.path.join(done, part)
            try:
                state = self._look(here)
            except UnknownReading:
                state = None
            if state is not None and state.kind == "link":
                rest = parts[index + 1 :]
                return self._walk(os.path.join(done, state.target, *rest), depth + 1)
            done = here
        return done

    def _canonical(self, path: str) -> str:
        if path == "/":
            return path
        return os.path.join(self.resolve(os.path.dirname(path)), os.path.basename(path))

    def lstat(self, path: str) -> FileState | None:
        """See ``ports.Reader.lstat``."""
        return self._look(self._canonical(path))

    def _look(self, path: str) -> FileState | None:
        """The state of a canonical path."""
        entry = self._entries.get(path)
        marked = self._newest_mark(path)
        if entry is not None and (marked is None or entry.serial > marked[0]):
            return self._settled(entry, path)
        fresh = self._newest_fresh(path)
        if marked is not None and marked[0] > fresh:
            raise UnknownReading(marked[1])
        if fresh:
            because = self.pending(after=fresh, path=path)
            if because:
                raise UnknownReading(because)
            return None
        state = self._base.lstat(path)
        if state is None:
            because = self.pending(path=path)
            if because:
                raise UnknownReading(because)
        self.read_base()
        altered = self._inodes.get((state.dev, state.ino)) if state is not None and state.nlink > 1 else None
        return state.evolve(**altered) if altered and state is not None else state

    def _settled(self, entry: Entry, path: str) -> FileState | None:
        """An entry's state, unless something that happened after it may have altered it."""
        since, because = self.opaque_since()
        if entry.state is None:
            later = self.pending(after=entry.serial, path=path)
            if later:
                raise UnknownReading(later)
        elif because and since > entry.serial:
            self.tainted = because
        return entry.state

    def _newest_mark(self, path: str) -> tuple[int, str] | None:
        """The newest "not known" word about the path or a directory above it."""
        if not self._marks:
            return None
        newest = None
        for above in _upwards(path):
            mark = self._marks.get(above)
            if mark is not None and (newest is None or mark[0] > newest[0]):
                newest = mark
        return newest

    def _newest_fresh(self, path: str) -> int:
        """The serial since which the real tree does not show at this path (0: it does)."""
        newest = 0
        for above in _upwards(os.path.dirname(path)):
            entry = self._entries.get(above)
            if entry is not None and (entry.state is None or entry.fresh or entry.state.kind != "directory"):
                newest = max(newest, entry.serial)
        return newest

    def content(self, path: str) -> Content:
        """See ``ports.Reader.content``."""
        real = self.resolve(path)
        state = self._look(real)
        if state is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if state.kind == "directory":
            raise IsADirectoryError(21, "Is a directory", path)
        entry = self._entries.get(real)
        if entry is None:
            return self._base.content(real)
        if entry.content is not None:
            return entry.content
        return self._base.content(entry.source or real)

    def names(self, path: str) -> list[str]:
        """See ``ports.Reader.names``."""
        real = self.resolve(path)
        state = self._look(real)
        if state is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if state.kind != "directory":
            raise NotADirectoryError(20, "Not a directory", path)
        entry = self._entries.get(real)
        found = set() if (entry is not None and entry.fresh) or self._newest_fresh(real) else set(self._base.names(real))
        because = self.pending(after=entry.serial if entry is not None and entry.fresh else 0, path=real)
        if because:
            self.tainted = because
        prefix = real.rstrip("/") + "/"
        for known, child in self._entries.items():
            if known.startswith(prefix) and "/" not in known[len(prefix) :]:
                found.discard(known[len(prefix) :])
                if child.state is not None:
                    found.add(known[len(prefix) :])
        return sorted(found)

    def account(self) -> tuple[int, int]:
        """See ``ports.Reader.account``."""
        return self._base.account()

    def umask(self) -> int:
        """See ``ports.Reader.umask``."""
        return self._base.umask()

    # -- folds ---------------------------------------------------------------------------------------------------------------------

    def _defaults(self, owner: str | None, group: str | None, path: str) -> dict[str, Any]:
        """Owner and group of something new: given, else the account's own; a set-gid directory hands its group down."""
        uid, gid = self._base.account()
        # What is only planned has no inode yet; the negative serial stands for it, so that names of one file are known as such.
        said: dict[str, Any] = {"uid": uid, "gid": gid, "ino": -self._serial}
        said["owner"] = _name(self.known_users(), uid, "uid") if owner is None else owner
        parent = self._look_quietly(os.path.dirname(path))
        if group is None and parent is not None and parent.mode & 0o2000:
            said["group"], said["gid"] = parent.group, parent.gid
        else:
            said["group"] = _name(self.known_groups(), gid, "gid") if group is None else group
        if owner is not None:
            said["uid"] = _number(self.known_users(), owner, "uid")
        if group is not None:
            said["gid"] = _number(self.known_groups(), group, "gid")
        return said

    if TYPE_CHECKING:

        def known_users(self) -> dict[str, Any]: ...
        def known_groups(self) -> dict[str, Any]: ...

    def _look_quietly(self, path: str) -> FileState | None:
        try:
            return self._look(path)
        except UnknownReading:
            return None

    def _put(self, path: str, entry: Entry) -> None:
        before = self._look_quietly(path)
        if any(state is not None and state.kind == "link" for state in (before, entry.state)):
            self._links_changed = True
        self._entries[path] = entry

    def _fold_write_file(self, change: WriteFile) -> None:
        path = change.target
        old = self._look_quietly(path)
        said = self._defaults(change.owner, change.group, path)
        if old is not None:
            said = {**said, **({} if change.owner else {"owner": old.owner, "uid": old.uid})}
            said = {**said, **({} if change.group else {"group": old.group, "gid": old.gid})}
        mode = change.mode if change.mode is not None else (old.mode if old is not None else 0o644)
        now = time.time()
        state = FileState(kind="file", mode=mode, size=change.content.size, mtime=now, atime=now, ctime=now, **said)
        self._put(path, Entry(state, self._serial, content=change.content))

    def _fold_make_directory(self, change: MakeDirectory) -> None:
        mode = change.mode if change.mode is not None else 0o755
        parent = self._look_quietly(os.path.dirname(change.target))
        if parent is not None:
            mode |= parent.mode & 0o2000
        now = time.time()
        said = self._defaults(change.owner, change.group, change.target)
        state = FileState(kind="directory", mode=mode, mtime=now, atime=now, ctime=now, nlink=2, **said)
        if isinstance(change.before, Unknown):
            # It may have been there, with anything in it.
            self._marks[change.target] = (self._serial, change.before.because)
            self._put(change.target, Entry(state, self._serial + 1))
            self._serial += 1
            return
        self._put(change.target, Entry(state, self._serial, fresh=True))

    def _fold_make_link(self, change: MakeLink) -> None:
        said = self._defaults(None, None, change.target)
        self._put(change.target, Entry(FileState(kind="link", mode=0o777, target=change.to, size=len(change.to), **said), self._serial))

    def _fold_make_hard_link(self, change: MakeHardLink) -> None:
        real = os.path.join(self.resolve(os.path.dirname(change.to)), os.path.basename(change.to))
        state = self._look(real)
        if state is None:
            return
        twin = state.evolve(nlink=state.nlink + 1)
        known = self._entries.get(real)
        content = known.content if known is not None else None
        source = "" if content is not None else (known.source if known is not None and known.source else real)
        for path in (real, change.target):
            self._put(path, Entry(twin, self._serial, content=content, source=source))

    def _fold_make_fifo(self, change: MakeFifo) -> None:
        said = self._defaults(None, None, change.target)
        mode = change.mode if change.mode is not None else 0o644
        self._put(change.target, Entry(FileState(kind="fifo", mode=mode, **said), self._serial))

    def _fold_unpack(self, change: Unpack) -> None:
        from .archives import foreseen

        if isinstance(change.before, Unknown):
            self._marks[change.target] = (self._serial, change.before.because)
            self._serial += 1
        reader: Any = self
        for path, state, content in foreseen(reader, change):
            self._parents(os.path.dirname(path), state)
            known = self._look_quietly(path)
            if state.kind == "directory" and known is not None and known.kind == "directory":
                self._alter(path, mode=state.mode, owner=state.owner, uid=state.uid, group=state.group, gid=state.gid)
            else:
                self._put(path, Entry(state, self._serial, content=content, fresh=state.kind == "directory"))

    def _parents(self, path: str, like: FileState) -> None:
        """Directories on the way that an archive does not list, and that are made all the same."""
        for folder in reversed(_upwards(path)):
            if self._look_quietly(folder) is None:
                said = self._defaults(None, None, folder)
                state = like.evolve(kind="directory", mode=0o777 & ~self._base.umask(), target="", size=0, nlink=2, **said)
                self._put(folder, Entry(state, self._serial, fresh=True))

    def _fold_remove(self, change: Remove) -> None:
        prefix = change.target + "/"
        for path in [known for known in self._entries if known.startswith(prefix)]:
            del self._entries[path]
        for path in [known for known in self._marks if known == change.target or known.startswith(prefix)]:
            del self._marks[path]
        self._put(change.target, Entry(None, self._serial))

    def _alter(self, path: str, **fields: Any) -> None:
        """Set some fields of what a path is known to be; a path that is not known stays so."""
        state = self._look_quietly(path)
        if state is None:
            return
        old = self._entries.get(path)
        if old is None:
            old = Entry(state, self._serial, source=path)
        elif not old.fresh:
            old.serial = self._serial
        self._put(path, Entry(state.evolve(**fields), old.serial, content=old.content, source=old.source, fresh=old.fresh))
        if state.nlink > 1 and state.kind != "directory":
            inode = (state.dev, state.ino)
            self._inodes[inode] = {**self._inodes.get(inode, {}), **fields}
            for other, entry in list(self._entries.items()):
                if entry.state is not None and (entry.state.dev, entry.state.ino) == inode and entry.state.nlink > 1:
                    self._entries[other] = Entry(entry.state.evolve(**fields), self._serial, content=entry.content, source=entry.source)

    def _fold_set_mode(self, change: SetMode) -> None:
        self._alter(change.target, mode=change.mode)

    def _fold_set_owner(self, change: SetOwner) -> None:
        fields: dict[str, Any] = {}
        if change.owner is not None:
            fields.update(owner=change.owner, uid=_number(self.known_users(), change.owner, "uid"))
        if change.group is not None:
            fields.update(group=change.group, gid=_number(self.known_groups(), change.group, "gid"))
        state = self._look_quietly(change.target)
        if state is not None and state.kind == "file":
            # The kernel takes set-id bits off a file that changes hands.
            fields["mode"] = state.mode & ~0o6000
        self._alter(change.target, **fields)

    def _fold_set_times(self, change: SetTimes) -> None:
        given = {"atime": change.atime, "mtime": change.mtime}
        self._alter(change.target, **{name: value for name, value in given.items() if value is not None})

    def mark_path(self, path: str, because: str) -> None:
        """From here on nothing is known of the path and what is below it."""
        real = self._canonical(path)
        self._marks[real] = (self._serial, because)


def _upwards(path: str) -> list[str]:
    """The path and all directories above it, nearest first."""
    found = [path]
    while path not in ("/", ""):
        path = os.path.dirname(path)
        found.append(path)
    return found


def _name(table: dict[str, Any], number: int, field: str) -> str:
    for name, entry in table.items():
        if getattr(entry, field) == number:
            return name
    return str(number)


def _number(table: dict[str, Any], name: str, field: str) -> int | None:
    entry = table.get(name)
    if entry is not None:
        number: int | None = getattr(entry, field)
        return number
    return int(name) if name.isdigit() else None
