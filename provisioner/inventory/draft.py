"""What parsers work with: a source that may be read in several ways, and a draft that counts only when one of them took the whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError
from provisioner.inventory.model import GROUP_VARS, HOST_VARS, Inventory, VarsSource
from provisioner.inventory.varsfiles import label_secrets, read_document
from provisioner.playbook.yaml import Document
from provisioner.vault import Vault

Render: TypeAlias = Callable[[str, Mapping[str, Any]], Any]
"""Renders a template text with variables to a native value; raises ``ProvisionError`` when it cannot."""

GroupNames = Literal["never", "ignore", "always", "silently"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
_NOTHING: Mapping[str, Any] = {}


class Refusal(Exception):
    """A parser does not take a source: why, and where that shows."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


@dataclass(frozen=True)
class Context:
    """What parsers may need beside the source itself."""

    vault: Vault
    render: Render | None = None
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    group_names: GroupNames = "never"
    merge_hashes: bool = False


@dataclass
class Source:
    """One file or host list, ``name`` as the user knows it. What several parsers need of it is read once."""

    name: str
    path: Path | None
    context: Context
    warnings: Diagnostics = field(default_factory=Diagnostics)

    @cached_property
    def document(self) -> Document:
        """The file as YAML or JSON. Raises ``Refusal`` where that fails."""
        assert self.path is not None
        try:
            return read_document(self.path, self.context.vault, self.warnings)
        except InputError as error:
            first = error.diagnostics.errors[0]
            raise Refusal(f"{first.message}{': ' if first.why else ''}{first.why}", first.span) from None

    @cached_property
    def text(self) -> str:
        """The file as text, decrypted if it is a vault. Raises ``Refusal``."""
        assert self.path is not None
        try:
            return self.context.vault.read(self.path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Refusal(f"it is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}", Span(self.name)) from None
        except OSError as error:
            raise Refusal(f"it cannot be read: {error.strerror}", Span(self.name)) from None

    def span(self, line: int = 0, column: int = 0) -> Span:
        """A place in the source."""
        return Span(self.name, line, column)


class Draft:
    """Groups, hosts and variables of one source, put into the inventory by ``commit``."""

    def __init__(self, inventory: Inventory, source: Source) -> None:
        self.inventory = inventory
        self.source = source
        self._groups: dict[str, None] = {}
        self._steps: list[Callable[[], object]] = []
        self._told = False

    def has_group(self, name: str) -> bool:
        """Whether this or an earlier source has the group."""
        return name in self._groups or name in self.inventory.groups

    def group(self, name: object, span: Span | None = None) -> str:
        """Declare a group; its name may be changed to a safe one when the settings say so. Raises ``Refusal`` for what is no name."""
        if not isinstance(name, str) or not name:
            raise Refusal(f"a group's name must be text, not {name!r}; put it in quotes", span)
        if _UNSAFE.search(name):
            self._unsafe_name(name, span)
        name = self._named(name)
        if name not in self._groups:
            self._groups[name] = None
            self._steps.append(lambda: self.inventory.add_group(name))
        return name

    def _named(self, group: str) -> str:
        return safe_group_name(group) if self.source.context.group_names in ("always", "silently") else group

    def _unsafe_name(self, name: str, span: Span | None) -> None:
        """Say once a source what becomes of names that could not be names of variables, unless the settings ask for silence."""
        what = {"never": "but not replaced", "always": "and automatically replaced"}.get(self.source.context.group_names)
        if what is not None and not self._told:
            self._told = True
            why = f"{name!r} is no name of a variable; the setting force_valid_group_names says what is done"
            help_ = "use letters, digits and _, or set it to 'ignore'"
            self.source.warnings.warning(
                f"Invalid characters were found in group names {what}", span or self.source.span(), why=why, help=help_, code="group-name"
            )

    def child(self, parent: str, child: str, span: Span | None = None) -> None:
        """Put a declared group below another."""
        parent, child = self._named(parent), self._named(child)
        self._steps.append(lambda: self.inventory.add_child(parent, child, span=span))

    def host(
        self,
        name: str,
        group: str | None,
        values: Mapping[str, Any] = _NOTHING,
        *,
        port: int | None = None,
        spans: Mapping[str, Span] = _NOTHING,
    ) -> None:
        """Put a host into a declared group (None: into none yet) and give it variables."""
        if port is not None:
            values = {"ansible_port": port, **values}
        label_secrets(values)
        groups = () if group is None else (self._named(group),)
        origin = self.source.name
        self._steps.append(
            lambda: self.inventory.add_host(name, groups, values, origin=origin, spans=spans, inventory_file=self._inventory_file)
        )

    def variables(self, group: str, values: Mapping[str, Any], spans: Mapping[str, Span] = _NOTHING) -> None:
        """Give a declared group variables."""
        label_secrets(values)
        group = self._named(group)
        source = VarsSource(GROUP_VARS, values, self.source.name, spans, f"group {group}")
        self._steps.append(lambda: self.inventory.add_group_variables(group, source))

    def commit(self) -> None:
        """Put everything into the inventory. Raises ``InputError`` for groups in a circle."""
        for step in self._steps:
            step()

    @cached_property
    def _inventory_file(self) -> str | None:
        return str(self.source.path.absolute()) if self.source.path is not None else self.source.name


def safe_group_name(name: str) -> str:
    """A name that is a valid variable name too: what else is in it becomes ``_``."""
    return _UNSAFE.sub("_", name)


def describe(value: object) -> str:
    """A value's kind in the words of YAML."""
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (dict, "a mapping"),
        ((list, tuple), "a list"),
        (bool, "a truth value"),
        (str, "text"),
        ((int, float), "a number"),
    )
    return next((words for kind, words in kinds if isinstance(value, kind)), "nothing" if value is None else type(value).__name__)


__all__ = ["HOST_VARS", "Context", "Draft", "GroupNames", "Refusal", "Render", "Source", "describe", "safe_group_name"]
