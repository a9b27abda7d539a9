"""INI inventories: ``[group]``, ``[group:children]``, ``[group:vars]``, ranges, and values written as Python literals.

Values are typed where they read as a literal (``1``, ``True``, ``[1, 2]``) and text otherwise (``true``, ``yes``). On host lines a shell's
rules take the quotes away before that, so there ``'1'`` is a number; in ``:vars`` sections the quotes count and it is text.
"""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from provisioner.diagnostics import Span, did_you_mean
from provisioner.inventory.addresses import HostPatternError, expand
from provisioner.inventory.draft import Draft, Refusal, Source
from provisioner.inventory.model import UNGROUPED
from provisioner.inventory.varsfiles import VariableSpans
from provisioner.playbook.places import Places, pack
from provisioner.values import WrittenFloat, WrittenInt

KINDS = ("hosts", "children", "vars")

_SECTION = re.compile(r"\[(?P<group>[^:\]\s]+)(?::(?P<kind>\w+))?\]\s*(?:\#.*)?")
_CHILD = re.compile(r"(?P<group>[^:\]\s]+)\s*(?:\#.*)?")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
_LITERAL_STARTS = frozenset("0123456789+-([{'\"bBuUrRs.")
_WORDS = {"True": True, "False": False, "None": None}


@dataclass
class _Pending:
    """What names a group that must be declared somewhere in the file."""

    group: str
    span: Span
    reason: str


def parse(source: Source, draft: Draft) -> None:
    """Read the file. Raises ``Refusal`` at the first line that is not of this form."""
    _Reader(source, draft).read()


class _Reader:
    """Goes through the lines; the section decides what a line means."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self._source = source
        self._draft = draft
        self._group = UNGROUPED
        self._kind = "hosts"
        self._line = ""
        self._pending: list[_Pending] = []
        self._declared: set[str] = set()
        self._children: list[tuple[str, str, Span]] = []
        self._variables: dict[str, tuple[dict[str, Any], dict[str, Span]]] = {}

    def read(self) -> None:
        """All lines, then what only the end of the file can tell."""
        for number, line in enumerate(self._source.text.split("\n"), 1):
            text = line.strip()
            if not text or text[0] in "#;":
                continue
            where = self._source.span(number, len(line) - len(line.lstrip()) + 1)
            self._line = line
            if text[0] == "[" and self._section(text, where):
                continue
            {"hosts": self._host, "children": self._child, "vars": self._variable}[self._kind](text, where)
        for pending in self._pending:
            if pending.group not in self._declared and not self._draft.has_group(pending.group):
                near = did_you_mean(pending.group, sorted(self._declared))
                raise Refusal(pending.reason + (f"; {near}" if near else ""), pending.span)
        for parent, child, where in self._children:
            self._draft.child(parent, child, where)
        for group, (values, spans) in self._variables.items():
            self._draft.variables(group, values, spans)

    def _section(self, text: str, where: Span) -> bool:
        found = _SECTION.fullmatch(text)
        if found is None:
            if re.match(r"\[[^\]]*:[0-9a-fA-F:]+\]", text):  # an IPv6 address in brackets is a host
                return False
            raise Refusal(f"section {text!r} is not [group] or [group:children] or [group:vars]; names have no blanks", where)
        self._group, self._kind = found["group"], found["kind"] or "hosts"
        if self._kind not in KINDS:
            hint = did_you_mean(self._kind, KINDS) or f"there are {', '.join(KINDS)}"
            raise Refusal(f"section {text} has the unknown kind {self._kind!r}; {hint}", where)
        if self._kind == "vars":
            reason = f"section [{self._group}:vars] is for a group that nothing declares"
            self._pending.append(_Pending(self._group, where, reason))
        else:
            self._declare(self._group, where)
        return True

    def _declare(self, name: str, where: Span) -> None:
        self._declared.add(name)
        self._draft.group(name, where)

    def _host(self, text: str, where: Span) -> None:
        try:
            words = shlex.split(text, comments=True)
        except ValueError as error:
            raise Refusal(f"the host line cannot be split into words: {str(error).lower()}", where) from None
        try:
            names, port = expand(words[0])
        except HostPatternError as error:
            raise Refusal(str(error), where) from None
        values: dict[str, Any] = {}
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if not equals:
                raise Refusal(f"after a host's name come name=value pairs, and {word!r} is none", self._column(where, word))
            values[name] = literal(value)
        line = where.line - 1
        columns: dict[Hashable, int] = {name: pack(line, self._column(where, f"{name}=").column - 1) for name in values}
        spans = VariableSpans(where.file, Places(pack(line, where.column - 1), columns, {}))
        for host in names:
            self._draft.host(host, self._group, values, port=port, spans=spans)

    def _column(self, where: Span, word: str) -> Span:
        found = self._line.find(word, where.column - 1)
        return Span(where.file, where.line, found + 1 if found >= 0 else where.column)

    def _child(self, text: str, where: Span) -> None:
        found = _CHILD.fullmatch(text)
        if found is None:
            raise Refusal(f"a line of [{self._group}:children] is one group's name, not {text!r}", where)
        child = found["group"]
        reason = f"section [{self._group}:children] names group {child!r}, which nothing declares"
        self._pending.append(_Pending(child, where, reason))
        self._children.append((self._group, child, where))

    def _variable(self, text: str, where: Span) -> None:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise Refusal(f"a line of [{self._group}:vars] is name=value, not {text!r}", where)
        values, spans = self._variables.setdefault(self._group, ({}, {}))
        values[name] = literal(value)
        spans[name] = where


def literal(text: str) -> Any:
    """The value a text stands for: a Python literal, or the text itself. Numbers keep their spelling."""
    if text in _WORDS:
        return _WORDS[text]
    if text.isdecimal() and text.isascii() and (text[0] != "0" or not text.strip("0")):
        return WrittenInt(int(text), text)
    if _DECIMAL.fullmatch(text):
        return WrittenFloat(float(text), text)
    start = text.lstrip(" \t")[:1]
    if start not in _LITERAL_STARTS or not start:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    try:
        return _plain(value)
    except TypeError:  # a key that no mapping can have any more
        return text


def _plain(value: Any) -> Any:
    """The value as it could stand in a YAML file too: bytes are texts, tuples and sets lists, what else there is its spelling in Python."""
    if isinstance(value, dict):
        return {_plain(key): _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(child) for child in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if value is ...:
        return "..."
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
