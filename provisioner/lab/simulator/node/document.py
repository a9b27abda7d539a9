"""Sections and values, printed as the indented text of ``nvidia-smi -q`` or as the XML of ``-q -x``. Knows nothing of particular values."""

from __future__ import annotations

from .gpu import Gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .smi import Session

    Value = Callable[[Session, Gpu], "str | None"]

NOT_AVAILABLE = "N/A"
NEWEST = 9999
BLOCK = "\n"  # a value that starts with this is printed in XML on a line of its own


class Line:
    """A value: its label in the text, its tag in the XML (an empty one leaves it out there) and the branches that have it."""

    def __init__(self, label: str, tag: str, value: Value | str = NOT_AVAILABLE, *, since: int = 0, until: int = NEWEST) -> None:
        self.label = label
        self.tag = tag
        self.since = since
        self.until = until
        self._value = value

    def value(self, session: Session, gpu: Gpu) -> str:
        """What stands behind the colon or between the tags."""
        if isinstance(self._value, str):
            return self._value
        found = self._value(session, gpu)
        return NOT_AVAILABLE if found is None else found

    def parts(self, _session: Session, _gpu: Gpu) -> Sequence[Line] | None:
        """The lines of a section; None for a plain value."""
        return None


class Section(Line):
    """A group of lines; where ``when`` is given and false, the section is a plain N/A."""

    def __init__(
        self,
        label: str,
        tag: str,
        *lines: Line,
        since: int = 0,
        until: int = NEWEST,
        when: Callable[[Session, Gpu], bool] | None = None,
    ) -> None:
        super().__init__(label, tag, since=since, until=until)
        self._lines = lines
        self._when = when

    def parts(self, session: Session, gpu: Gpu) -> Sequence[Line] | None:
        if self._when is not None and not self._when(session, gpu):
            return None
        return [line for line in self._lines if line.since <= session.branch <= line.until]


class Generated(Line):
    """A section whose lines depend on the GPU; None from ``make`` is a plain value."""

    def __init__(
        self,
        label: str,
        tag: str,
        make: Callable[[Session, Gpu], Sequence[Line] | None],
        *,
        empty: str = NOT_AVAILABLE,
        since: int = 0,
    ) -> None:
        super().__init__(label, tag, empty, since=since)
        self._make = make

    def parts(self, session: Session, gpu: Gpu) -> Sequence[Line] | None:
        return self._make(session, gpu)


def text(line: Line, session: Session, gpu: Gpu, depth: int = 1) -> list[str]:
    """The lines of one entry, values in column 42."""
    indent = "    " * depth
    parts = line.parts(session, gpu)
    if not parts:
        return [f"{indent}{line.label}".ljust(42) + f": {line.value(session, gpu).strip(BLOCK)}"]
    found = [f"{indent}{line.label}"] if line.label else []
    for part in parts:
        if part.label:
            found += text(part, session, gpu, depth + 1)
        elif part.parts(session, gpu) is not None:
            for inner in part.parts(session, gpu) or ():
                found += text(inner, session, gpu, depth + 1) if inner.label else []
    return found


def xml(line: Line, session: Session, gpu: Gpu, depth: int = 2) -> list[str]:
    """The element of one entry, indented with tabs."""
    indent = "\t" * depth
    parts = line.parts(session, gpu)
    if parts is None:
        value = line.value(session, gpu)
        if not value.startswith(BLOCK):
            return [f"{indent}<{line.tag}>{_escape(value)}</{line.tag}>"]
        inside = [f"{indent}\t{value[1:]}"] if value[1:] else []
        return [f"{indent}<{line.tag}>", *inside, f"{indent}</{line.tag}>"]
    found = [f"{indent}<{line.tag}>"]
    for part in parts:
        if part.tag:
            found += xml(part, session, gpu, depth + 1)
    return [*found, f"{indent}</{line.tag}>"]


def _escape(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
