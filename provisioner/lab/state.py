"""Where labs live on this machine, and the files of one lab.

The base folder is ``/var/lib/provision``, or ``$PROVISION_STATE``. A lab's folder is ``BASE/labs/NAME`` and holds ``lab.json``,
the key pair, ``known_hosts`` and ``inventory.yml``; each file is replaced as a whole, so a reader never sees half of one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.diagnostics import did_you_mean
from provisioner.errors import ProvisionError, UsageError
from provisioner.lab.model import Lab

DEFAULT_BASE = Path("/var/lib/provision")


def base_folder(folder: Path | None = None) -> Path:
    """The folder that holds every lab and image."""
    if folder is not None:
        return folder.absolute()
    return Path(os.environ.get("PROVISION_STATE") or DEFAULT_BASE).absolute()


def lab_folder(base: Path, name: str) -> Path:
    """The folder of one lab, whether or not it exists."""
    return base / "labs" / name


def names(base: Path) -> list[str]:
    """The labs there are, also those whose ``up`` was killed half-way."""
    try:
        return sorted(path.parent.name for path in (base / "labs").glob("*/lab.json"))
    except PermissionError as error:
        raise ProvisionError(f"cannot read {base / 'labs'}", why=str(error), help="run it as root: sudo provision lab …") from error


def load(base: Path, name: str) -> Lab:
    """The lab of that name; UsageError with the nearest names when there is none."""
    folder = lab_folder(base, name)
    path = folder / "lab.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = names(base)
        there = f"labs here: {', '.join(known)}" if known else "there is none; make one with provision lab up -n 2"
        raise UsageError(f"there is no lab {name!r}", help=did_you_mean(name, known) or there) from None
    try:
        return Lab.from_json(folder, json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProvisionError(
            f"{path} is damaged", why=str(error), help=f"provision lab down {name} removes what can be found by its name"
        ) from error


def save(lab: Lab) -> None:
    """Write lab.json."""
    put(lab.folder / "lab.json", json.dumps(lab.to_json(), indent=2) + "\n")


def put(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Replace a file as a whole; it belongs to the person who called sudo, so that they can use it without."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)
        owner = _caller()
        if owner is not None:
            os.fchown(file.fileno(), *owner)
    beside.replace(path)


def _caller() -> tuple[int, int] | None:
    """The ids of the person behind sudo."""
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() == 0 and user.isdigit() and group.isdigit():
        return int(user), int(group)
    return None


@contextmanager
def locked(base: Path, name: str) -> Iterator[None]:
    """One ``up`` or ``down`` of a lab at a time; a second one is told, not queued."""
    folder = base / "labs"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProvisionError(
                f"another provision lab command is working on {name!r}", help="wait for it to end, then run this again"
            ) from None
        yield
