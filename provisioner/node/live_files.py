"""Files, live: readings by the system calls, writes beside the target and then renamed."""

from __future__ import annotations

import errno
import os
import stat

from .content import Content
from .faults import Fail
from .readings import FileState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .changes import MakeDirectory, MakeFifo, MakeHardLink, MakeLink, Remove, SetMode, SetOwner, SetTimes, WriteFile
    from .readings import CommandResult

KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFBLK: "block",
    stat.S_IFCHR: "char",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}
PIECE = 1 << 20
IN_MEMORY = 4 << 20


class LiveFiles:
    """The file part of ``Live``."""

    if TYPE_CHECKING:

        def execute(self, argv: list[str]) -> CommandResult: ...
        def owner_name(self, uid: int) -> str: ...
        def group_name(self, gid: int) -> str: ...
        def owner_number(self, owner: str) -> int: ...
        def group_number(self, group: str) -> int: ...

    def lstat(self, path: str) -> FileState | None:
        """See ``ports.Reader.lstat``."""
        try:
            seen = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError:
            raise Fail(f"{path} may not be looked at by this user; does the task need become: true?", path=path) from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise circular(os.path.dirname(path)) from None
            raise Fail(f"cannot look at {path}: {error.strerror or error}", path=path) from None
        kind = KINDS.get(stat.S_IFMT(seen.st_mode), "file")
        return FileState(
            kind=kind,
            mode=stat.S_IMODE(seen.st_mode),
            owner=self.owner_name(seen.st_uid),
            group=self.group_name(seen.st_gid),
            uid=seen.st_uid,
            gid=seen.st_gid,
            size=seen.st_size,
            mtime=seen.st_mtime,
            atime=seen.st_atime,
            ctime=seen.st_ctime,
            target=os.readlink(path) if kind == "link" else "",
            dev=seen.st_dev,
            ino=seen.st_ino,
            nlink=seen.st_nlink,
        )

    def resolve(self, path: str) -> str:
        """See ``ports.Reader.resolve``."""
        try:
            os.stat(path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise circular(path) from None
        return os.path.realpath(path)

    def content(self, path: str) -> Content:
        """See ``ports.Reader.content``; a big file is digested in pieces and read again only if its bytes are asked for."""
        import hashlib

        size = os.stat(path).st_size
        if size <= IN_MEMORY:
            with open(path, "rb") as file:
                return Content(file.read(), name=path)
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            for piece in iter(lambda: file.read(PIECE), b""):
                digest.update(piece)
        return Content(digest=digest.hexdigest(), size=size, load=lambda: _read(path), name=path)

    def names(self, path: str) -> list[str]:
        """See ``ports.Reader.names``."""
        return sorted(os.listdir(path))

    def account(self) -> tuple[int, int]:
        """See ``ports.Reader.account``."""
        return os.geteuid(), os.getegid()

    def umask(self) -> int:
        """See ``ports.Reader.umask``."""
        mask = os.umask(0o022)
        os.umask(mask)
        return mask

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def _write_file(self, change: WriteFile) -> None:
        path = change.target
        old = _stat_or_none(path)
        uid, gid = self._numbers(change.owner, change.group)
        temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:200]}.provision-{os.getpid()}")
        _unlink_quietly(temporary)
        # 0600 until owner and mode are final: a secret is never readable by others for a moment.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                _write_all(descriptor, change.content.bytes())
                if uid != -1 or gid != -1:
                    os.fchown(descriptor, uid, gid)
                if old is not None:
                    _copy_attributes(path, temporary)
                os.fchmod(descriptor, change.mode if change.mode is not None else 0o644)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if change.validate:
                self._validate(change, temporary)
            self._put_in_place(change, temporary, path)
        except BaseException:
            _unlink_quietly(temporary)
            raise

    def _put_in_place(self, change: WriteFile, temporary: str, path: str) -> None:
        if not change.in_place:
            try:
                os.rename(temporary, path)
            except OSError as error:
                # A bind-mounted file (containers mount /etc/hosts so) cannot be renamed over, only written.
                if error.errno not in (errno.EBUSY, errno.EXDEV):
                    raise
            else:
                _sync_folder(os.path.dirname(path))
                return
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, change.content.bytes())
            uid, gid = self._numbers(change.owner, change.group)
            if uid != -1 or gid != -1:
                os.fchown(descriptor, uid, gid)
            if change.mode is not None:
                os.fchmod(descriptor, change.mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.unlink(temporary)

    def _validate(self, change: WriteFile, temporary: str) -> None:
        import shlex

        if "%s" not in change.validate:
            raise Fail(f"validate must hold %s where the file name goes: {change.validate}")
        argv = [word.replace("%s", temporary) for word in shlex.split(change.validate)]
        result = self.execute(argv)
        if result.rc:
            words = (result.err.strip() or result.out.strip()).replace(temporary, change.target)
            raise Fail(f"{change.target} was left as it is: {argv[0]} refuses the new one: {words}", rc=result.rc, stderr=result.err)

    def _numbers(self, owner: str | None, group: str | None) -> tuple[int, int]:
        uid = -1 if owner is None else self.owner_number(owner)
        gid = -1 if group is None else self.group_number(group)
        return uid, gid

    def _make_directory(self, change: MakeDirectory) -> None:
        os.mkdir(change.target, 0o700)
        uid, gid = self._numbers(change.owner, change.group)
        if uid != -1 or gid != -1:
            os.chown(change.target, uid, gid)
        inherited = os.stat(change.target).st_mode & stat.S_ISGID
        os.chmod(change.target, (change.mode if change.mode is not None else 0o755) | inherited)

    def _make_link(self, change: MakeLink) -> None:
        _replace_by(change.target, lambda name: os.symlink(change.to, name))

    def _make_hard_link(self, change: MakeHardLink) -> None:
        _replace_by(change.target, lambda name: os.link(change.to, name))

    def _make_fifo(self, change: MakeFifo) -> None:
        os.mkfifo(change.target)
        if change.mode is not None:
            os.chmod(change.target, change.mode)

    def _remove(self, change: Remove) -> None:
        if os.path.isdir(change.target) and not os.path.islink(change.target):
            import shutil

            shutil.rmtree(change.target)
        else:
            os.unlink(change.target)

    def _set_mode(self, change: SetMode) -> None:
        os.chmod(change.target, change.mode)

    def _set_owner(self, change: SetOwner) -> None:
        os.lchown(change.target, *self._numbers(change.owner, change.group))

    def _set_times(self, change: SetTimes) -> None:
        seen = os.stat(change.target)
        atime = seen.st_atime if change.atime is None else change.atime
        mtime = seen.st_mtime if change.mtime is None else change.mtime
        os.utime(change.target, (atime, mtime))


def circular(path: str) -> Fail:
    """The failure of a path on which links lead to each other."""
    return Fail(f"{path} leads nowhere: the links on the way point at each other", path=path)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:PIECE]) :]


def _unlink_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it was not there, or the disk is beyond help: the first error is the one to report


def _copy_attributes(source: str, target: str) -> None:
    """Carry security labels and access lists over to the new file."""
    try:
        names = os.listxattr(source, follow_symlinks=False)
    except OSError:
        return
    for name in names:
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError:
            continue  # a label this user may not set; the system gives the new file its own


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace_by(path: str, make: object) -> None:
    """Make a link under a temporary name, then rename it over the old one: at no moment is there nothing."""
    temporary = f"{path}.provision-{os.getpid()}"
    _unlink_quietly(temporary)
    make(temporary)  # type: ignore[operator]
    try:
        os.rename(temporary, path)
    except OSError:
        _unlink_quietly(temporary)
        raise
    # Renaming one name of a file over another name of the same file does nothing and leaves both.
    _unlink_quietly(temporary)
