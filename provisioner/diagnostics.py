"""What a person got wrong, where, and what to do next; collected, merged over hosts, rendered late.

A ``Diagnostic`` is data. Functions that can meet several problems take a ``Diagnostics`` and add to it, so that nothing stops at
the first one. Rendering (source line, caret, colours) happens in one place, ``Diagnostic.render``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning"]
UNLOADED = "unloaded-plugin"
"""The code of problems that come of a plugin file that cannot be loaded on this machine."""
_PLACES = 3
"""How many places of one problem are named beside the first."""


@dataclass(frozen=True, order=True)
class Span:
    """A place in a source file; line and column count from 1, 0 means "the file as a whole"."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        return place


@dataclass(frozen=True)
class Diagnostic:
    """One problem: ``message`` states it, ``why`` explains it, ``help`` says what to do next; ``also`` are more places where it is."""

    message: str
    span: Span | None = None
    why: str = ""
    help: str = ""
    severity: Severity = "error"
    code: str = ""
    hosts: tuple[str, ...] = ()
    also: tuple[Span, ...] = ()

    def render(self, *, source: bool = True) -> str:
        """Plain text: the headline, the source line with a caret, then the reason and the next step."""
        place = f"{self.span}: " if self.span else ""
        lines = [f"{place}{self.severity}: {self.message}"]
        if source and self.span is not None:
            lines += _snippet(self.span)
        if self.also:
            more = len(self.also) - _PLACES
            lines.append(f"  also at: {', '.join(map(str, self.also[:_PLACES]))}" + (f" and {more} more places" if more > 0 else ""))
        if self.hosts:
            lines.append(f"  on: {fold_hosts(self.hosts)}")
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


@dataclass
class Diagnostics:
    """A growing list of problems; equal ones on several hosts become one."""

    items: list[Diagnostic] = field(default_factory=list)
    _places: dict[Diagnostic, int] = field(default_factory=dict, repr=False, compare=False)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add one; the same problem on another host only adds that host's name."""
        plain = replace(diagnostic, hosts=()) if diagnostic.hosts else diagnostic
        index = self._places.get(plain, len(self.items))
        if index < len(self.items) and replace(self.items[index], hosts=()) == plain:
            known = self.items[index]
            self.items[index] = replace(known, hosts=tuple(dict.fromkeys(known.hosts + diagnostic.hosts)))
            return
        self._places[plain] = len(self.items)
        self.items.append(diagnostic)

    def error(self, message: str, span: Span | None = None, *, why: str = "", help: str = "", code: str = "") -> None:
        """Add an error."""
        self.add(Diagnostic(message, span, why=why, help=help, code=code))

    def warning(self, message: str, span: Span | None = None, *, why: str = "", help: str = "", code: str = "") -> None:
        """Add a warning."""
        self.add(Diagnostic(message, span, why=why, help=help, code=code, severity="warning"))

    @property
    def errors(self) -> list[Diagnostic]:
        """Only the errors, in the order of their places."""
        return [item for item in self.items if item.severity == "error"]

    @property
    def warnings(self) -> list[Diagnostic]:
        """Only the warnings."""
        return [item for item in self.items if item.severity == "warning"]


def folded(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The same problem at several places as one, at its first place."""
    found: dict[Diagnostic, list[Span]] = {}
    for item in diagnostics:
        places = found.setdefault(replace(item, span=None), [])
        places += [item.span] if item.span is not None else []
    return [replace(item, span=places[0] if places else None, also=tuple(places[1:])) for item, places in found.items()]


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "did you mean") -> str:
    """``did you mean 'x'?`` for the nearest known words, or an empty text."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    if not near:
        return ""
    return f"{prefix} {' or '.join(repr(item) for item in near)}?"


def fold_hosts(hosts: Iterable[str]) -> str:
    """``gpu01 gpu02 gpu03 web`` as ``gpu[01-03], web``: runs of numbers with the same prefix and width are folded."""
    folded: list[str] = []
    run: list[tuple[str, str, str]] = []  # prefix, digits, suffix

    def flush() -> None:
        if not run:
            return
        prefix, first, suffix = run[0]
        if len(run) == 1:
            folded.append(prefix + first + suffix)
        else:
            folded.append(f"{prefix}[{first}-{run[-1][1]}]{suffix}")
        run.clear()

    for parts in sorted({_split_number(host) for host in hosts}, key=lambda p: (p[0], p[2], len(p[1]), p[1])):
        prefix, digits, suffix = parts
        if run and digits and run[-1][1] and (run[-1][0], run[-1][2]) == (prefix, suffix):
            previous = run[-1][1]
            if len(previous) == len(digits) and int(digits) == int(previous) + 1:
                run.append(parts)
                continue
        flush()
        run.append(parts)
    flush()
    return ", ".join(folded)


def _split_number(host: str) -> tuple[str, str, str]:
    """``gpu07.rack`` as ``("gpu", "07", ".rack")``; the digits are empty when the first label has none at its end."""
    label, dot, rest = host.partition(".")
    stem = label.rstrip("0123456789")
    if not stem or stem == label:
        return host, "", ""
    return stem, label[len(stem) :], dot + rest


def _snippet(span: Span) -> list[str]:
    """The source line with a caret below it; nothing when the file cannot be read any more."""
    if not span.line:
        return []
    try:
        lines = Path(span.file).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    if span.line > len(lines):
        return []
    text = lines[span.line - 1].expandtabs(1)
    number = str(span.line)
    shown = [f"  {number} | {text}"]
    if span.column:
        shown.append(f"  {' ' * len(number)} | {' ' * (span.column - 1)}^")
    return shown
