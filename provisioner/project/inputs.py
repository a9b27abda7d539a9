"""The files that a plan was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from provisioner.playbook.model import Playbook
from provisioner.project.definitions import roles_of
from provisioner.project.layout import is_host_list
from provisioner.project.session import Session

_BESIDE_PLAYBOOKS = ("group_vars", "host_vars", "templates", "files", "vars", "tasks", "handlers", "library", "module_utils")
_NOT_INPUTS = frozenset({"tests", "molecule", "__pycache__", ".git", ".github"})


def input_files(session: Session, playbooks: Sequence[Playbook], more: Iterable[Path] = ()) -> list[Path]:
    """Playbooks, all of the roles they use but tests, variables, templates and files beside them, inventories, and ``more``."""
    found: dict[Path, None] = {}

    def add(paths: Iterable[Path]) -> None:
        for path in paths:
            found.setdefault(path.absolute())

    for playbook in playbooks:
        add([playbook.path, *playbook.files])
        folder = playbook.path.absolute().parent
        for name in _BESIDE_PLAYBOOKS:
            add(_below(folder / name))
        for play in playbook.plays:
            for role in roles_of(play):
                add(_below(role.path))
    for source in session.sources:
        if not is_host_list(source):
            add(_inventory_files(Path(source)))
    add(more)
    if session.config.file is not None:
        add([session.config.file])
    return list(found)


def _inventory_files(source: Path) -> Iterator[Path]:
    if source.is_dir():
        yield from _below(source)
        return
    yield source
    for name in ("group_vars", "host_vars"):
        yield from _below(source.absolute().parent / name)


def _below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, hidden ones and tests left out."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _NOT_INPUTS:
            continue
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path
