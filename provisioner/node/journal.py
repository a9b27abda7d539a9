"""What outlives a run on the node: the lock that keeps runs apart, and the handlers that were notified and have not run yet."""

from __future__ import annotations

import fcntl
import json
import os
import time

from .loader import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOCK_POLL = 0.1


def lock_path() -> str:
    """The file whose lock says that a run is going on."""
    if os.geteuid() == 0:
        return "/run/provision.lock"
    return f"{os.environ.get('XDG_RUNTIME_DIR') or _own_folder('.cache')}/provision.lock"


def journal_path() -> str:
    """The file that holds the pending handlers."""
    if os.geteuid() == 0:
        return "/var/lib/provision/handlers.json"
    return f"{_own_folder('.local/state')}/provision/handlers.json"


def _own_folder(name: str) -> str:
    """A folder in the home of this account, or where a service account without one can keep something."""
    home = os.path.expanduser("~")
    if os.access(home, os.W_OK):
        return f"{home}/{name}"
    path = f"/var/tmp/provision-{os.geteuid()}"
    if os.path.lexists(path) and not private(os.lstat(path), 0o40000):
        raise PermissionError(1, "is not ours alone", path)
    return path


class Lock:
    """The node's lock, held until this process ends. ``holder``: who has it when ``take`` returned False."""

    def __init__(self) -> None:
        self.holder = ""
        self._file: int | None = None

    def take(self, who: str, patience: float) -> bool:
        """Try for ``patience`` seconds; ``OSError`` when there can be no lock at all."""
        path = lock_path()
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = os.pread(file, 4096, 0).decode("utf-8", "replace")
                if holder.startswith(f"{who} (pid "):
                    # The same run under another name of this node, or as another user: it keeps others out already.
                    self._file = file
                    return True
                if time.monotonic() >= until:
                    self.holder = holder or "another run"
                    os.close(file)
                    return False
                time.sleep(LOCK_POLL)
        self._file = file
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{who} (pid {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S %z')})".encode(), 0)
        except OSError:
            pass  # a full disk: it is locked all the same, only whose it is cannot be told
        return True


def pending() -> list[str]:
    """The handlers that were notified and have not run; ``ValueError`` when the file is not ours."""
    try:
        with open(journal_path(), encoding="utf-8") as file:
            noted = json.load(file)
    except FileNotFoundError:
        return []
    if not isinstance(noted, dict) or not isinstance(noted.get("pending"), list):
        raise ValueError(f"{journal_path()} is not a journal of handlers")
    return [str(text) for text in noted["pending"]]


def note(add: Iterable[str], done: Iterable[str]) -> None:
    """Note handlers as notified, or as run; an empty journal leaves no file."""
    before = pending()
    finished = set(done)
    after = [text for text in dict.fromkeys([*before, *add]) if text not in finished]
    if after == before:
        return
    path = journal_path()
    if not after:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(number, "w", encoding="utf-8") as file:
            json.dump({"pending": after}, file)
            file.flush()
            os.fsync(number)
        os.rename(draft, path)
    except OSError:
        os.unlink(draft)
        raise
