"""Plan files: written whole or not at all, readable by their owner only, carried out at most once."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.diagnostics import Span
from provisioner.errors import InputError, Refused, UsageError
from provisioner.plan.document import Plan, plan_of, timestamp


def write_plan(plan: Plan, path: Path) -> None:
    """Put the plan into a file that only its owner can read; ``UsageError`` when that is not possible."""
    text = json.dumps(plan.document(with_key=True), indent=1, ensure_ascii=True, default=str)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write the plan to {path}: {error.strerror}") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write the plan to {path}: {error.strerror}") from None


def read_plan(path: Path) -> Plan:
    """The plan in a file; ``UsageError`` when it cannot be read, ``InputError`` when it is no plan."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError.of("this is no saved plan", Span(str(path))) from None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError.of(f"this is no saved plan: {error}", Span(str(path))) from None
    return plan_of(document, str(path))


def looks_like_plan(path: Path) -> bool:
    """Whether a file is a saved plan rather than an inventory (an inventory may be JSON, too)."""
    if not path.is_file() or path.suffix.lower() != ".json":
        return False
    try:
        return '"provision.plan/' in path.read_text("utf-8", "replace")
    except OSError:
        return False


@contextmanager
def exclusive(path: Path) -> Iterator[Plan]:
    """Hold the plan for carrying it out: nobody else can meanwhile, and one that was carried out before is refused.

    The lock is on the file that has the name now: ``mark_applied`` puts a new file there, so the lock is checked against the name.
    """
    while True:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise Refused(f"{path} is being applied by another process right now") from None
        if os.path.samestat(os.fstat(handle), path.stat()):
            break
        os.close(handle)
    try:
        plan = read_plan(path)
        if plan.applied:
            raise Refused(
                f"{path} was already applied {plan.applied}",
                why="what it found and what it changed are no longer the same",
                help="plan again: provision plan … -o plan.json",
            )
        yield plan
    finally:
        os.close(handle)


def mark_applied(plan: Plan, path: Path) -> None:
    """Note in the file that the plan is used; done before the first change, so that a broken run does not leave it usable."""
    write_plan(plan.marked(timestamp()), path)
