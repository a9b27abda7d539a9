"""Extra variables from the command line: ``k=v`` pairs, YAML or JSON mappings, and ``@FILE``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Span
from provisioner.errors import InputError, UsageError
from provisioner.inventory.varsfiles import read_document
from provisioner.playbook import arguments, yaml
from provisioner.vault import Vault

PLACE = "<command line>"


def read_extra_vars(texts: Iterable[str], vault: Vault) -> dict[str, Any]:
    """All of them in order, later ones winning whole. Raises ``UsageError`` or ``InputError``."""
    merged: dict[str, Any] = {}
    for text in texts:
        merged.update(_read(text.strip(), vault))
    for name in merged:
        if not (isinstance(name, str) and name.isidentifier()):
            raise UsageError(f"-e: {name!r} is no name of a variable", why="names have letters, digits and _, and begin with no digit")
    return merged


def extra_vars_files(texts: Iterable[str]) -> list[Path]:
    """The files among them: inputs of a plan."""
    return [Path(text.strip()[1:]) for text in texts if text.strip().startswith("@")]


def _read(text: str, vault: Vault) -> dict[str, Any]:
    if text.startswith("@"):
        return _from_file(Path(text[1:]), vault)
    if text.startswith(("{", "[")):
        data = yaml.load(text, file=PLACE, vault=vault).data
        return _mapping(data, f"-e {text}", None)
    try:
        pairs = arguments.parse(text)
    except arguments.ArgumentTextError as error:
        raise UsageError(f"-e {text}: {error}") from None
    loose = pairs.pop(arguments.RAW, "")
    if loose:
        raise UsageError(
            f"-e {text}: {loose!r} is neither name=value nor @FILE",
            help=f"-e @{loose} reads a file; a value with blanks wants quotes: -e \"name='a b'\"",
        )
    return dict(pairs)


def _from_file(path: Path, vault: Vault) -> dict[str, Any]:
    if not path.is_file():
        raise UsageError(f"-e @{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}")
    return _mapping(read_document(path, vault).data, str(path), Span(str(path)))


def _mapping(data: Any, what: str, span: Span | None) -> dict[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        if span is None:
            raise UsageError(f"{what}: a mapping of names to values is wanted, not a {type(data).__name__}")
        raise InputError.of(f"variables are a mapping of names to values, not a {type(data).__name__}", span)
    return data
