"""YAML and JSON inventories: groups with ``hosts``, ``children`` and ``vars``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from provisioner.diagnostics import Span, did_you_mean
from provisioner.inventory.addresses import HostPatternError, expand
from provisioner.inventory.draft import Draft, Refusal, Source, describe
from provisioner.inventory.varsfiles import VariableSpans
from provisioner.playbook.places import Place, below, key_of, span

SECTIONS = ("vars", "children", "hosts")
OWN = ("x-", "x_", "_", ".")
"""How keys begin that are nobody's but the author's."""


def parse(source: Source, draft: Draft) -> None:
    """Read groups. Raises ``Refusal`` when the file is no inventory of this form."""
    data = source.document.data
    if data is None:
        return
    if not isinstance(data, dict):
        raise Refusal(f"it must be a mapping of groups, not {describe(data)}", source.document.span())
    if "plugin" in data:
        raise Refusal("it configures an inventory plugin", source.document.key_span("plugin"))
    reader = _Reader(source, draft)
    for name, group in data.items():
        reader.group(name, group, key_of(source.document.places, name), below(source.document.places, name))


class _Reader:
    """Walks groups and their places side by side."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self._file = source.document.file

    def group(self, name: object, data: Any, key: Place, place: Place) -> str:
        """Declare one group with all that is in it; gives its name."""
        if data is not None and not isinstance(data, dict):
            raise Refusal(f"group {name!r} must be a mapping with hosts, children or vars, not {describe(data)}", span(self._file, place))
        name = self._draft.group(name, span(self._file, key))
        for section, content in (data or {}).items():
            at, inner = key_of(place, section), below(place, section)
            if section not in SECTIONS:
                self._unexpected(name, section, content, span(self._file, at))
            elif content is None:
                continue
            elif section == "vars":
                self._draft.variables(name, self._mapping(name, section, content, inner), VariableSpans(self._file, inner))
            else:
                add = self._children if section == "children" else self._hosts
                add(name, self._mapping(name, section, content, inner), inner)
        return name

    def _mapping(self, group: str, section: str, content: Any, place: Place) -> Mapping[Any, Any]:
        if isinstance(content, str):
            return {content: None}
        if not isinstance(content, dict):
            hint = "; end each name with a colon instead of beginning it with a dash" if isinstance(content, list) else ""
            raise Refusal(f"{section!r} of group {group!r} must be a mapping, not {describe(content)}{hint}", span(self._file, place))
        return content

    def _children(self, group: str, content: Mapping[Any, Any], place: Place) -> None:
        for name, data in content.items():
            child = self.group(name, data, key_of(place, name), below(place, name))
            self._draft.child(group, child, span(self._file, key_of(place, name)))

    def _hosts(self, group: str, content: Mapping[Any, Any], place: Place) -> None:
        host = self._draft.host
        for entry, values in content.items():
            if values is None:
                values = {}
            elif not isinstance(values, dict):
                raise Refusal(
                    f"host {entry!r} must be a mapping of variables, not {describe(values)}", span(self._file, below(place, entry))
                )
            names, port = self._names(entry, place)
            spans = VariableSpans(self._file, below(place, entry))
            for name in names:
                host(name, group, values, port=port, spans=spans)

    def _names(self, entry: Hashable, place: Place) -> tuple[list[str], int | None]:
        if not isinstance(entry, str):
            raise Refusal(f"a host's name must be text, not {entry!r}; put it in quotes", span(self._file, key_of(place, entry)))
        try:
            return expand(entry)
        except HostPatternError as error:
            raise Refusal(str(error), span(self._file, key_of(place, entry))) from None

    def _unexpected(self, group: str, section: Any, content: Any, where: Span) -> None:
        """A key that no group has: one that is nearly right was meant to be that, and would take its hosts away unseen.

        Others, and those that are marked as somebody's own (``x-common``, where anchors live), are skipped with a warning, as stock does.
        """
        near = did_you_mean(str(section), SECTIONS)
        if near and not str(section).startswith(OWN):
            raise Refusal(f"group {group!r} has an unknown key {section!r}; {near}", where)
        hint = f"a group has {', '.join(SECTIONS)}"
        if content is None or isinstance(content, dict):
            hint += "; a group below this one belongs under 'children', a host under 'hosts'"
        else:
            hint += "; a variable belongs under 'vars'"
        self._source.warnings.warning(f"key {section!r} of group {group!r} means nothing and is skipped", where, help=hint)
