"""What an expression gets for a name, attribute or element that does not exist.

``Missing`` can be handed around (``default``, ``is defined``, ``map(attribute=...)``), but every attempt to use it raises
``MissingValueError``. Looking something up in it gives the same ``Missing`` again, so ``a.b.c | default(1)`` works whichever part of
the chain is absent, and an error names the first one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.exceptions import UndefinedError
from jinja2.runtime import Undefined
from jinja2.utils import missing as nothing

from provisioner.errors import InputError


class MissingValueError(UndefinedError):
    """A missing value was used; ``missing`` knows what it is."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.headline)
        self.missing = missing


class Missing(Undefined):
    """The absent value.

    ``cause`` is the failure of the variable it stands for. ``broken`` says that this failure was no missing value but a fault in the
    variable's own text: then even ``is defined`` and ``default`` raise it, since an answer would hide the fault. ``ciphertext`` is set
    for a vaulted value that no password of the run fits.
    """

    __slots__ = ("broken", "cause", "ciphertext")

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = nothing,
        name: Any = None,
        exc: type[TemplateError] = UndefinedError,
        *,
        cause: InputError | None = None,
        broken: bool = False,
        ciphertext: str | None = None,
    ) -> None:
        super().__init__(hint, obj, name, exc)  # type: ignore[arg-type]
        self.cause = cause
        self.broken = broken
        self.ciphertext = ciphertext

    @property
    def owner(self) -> Any:
        """What was searched, or ``nothing`` when a variable is meant."""
        return self._undefined_obj

    @property
    def name(self) -> Any:
        """The name, attribute or index that was searched."""
        return self._undefined_name

    @property
    def hint(self) -> str | None:
        """The message given by whoever made it, e.g. ``undef(hint=...)``."""
        return self._undefined_hint

    @property
    def headline(self) -> str:
        """One line that says what is missing, without its place."""
        if self.cause is not None:
            return self.cause.message
        if self.hint:
            return self.hint
        if self.owner is nothing:
            return f"{str(self.name)!r} is undefined"
        return f"{self.name!r} is missing in a value of type {type(self.owner).__name__}"

    def check(self) -> None:
        """Raise the fault this value hides, if there is one; otherwise nothing happens."""
        if self.broken and self.cause is not None:
            raise self.cause

    def refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Raise: a value was needed."""
        raise MissingValueError(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _key: object) -> Missing:  # type: ignore[override]
        return self

    def __repr__(self) -> str:
        return f"<missing: {self.headline}>"

    __call__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = refuse
    __int__ = __float__ = __complex__ = __str__ = __len__ = __iter__ = __bool__ = __contains__ = __hash__ = refuse
