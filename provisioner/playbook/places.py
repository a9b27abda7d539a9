"""Where parsed values stand: a structure parallel to the data, so that the data itself stays plain.

A place is one integer (line and column packed) for a scalar and a ``Places`` for a mapping or a list. ``Span`` objects are made only
when somebody asks: a playbook of ten thousand tasks has a million places and needs a handful of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from provisioner.diagnostics import Span

Place: TypeAlias = "int | Places"
NO_PLACE = 0

_COLUMN_BITS = 14
_COLUMN_MASK = (1 << _COLUMN_BITS) - 1


def pack(line: int, column: int) -> int:
    """Line and column, both counted from 0, as one integer; columns beyond 16,383 are cut to that."""
    return (line + 1) << _COLUMN_BITS | min(column + 1, _COLUMN_MASK)


class Places:
    """The places of a mapping's keys and values, or of a list's items; ``at`` is where it begins itself."""

    __slots__ = ("at", "items", "keys")

    def __init__(self, at: int, keys: dict[Hashable, int], items: dict[Hashable, Place] | list[Place]) -> None:
        self.at = at
        self.keys = keys
        self.items = items

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Places):
            return NotImplemented
        return (self.at, self.keys, self.items) == (other.at, other.keys, other.items)

    __hash__ = object.__hash__

    def below(self, key: Hashable) -> Place:
        """The place of a value or item; where there is none, this one's own."""
        if isinstance(self.items, dict):
            return self.items.get(key, self.at)
        if isinstance(key, int) and 0 <= key < len(self.items):
            return self.items[key]
        return self.at


def below(place: Place, *path: Hashable) -> Place:
    """Follow keys and indexes down as far as the places go."""
    for key in path:
        if not isinstance(place, Places):
            return place
        place = place.below(key)
    return place


def key_of(place: Place, key: Hashable) -> int:
    """The packed place of a mapping's key, or of the mapping when it has no such key."""
    if isinstance(place, Places):
        return place.keys.get(key, place.at)
    return place


def span(file: str, place: Place) -> Span:
    """The place as a ``Span``; the file as a whole when nothing better is known."""
    at = place.at if isinstance(place, Places) else place
    if not at:
        return Span(file)
    return Span(file, at >> _COLUMN_BITS, at & _COLUMN_MASK)


class TaskSpans(Mapping[str, Span]):
    """``Task.spans``: keyword → span of its key; ``args.NAME`` → span of an argument's key wherever the task gives it.

    ``value_of`` gives the place of a value instead. Arguments of free-form text share the place of that text.
    """

    __slots__ = ("_action", "_file", "_place")

    def __init__(self, file: str, place: Place, action: str = "") -> None:
        self._file = file
        self._place = place
        self._action = action

    def _sources(self) -> Iterator[Place]:
        """The mappings that hold arguments, the strongest first."""
        for key in (self._action, "args"):
            if isinstance(self._place, Places) and key in self._place.keys:
                yield self._place.below(key)

    def __getitem__(self, key: str) -> Span:
        place = self._place
        if isinstance(place, Places):
            if key in place.keys:
                return span(self._file, place.keys[key])
            if key == "args" and self._action in place.keys:
                return span(self._file, place.keys[self._action])
            if key.startswith("args."):
                return self._argument(key[5:], values=False)
            if "." in key:
                head, _, rest = key.partition(".")
                inner = place.below(head) if head in place.keys else None
                if isinstance(inner, Places) and rest in inner.keys:
                    return span(self._file, inner.keys[rest])
        raise KeyError(key)

    def _argument(self, name: str, *, values: bool) -> Span:
        fallback: Place | None = None
        for source in self._sources():
            if isinstance(source, Places) and name in source.keys:
                return span(self._file, source.below(name) if values else source.keys[name])
            if fallback is None and not isinstance(source, Places):
                fallback = source
        if fallback is None:
            raise KeyError(f"args.{name}")
        return span(self._file, fallback)

    def value_of(self, keys: Sequence[str]) -> Span | None:
        """The place of the value of a keyword (``["when"]``) or of an argument (``["args", "mode"]``)."""
        if len(keys) == 2 and keys[0] == "args":
            try:
                return self._argument(keys[1], values=True)
            except KeyError:
                return None
        if isinstance(self._place, Places) and keys[0] in self._place.keys:
            return span(self._file, below(self._place, *keys))
        return None

    def deep(self, key: str, *path: Hashable) -> Span | None:
        """The place of a part of a keyword's value, however deep."""
        if isinstance(self._place, Places) and key in self._place.keys:
            return span(self._file, below(self._place, key, *path))
        return None

    def __iter__(self) -> Iterator[str]:
        if isinstance(self._place, Places):
            yield from (str(key) for key in self._place.keys)
        for source in self._sources():
            if isinstance(source, Places):
                yield from (f"args.{key}" for key in source.keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class KeySpans(Mapping[str, Span]):
    """The spans of a mapping's keys, made when asked for."""

    __slots__ = ("_file", "_place")

    def __init__(self, file: str, place: Place) -> None:
        self._file = file
        self._place = place

    def _keys(self) -> dict[Hashable, int]:
        return self._place.keys if isinstance(self._place, Places) else {}

    def __getitem__(self, key: str) -> Span:
        return span(self._file, self._keys()[key])

    def __iter__(self) -> Iterator[str]:
        return (str(key) for key in self._keys())

    def __len__(self) -> int:
        return len(self._keys())
