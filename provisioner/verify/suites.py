"""Which tests there are and whom they concern: ``tests/`` beside each role that ran, and beside each playbook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PARTS = ("tasks", "handlers")


@dataclass(frozen=True)
class Suite:
    """The test files of a role (or of a playbook: no role) and the hosts they hold for, in inventory order."""

    folder: Path
    files: tuple[Path, ...]
    hosts: tuple[str, ...]
    role: str = ""


def find_suites(steps: Iterable[Mapping[str, Any]], playbooks: Iterable[Path], hosts: Iterable[str]) -> list[Suite]:
    """The suites of a plan run: a role concerns a host when at least one of its steps there was not skipped.

    The steps say where each role lives, so roles that are included while the play runs are found, too.
    """
    order = list(hosts)
    used: dict[tuple[str, Path], set[str]] = {}
    for step in steps:
        folder = role_folder(str(step.get("source", ""))) if step.get("role") else None
        if folder is not None and step["status"] not in ("skipped", "unreachable"):
            used.setdefault((str(step["role"]), folder), set()).add(str(step["host"]))
    suites = []
    for playbook in dict.fromkeys(path.parent for path in playbooks):
        suites += _suite(playbook / "tests", order, "")
    for (role, folder), concerned in used.items():
        suites += _suite(folder / "tests", [host for host in order if host in concerned], role)
    return suites


def role_folder(source: str) -> Path | None:
    """The folder of the role that a task comes from: ``roles/driver`` for ``roles/driver/tasks/main.yml:12``."""
    path = Path(source.rpartition(":")[0] if source.rpartition(":")[2].isdigit() else source)
    for parent in path.parents:
        if parent.name in _PARTS:
            return parent.parent
    return None


def _suite(folder: Path, hosts: list[str], role: str) -> list[Suite]:
    files = tuple(sorted(folder.rglob("test_*.py"))) if folder.is_dir() else ()
    return [Suite(folder, files, tuple(hosts), role)] if files and hosts else []
