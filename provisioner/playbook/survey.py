"""What a tree of playbooks and roles brings along, found before anything in it is read: folders of roles, collections, requirements."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics
from provisioner.playbook import yaml
from provisioner.playbook.scope import LoadContext

ROLE_PARTS = ("tasks", "handlers", "defaults", "vars", "meta")
SKIPPED = frozenset({".git", ".tox", ".venv", "venv", "node_modules", "molecule", "__pycache__", "collections", "ansible_collections"})
"""Folders that hold nothing of the tree's own."""
_INSTALLED = "ansible_collections"


def is_role(folder: Path) -> bool:
    """Whether a folder looks like a role."""
    return (folder / "tasks").is_dir() or ((folder / "meta").is_dir() and any((folder / part).is_dir() for part in ROLE_PARTS[1:4]))


def survey(folder: Path, context: LoadContext) -> None:
    """Take in what a tree holds: roles, collections, modules, and the names of roles that it expects from elsewhere."""
    roles: list[Path] = []
    siblings: Counter[Path] = Counter()
    for path, folders, files in _walk(folder):
        if path.name == "roles":
            roles.append(path)
        if _INSTALLED in folders:
            context.collections_path = (*context.collections_path, path)
            context.registry.add_collections([path])
            folders.remove(_INSTALLED)
        if "galaxy.yml" in files:
            _own_collection(path, context)
        if "tasks" in folders and "main.yml" in _names(path / "tasks"):
            siblings[path.parent] += 1
        for name in files:
            if name.startswith("requirements.") and name.endswith((".yml", ".yaml")):
                context.expected |= frozenset(_expected(path / name))
    roles += [path for path, count in siblings.items() if count > 1 and path not in roles]
    context.roles_path = (*context.roles_path, *(path for path in roles if path not in context.roles_path))


def _walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED or name in ("collections", _INSTALLED))
        yield Path(path), folders, files


def _names(folder: Path) -> list[str]:
    return os.listdir(folder)


def _own_collection(folder: Path, context: LoadContext) -> None:
    """A collection that is being worked on: it counts as installed, and its playbooks call its modules by their short names, too."""
    path = folder / "galaxy.yml"
    data = yaml.load(path, str(path), context.vault, context.diagnostics).data
    if isinstance(data, dict):
        context.own_collections[f"{data.get('namespace')}.{data.get('name')}"] = folder
        context.registry.add_library(folder / "plugins" / "modules")


def _expected(path: Path) -> Iterator[str]:
    """The roles that a ``requirements.yml`` lists."""
    data = yaml.load(path, str(path), None, Diagnostics()).data
    entries = data.get("roles") or () if isinstance(data, dict) else data or ()
    for entry in entries if isinstance(entries, Iterable) else ():
        yield from _role_names(entry)


def _role_names(entry: Any) -> list[str]:
    """The names that an entry of requirements.yml may install a role under."""
    if not isinstance(entry, dict):
        return [str(entry)]
    names = [str(entry[key]) for key in ("name", "role", "src") if entry.get(key)]
    return [*names, *(name.rstrip("/").rpartition("/")[2].removesuffix(".git") for name in names)]
