"""Containers of variables whose texts are rendered when they are touched, not before.

Only text that a person wrote comes in here (see ``variables.Layer``); what was rendered once is kept. Methods that C code of Python
would bypass are all overridden, so a raw template never leaks out.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any, Protocol, TypeAlias

from provisioner.templating.natural import SCALARS

Path: TypeAlias = "tuple[Any, ...]"
"""Where a value stands: the name of the variable, then keys and indexes."""

Open: TypeAlias = Callable[[Any, Path], Any]
"""Renders a raw value, given where it stands."""


class Sealed(Protocol):
    """A value of a variable file that is decrypted on first use (``vault.Vaulted``)."""

    def reveal(self) -> str:
        """The text; raises ``InputError`` when no password fits."""
        ...


def dotted(path: Path) -> str:
    """A path as it is written in templates: ``users.0.name``."""
    return ".".join(map(str, path))


def has_marks(text: str) -> bool:
    """True when the text has anything that a template engine would act on."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


def is_shut(raw: Any) -> bool:
    """True when the raw value may hold a template."""
    kind = type(raw)
    if kind is str:
        return has_marks(raw)
    return kind is dict or kind is list or (kind not in SCALARS and hasattr(kind, "reveal"))


class LazyDict(dict[Any, Any]):
    """A mapping whose values are rendered on first use."""

    __slots__ = ("_open", "_path", "_shut")

    def __init__(self, raw: dict[Any, Any], shut: set[Any], opener: Open, path: Path) -> None:
        super().__init__(raw)
        self._shut = shut
        self._open = opener
        self._path = path

    def _touch(self, key: Any) -> None:
        if key not in self._shut:
            return
        super().__setitem__(key, self._open(super().__getitem__(key), (*self._path, key)))
        self._shut.discard(key)

    def _touch_all(self) -> None:
        for key in list(self._shut):
            self._touch(key)

    def __getitem__(self, key: Any) -> Any:
        self._touch(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._shut.discard(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        self._shut.discard(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """The rendered value of a key, or the default."""
        self._touch(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[Any]:  # overridden so that dict(x) and {**x} go through keys() and __getitem__
        return super().__iter__()

    def keys(self) -> KeysView[Any]:  # type: ignore[override]
        """The keys; they are never rendered."""
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """The rendered values."""
        return ValuesView(self)

    def items(self) -> ItemsView[Any, Any]:  # type: ignore[override]
        """The pairs, values rendered."""
        return ItemsView(self)

    def copy(self) -> dict[Any, Any]:
        """A plain mapping of the rendered values."""
        return dict(self.items())

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove a key and give its rendered value."""
        self._touch(key)
        self._shut.discard(key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        """Remove and give the last pair."""
        self._touch_all()
        return super().popitem()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The rendered value of a key, which is set to the default if it is not there."""
        self._touch(key)
        return super().setdefault(key, default)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set many keys."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __eq__(self, other: object) -> bool:
        self._touch_all()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __repr__(self) -> str:
        self._touch_all()
        return super().__repr__()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return dict, (self.copy(),)

    __hash__ = None


class LazyList(list[Any]):
    """A list whose elements are rendered on first use; changing it renders all of them first."""

    __slots__ = ("_open", "_path", "_shut")

    def __init__(self, raw: list[Any], shut: set[int], opener: Open, path: Path) -> None:
        super().__init__(raw)
        self._shut = shut
        self._open = opener
        self._path = path

    def _touch(self, index: int) -> None:
        if index not in self._shut:
            return
        super().__setitem__(index, self._open(super().__getitem__(index), (*self._path, index)))
        self._shut.discard(index)

    def _touch_all(self) -> None:
        for index in sorted(self._shut):
            self._touch(index)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(len(self)))]
        if self._shut and isinstance(key, int):
            self._touch(key + len(self) if key < 0 else key)
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __reversed__(self) -> Iterator[Any]:
        for index in range(len(self) - 1, -1, -1):
            yield self[index]

    def __contains__(self, value: object) -> bool:
        return any(item is value or item == value for item in self)

    def __add__(self, other: Any) -> Any:
        return list(self) + other

    def __radd__(self, other: Any) -> Any:
        return other + list(self)

    def __mul__(self, count: Any) -> Any:
        return list(self) * count

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        self._touch_all()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return list(self) < list(other)

    def __repr__(self) -> str:
        self._touch_all()
        return super().__repr__()

    def copy(self) -> list[Any]:
        """A plain list of the rendered elements."""
        return list(self)

    def index(self, *args: Any) -> int:
        """The position of a value."""
        return list(self).index(*args)

    def count(self, value: Any) -> int:
        """How often a value occurs."""
        return list(self).count(value)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return list, (list(self),)

    __hash__ = None


def _after_opening(name: str) -> Callable[..., Any]:
    """A method of ``list`` that moves elements: positions must not be rendered lazily after it."""
    original = getattr(list, name)

    def method(self: LazyList, *args: Any, **kwargs: Any) -> Any:
        self._touch_all()
        return original(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "clear",
    "sort",
    "reverse",
    "__setitem__",
    "__delitem__",
    "__iadd__",
    "__imul__",
):
    setattr(LazyList, _name, _after_opening(_name))


def wrap(raw: Any, opener: Open, path: Path) -> Any:
    """A raw container as a lazy one; as it is when nothing in it can be a template."""
    if type(raw) is dict:
        keys = {key for key, value in raw.items() if is_shut(value)}
        return LazyDict(raw, keys, opener, path) if keys else raw
    positions = {index for index, value in enumerate(raw) if is_shut(value)}
    return LazyList(raw, positions, opener, path) if positions else raw
