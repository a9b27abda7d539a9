"""``group_vars`` and ``host_vars`` beside inventories and playbooks: which files belong to a name, read when first needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.errors import InputError
from provisioner.playbook import yaml
from provisioner.playbook.places import KeySpans, below, span
from provisioner.values import UnsafeText, map_texts
from provisioner.vault import Vault, Vaulted, is_vaulted

EXTENSIONS = ("", ".yml", ".yaml", ".json")
FOLDERS = {"group": "group_vars", "host": "host_vars"}


@dataclass(frozen=True, slots=True)
class VarsDocument:
    """One variables file: for whom (``name``), from where, and what it says."""

    name: str
    origin: str
    values: Mapping[str, Any]
    spans: Mapping[str, Span] = field(repr=False)


class VariableSpans(KeySpans):
    """Variable → span of its name; called with a path (``"users", 0, "name"``), the span of that value. Made when asked for."""

    __slots__ = ()

    def __call__(self, *path: Hashable) -> Span | None:
        """Where the value at this path stands, or the nearest one around it; None when the file's lines are not known."""
        place = below(self._place, *path)
        return span(self._file, place) if place else None


class VarsFiles:
    """Finds and keeps variables files. ``inventory`` folders are those of the sources, ``playbook`` the default playbook folders."""

    def __init__(self, inventory: Iterable[Path] = (), playbook: Iterable[Path] = (), vault: Vault | None = None) -> None:
        self.inventory = tuple(inventory)
        self.playbook = tuple(playbook)
        self._vault = vault if vault is not None else Vault()
        self._listings: dict[Path, Mapping[str, Path]] = {}
        self._documents: dict[tuple[Path, str], tuple[VarsDocument, ...]] = {}
        self._lock = threading.RLock()

    def find(self, kind: str, entity: str, names: Sequence[str], playbook: Path | str | None = None) -> Iterator[VarsDocument]:
        """The documents of ``group`` or ``host`` names, weakest first: by folder, then name, then file. Raises ``InputError``."""
        folders = self.inventory if kind == "inventory" else (Path(playbook),) if playbook is not None else self.playbook
        for folder in folders:
            base = folder / FOLDERS[entity]
            listing = self._listing(base)
            if listing:
                for name in names:
                    yield from self._of(base, listing, name)

    def check(self, groups: Iterable[str], hosts: Iterable[str], playbooks: Iterable[Path] = ()) -> Diagnostics:
        """Read every file that belongs to these names; all problems, and a warning for each file that belongs to nobody."""
        found = Diagnostics()
        for entity, names in (("group", list(groups)), ("host", list(hosts))):
            for folder in dict.fromkeys((*self.inventory, *self.playbook, *playbooks)):
                base = folder / FOLDERS[entity]
                listing = self._listing(base)
                taken: set[str] = set()
                for name in names if listing else ():
                    taken.update(name + extension for extension in EXTENSIONS)
                    try:
                        for _ in self._of(base, listing, name):
                            pass
                    except InputError as error:
                        for item in error.diagnostics:
                            found.add(item)
                for entry in sorted(set(listing) - taken):
                    _warn_unused(found, entity, listing[entry], names)
        return found

    def _listing(self, base: Path) -> Mapping[str, Path]:
        with self._lock:
            known = self._listings.get(base)
            if known is None:
                try:
                    known = {entry.name: base / entry.name for entry in os.scandir(base) if not _is_hidden(entry.name)}
                except (FileNotFoundError, NotADirectoryError):
                    known = {}
                except OSError as error:
                    raise InputError.of(f"cannot list {base}: {error.strerror}", Span(str(base))) from error
                self._listings[base] = known
            return known

    def _of(self, base: Path, listing: Mapping[str, Path], name: str) -> Sequence[VarsDocument]:
        path = next((listing[name + extension] for extension in EXTENSIONS if name + extension in listing), None)
        if path is None:
            return ()
        with self._lock:
            known = self._documents.get((base, name))
            if known is None:
                files = _files_below(path) if path.is_dir() else [path]
                known = self._documents[base, name] = tuple(self._read(file, name) for file in files)
            return known

    def _read(self, path: Path, name: str) -> VarsDocument:
        document = read_document(path, self._vault)
        values: Any = document.data if document.data is not None else {}
        if not isinstance(values, dict):
            # What it holds is not shown: the file may have been encrypted.
            shown = "a list" if isinstance(values, list) else "a text or number"
            raise InputError.of(
                f"{path} must hold variables, one 'name: value' a line, not {shown}",
                document.span() if document.places else Span(str(path)),
                help="write a mapping, or move the file elsewhere",
            )
        label_secrets(values)
        return VarsDocument(name, str(path), values, VariableSpans(document.file, document.places))


