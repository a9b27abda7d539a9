"""Files of playbooks: read and parsed once in a run, found under the names people write."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.playbook import yaml
from provisioner.playbook.scope import LoadContext
from provisioner.playbook.yaml import Document

EXTENSIONS = (".yml", ".yaml", ".json", "")


class Files:
    """The parsed files of one load; ``read`` lists them in the order they were met. Safe to use from several threads."""

    def __init__(self, context: LoadContext) -> None:
        self._context = context
        self._documents: dict[Path, Document] = {}
        self._lock = threading.Lock()

    @property
    def read(self) -> tuple[Path, ...]:
        """Every file read so far."""
        return tuple(self._documents)

    def document(self, path: Path, diagnostics: Diagnostics | None = None) -> Document:
        """A parsed file; problems are reported the first time."""
        with self._lock:
            known = self._documents.get(path)
            if known is None:
                target = self._context.diagnostics if diagnostics is None else diagnostics
                known = yaml.load(path, str(path), self._context.vault, target)
                self._documents[path] = known
            return known

    def variables(self, path: Path) -> tuple[dict[str, Any], dict[str, str]]:
        """A file of variables, or a folder of such files, and the place each variable stands at; later files win."""
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for file in _variable_files(path):
            document = self.document(file)
            if document.data is None:
                continue
            if document.sealed and self._context.hide is not None:
                self._context.hide(document.data)
            if not isinstance(document.data, dict):
                self._context.diagnostics.error(
                    f"{file} must hold a mapping of names to values", document.span(), help="write 'name: value' lines", code="vars-file"
                )
                continue
            for name, value in document.data.items():
                values[str(name)] = value
                origins[str(name)] = str(document.key_span(name))
        return values, origins


def _variable_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for child in sorted(path.iterdir()):
        if child.is_dir():
            yield from _variable_files(child)
        elif child.suffix in (".yml", ".yaml", ".json", "") and not child.name.startswith(".") and not child.name.endswith("~"):
            yield child


def find_main(folder: Path, name: str, *, folders: bool = False) -> Path | None:
    """``folder/name`` with one of the usual endings; ``folders``: a folder of that name will do."""
    for extension in EXTENSIONS:
        path = folder / f"{name}{extension}"
        if path.is_file() or (folders and path.is_dir()):
            return path
    return None


def first_file(paths: Iterable[Path]) -> Path | None:
    """The first that is a file."""
    return next((path for path in paths if path.is_file()), None)


def vars_file_candidates(name: str, folder: Path) -> list[Path]:
    """Where a file of ``vars_files`` is looked for: in ``vars/`` beside the playbook, then beside it."""
    return [Path(name)] if Path(name).is_absolute() else [folder / "vars" / name, folder / name]


def task_file_candidates(name: str, file: str, folder: Path, role: Path | None) -> list[Path]:
    """Where a file of tasks is looked for: beside the file that names it, in the role's tasks (or handlers), beside the playbook."""
    if Path(name).is_absolute():
        return [Path(name)]
    near = Path(file).parent
    found = [near / name]
    if role is not None:
        kind = "handlers" if "handlers" in near.parts[len(role.parts) :] else "tasks"
        found += [role / kind / name, role / "tasks" / name, role / name]
    found.append(folder / name)
    return list(dict.fromkeys(found))


def missing(what: str, name: str, tried: Iterable[Path], place: Span, diagnostics: Diagnostics, *, certain: bool = True) -> None:
    """Report a file that is nowhere, with the places that were looked at and similar names there."""
    places = list(tried)
    names = {path.name for folder in {place.parent for place in places} if folder.is_dir() for path in folder.iterdir()}
    help_ = did_you_mean(Path(name).name, names) or "create it, or correct the name"
    report = diagnostics.error if certain else diagnostics.warning
    report(f"there is no {what} {name!r}", place, why="looked for " + ", ".join(map(str, places)), help=help_, code="missing-file")
