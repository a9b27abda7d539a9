"""Values with a meaning of their own: what is not known yet, and what must not be shown.

``Unknown`` is a value, not a guess: the result of a command that a plan does not run. It spreads through expressions by returning
itself from every operator, and refuses (``UnknownValueError``) wherever a decision or a text would have to be made up. It does not
derive from Jinja's ``Undefined``: an unknown value *is* defined, and ``default()`` must not replace it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NoReturn

MASK = "********"


class UnknownValueError(Exception):
    """A decision or a text was asked of a value that is not known before the apply."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__(f"not known before apply: {unknown.because}")
        self.unknown = unknown


class Unknown:
    """A value that only the apply can know; ``because`` says what it waits for, e.g. ``running "make install"``."""

    __slots__ = ("because",)

    exists: ClassVar[bool] = False
    """True once there was any in this process: before that, nobody has to search nested data for one."""

    def __init__(self, because: str) -> None:
        self.because = because
        Unknown.exists = True

    def __repr__(self) -> str:
        return f"<unknown: {self.because}>"

    def _same(self, *_args: object, **_kwargs: object) -> Unknown:
        return self

    def _refuse(self, *_args: object) -> NoReturn:
        raise UnknownValueError(self)

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __deepcopy__(self, _memo: object) -> Unknown:
        return self

    def __copy__(self) -> Unknown:
        return self

    __call__ = __getitem__ = _same
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __invert__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
    __eq__ = _same  # type: ignore[assignment]  # comparing with an unknown gives unknown, not a bool
    __ne__ = _same  # type: ignore[assignment]
    __hash__ = object.__hash__
    __bool__ = __str__ = __iter__ = __len__ = __int__ = __float__ = __index__ = __contains__ = __format__ = _refuse


def find_unknown(value: object) -> Unknown | None:
    """The first ``Unknown`` inside nested lists, tuples and mappings, or None."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, dict):
        children: Iterable[object] = value.values()
    elif isinstance(value, (list, tuple, set)):
        children = value
    else:
        return None
    for child in children:
        found = find_unknown(child)
        if found is not None:
            return found
    return None


class Secrets:
    """Texts that must never be shown: vaulted values, passwords, fields of ``no_log`` tasks.

    Vaulted values have to flow through templates as ordinary text, so hiding cannot hang on a type; it happens where text leaves
    the program. Very short secrets are not masked inside other text, since that would blank out ordinary words.
    """

    SHORTEST = 4

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._ordered: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        """Hide this text, and each longer line of it, from now on."""
        self._hide([text])

    def add_data(self, value: Any) -> None:
        """The same with every text inside nested mappings and lists; their keys are names, and no secrets."""
        self._hide(_texts(value))

    def _hide(self, texts: Iterable[str]) -> None:
        parts = {part for text in texts for part in (text, text.strip(), *text.splitlines())}
        with self._lock:
            before = len(self._texts)
            self._texts.update(part for part in parts if len(part) >= self.SHORTEST)
            if len(self._texts) != before:
                self._ordered = tuple(sorted(self._texts, key=len, reverse=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordered)

    def mask(self, text: str) -> str:
        """The text with every secret in it replaced."""
        for secret in self._ordered:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def mask_data(self, value: Any) -> Any:
        """A copy of nested plain data with every secret in its texts (keys too) replaced."""
        if not self._ordered:
            return value
        return map_texts(value, self.mask)


def _texts(value: Any) -> Iterator[str]:
    """All texts inside nested mappings (without their keys) and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from _texts(child)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _texts(child)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of nested lists and mappings in which ``change`` was applied to every text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_texts(key, change): map_texts(child, change) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(child, change) for child in value]
    return value


class WrittenInt(int):
    """An integer that remembers how the file spells it (``0644``, ``1_000``): modes and versions depend on the spelling."""

    text: str

    def __new__(cls, value: int, text: str) -> WrittenInt:
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __deepcopy__(self, _memo: object) -> WrittenInt:
        return self


class WrittenFloat(float):
    """A float whose text form is what the file says: ``12.10`` stays ``12.10`` when rendered, and is a number in arithmetic."""

    text: str

    def __new__(cls, value: float, text: str) -> WrittenFloat:
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __str__(self) -> str:
        return self.text

    def __deepcopy__(self, _memo: object) -> WrittenFloat:
        return self


class UnsafeText(str):
    """Text marked ``!unsafe`` in a file: never evaluated as a template, wherever it goes."""