def read_document(path: Path, vault: Vault | None, warnings: Diagnostics | None = None) -> yaml.Document:
    """Parse a YAML or JSON file that may be vaulted as a whole or hold vaulted values. Raises ``InputError``."""
    vault = vault if vault is not None else Vault()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError.of(f"cannot read {path}: {error.strerror}", Span(str(path))) from error
    decrypted = is_vaulted(content)
    if decrypted:
        content = vault.open(content, Span(str(path), 1))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise InputError.of(f"{path} is not UTF-8 text", Span(str(path)), why=why, help="convert it, e.g. with iconv") from None
    found = Diagnostics()
    inline: Callable[[str, Span], Any] = vault.value
    document = yaml.load(text, str(path), inline, found)
    if found.errors:
        raise InputError(found)
    if warnings is not None:
        for item in found:
            warnings.add(item)
    if "__ansible_" in text and text.lstrip().startswith("{"):
        document = yaml.Document(document.file, revive(document.data, vault, Span(str(path))), document.places)
    if decrypted:
        vault.secrets.add_data(document.data)
    # The lines of a decrypted text are not those of the file.
    return yaml.Document(document.file, document.data) if decrypted else document


def revive(value: Any, vault: Vault, place: Span) -> Any:
    """JSON has no tags: Ansible writes ``!vault`` and ``!unsafe`` values as objects with one key, which become such values again here."""
    if isinstance(value, dict):
        if len(value) == 1:
            ((name, text),) = value.items()
            if name == "__ansible_vault" and isinstance(text, str):
                return vault.value(text, place)
            if name == "__ansible_unsafe":
                return map_texts(text, UnsafeText)
        return {name: revive(child, vault, place) for name, child in value.items()}
    if isinstance(value, list):
        return [revive(child, vault, place) for child in value]
    return value


def label_secrets(values: Any, name: str = "") -> None:
    """Tell encrypted values the name of their variable, for error messages."""
    if isinstance(values, Vaulted):
        values.name = values.name or name
    elif isinstance(values, dict):
        for key, value in values.items():
            if isinstance(value, (Vaulted, dict, list)):
                label_secrets(value, f"{name}.{key}" if name else str(key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            if isinstance(value, (Vaulted, dict, list)):
                label_secrets(value, f"{name}[{index}]")


def _files_below(folder: Path) -> list[Path]:
    """Variables files of a folder, sorted, those of folders in it too; hidden ones and editor backups are left out."""
    files: list[Path] = []
    for path in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if _is_hidden(path.name):
            continue
        if path.is_dir():
            files += _files_below(path) if not path.suffix else []
        elif path.suffix in EXTENSIONS:
            files.append(path)
    return files


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.endswith("~")


def _warn_unused(found: Diagnostics, entity: str, path: Path, names: Sequence[str]) -> None:
    if not path.is_dir() and path.suffix not in EXTENSIONS:
        return
    stem = path.name if path.is_dir() else path.stem
    found.warning(
        f"no {entity} is called {stem!r}: nothing reads {path}",
        Span(str(path)),
        help=did_you_mean(stem, names) or f"rename it after a {entity}, or remove it",
        code="unused-vars-file",
    )
