"""Which tasks take part: tags, and ``--start-at-task``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any

from provisioner.playbook.model import RoleSource, Task


def tag_set(raw: Iterable[Any]) -> frozenset[str]:
    """Rendered tags as a set; ``"a,b"`` and nested lists are opened."""
    found: set[str] = set()
    for item in raw:
        if isinstance(item, (list, tuple, set, frozenset)):
            found |= tag_set(item)
        else:
            found |= {part.strip() for part in str(item).split(",") if part.strip()}
    return frozenset(found)


def selected(tags: frozenset[str], only: frozenset[str], skip: frozenset[str]) -> bool:
    """Whether a task with these tags runs under ``--tags only --skip-tags skip``."""
    tagged = bool(tags)
    names = tags or frozenset({"untagged"})
    wanted = (
        "always" in names
        or ("all" in only and "never" not in names)
        or bool(names & only)
        or ("tagged" in only and tagged and "never" not in names)
    )
    if not wanted:
        return False
    if "all" in skip:
        return "always" in names and "always" not in skip
    return not (names & skip or ("tagged" in skip and tagged))


def starts_at(pattern: str, task: Task, role: RoleSource | None) -> bool:
    """Whether ``--start-at-task pattern`` means this task: its name, or ``role : name``, with wildcards."""
    name = task.label
    return any(
        candidate == pattern or fnmatch.fnmatchcase(candidate, pattern)
        for candidate in ([name, f"{role.name} : {name}"] if role else [name])
    )
