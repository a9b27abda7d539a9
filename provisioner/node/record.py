"""Frozen records of named fields: what ``dataclass(frozen=True, kw_only=True)`` is, without its cost at start.

Importing ``dataclasses`` and building some sixty classes with it costs an agent more time than a whole run that changes nothing.
Type checkers see these classes as frozen keyword-only dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>", "__bool__": lambda self: False})()


class Option:
    """The declaration of one field: see ``declare.option`` for the meaning of each attribute."""

    __slots__ = (
        "aliases",
        "choices",
        "default",
        "elements",
        "examples",
        "factory",
        "help",
        "kind",
        "name",
        "secret",
        "since",
    )

    def __init__(
        self,
        help: str,
        default: Any = MISSING,
        aliases: tuple[str, ...] = (),
        choices: tuple[Any, ...] = (),
        kind: str = "",
        elements: str = "",
        secret: bool = False,
        examples: tuple[Any, ...] = (),
        since: str = "",
    ) -> None:
        self.name = ""
        self.help = help
        self.default = default
        self.aliases = aliases
        self.choices = choices
        self.kind = kind
        self.elements = elements
        self.secret = secret
        self.examples = examples
        self.since = since


def option(help: str, default: Any = MISSING, **details: Any) -> Any:
    """Declare a field with its documentation; typed ``Any`` so that ``path: str = option(...)`` type-checks."""
    return Option(help, default, **details)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, Option))
class Record:
    """A frozen value with named fields, compared by value; subclasses declare ``field: type`` or ``field: type = default``."""

    __fields__: dict[str, Option] = {}

    def __init_subclass__(cls) -> None:
        fields: dict[str, Option] = {}
        for base in cls.__bases__:
            for name, known in getattr(base, "__fields__", {}).items():
                fields.setdefault(name, known)
        for name in cls.__dict__.get("__annotations__", ()):
            if name.startswith("__") or name.isupper():
                continue
            declared = cls.__dict__.get(name, MISSING)
            if not isinstance(declared, Option):
                declared = Option("", declared)
            declared.name = name
            fields[name] = declared
            if declared.default is not MISSING:
                setattr(cls, name, declared.default)
            elif name in cls.__dict__:
                delattr(cls, name)
        cls.__fields__ = fields

    def __init__(self, **values: Any) -> None:
        fields = self.__fields__
        for name in values:
            if name not in fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        for name, declared in fields.items():
            if name not in values:
                if declared.default is MISSING:
                    raise TypeError(f"{type(self).__name__} needs {name!r}")
                values[name] = declared.default
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), repr(sorted(self.__dict__.items()))))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"

    def evolve(self, **values: Any) -> Self:
        """A copy with some fields set."""
        merged = dict(self.__dict__)
        merged.update(values)
        return type(self)(**merged)

    def as_dict(self) -> dict[str, Any]:
        """The fields as a new mapping, in declaration order."""
        return dict(self.__dict__)
