"""TOML inventories: a table per group with ``hosts``, ``children`` and ``vars``."""

from __future__ import annotations

import importlib
from typing import Any

from provisioner.inventory.addresses import HostPatternError, expand
from provisioner.inventory.draft import Draft, Refusal, Source, describe
from provisioner.inventory.yaml import SECTIONS


def parse(source: Source, draft: Draft) -> None:
    """Read tables. Raises ``Refusal``; Python 3.10 has no TOML reader and needs the package ``tomli``."""
    data = _load(source)
    if "plugin" in data:
        raise Refusal("it configures an inventory plugin", source.span())
    for name in data:
        draft.group(name)
    for name, group in data.items():
        _group(source, draft, name, group)


def _load(source: Source) -> dict[str, Any]:
    for module in ("tomllib", "tomli"):
        try:
            reader = importlib.import_module(module)
            break
        except ImportError:
            continue
    else:
        raise Refusal("this Python has no TOML reader; install the package tomli, or write the inventory as YAML")
    try:
        data: dict[str, Any] = reader.loads(source.text)
    except ValueError as error:
        raise Refusal(f"it is not TOML: {error}", source.span()) from None
    return data


def _group(source: Source, draft: Draft, name: str, group: Any) -> None:
    if not isinstance(group, dict):
        raise Refusal(f"group {name!r} must be a table with hosts, children or vars, not {describe(group)}", source.span())
    for section, content in group.items():
        if section == "vars":
            draft.variables(name, _table(source, name, section, content))
        elif section == "children":
            for child, inner in _names(content).items():
                draft.group(child)
                if inner:
                    _group(source, draft, child, inner)
                draft.child(name, child)
        elif section == "hosts":
            for entry, values in _table(source, name, section, _names(content)).items():
                _hosts(source, draft, name, entry, values)
        else:
            source.warnings.warning(
                f"key {section!r} of group {name!r} means nothing and is skipped", source.span(), help=f"a group has {', '.join(SECTIONS)}"
            )


def _names(content: Any) -> Any:
    """A list of names as a table of empty tables; a table as it is."""
    return dict.fromkeys(content) if isinstance(content, list) else content


def _table(source: Source, group: str, section: str, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise Refusal(f"{section!r} of group {group!r} must be a table, not {describe(content)}", source.span())
    return content


def _hosts(source: Source, draft: Draft, group: str, entry: str, values: Any) -> None:
    try:
        names, port = expand(entry)
    except HostPatternError as error:
        raise Refusal(str(error), source.span()) from None
    for name in names:
        draft.host(name, group, _table(source, entry, "variables", values if values is not None else {}), port=port)
