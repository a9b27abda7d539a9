"""The declared parameters of a module, resolved: what each is called, which type it takes, what is allowed.

Annotations in module files are texts that a node never evaluates; here, on the controller, they are evaluated once for each class.
"""

from __future__ import annotations

import builtins
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.node.declare import MISSING, Module, Option, Params

KINDS = ("path", "mode", "raw", "content", "file", "duration", "size", "json")
"""What ``kind=`` of an option may say; ``json`` takes data and gives it on as JSON text."""


@dataclass(frozen=True)
class Field:
    """One parameter. ``type``: str, bool, int, float, list, dict, or one of ``KINDS``; ``elements`` likewise for lists."""

    name: str
    type: str
    help: str
    required: bool
    default: Any = None
    elements: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    secret: bool = False
    examples: tuple[Any, ...] = ()
    since: str = ""
    whole: bool = False
    """For durations: whether the result is a whole number."""

    @property
    def shown_type(self) -> str:
        """For people: ``list of str``."""
        return f"list of {self.elements}" if self.type == "list" and self.elements not in ("", "raw") else self.type


class _Names(dict[str, Any]):
    """Names an annotation may use without importing them at run time: all of ``typing``, and anything else as ``Any``."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        super().__init__()
        self._module = module

    def __missing__(self, name: str) -> Any:
        if name in self._module or hasattr(builtins, name):
            raise KeyError(name)
        return getattr(typing, name, Any)


_FIELDS: dict[int, tuple[type[Params], Mapping[str, Field]]] = {}


def fields_of(params: type[Params]) -> Mapping[str, Field]:
    """The fields of a parameter class by name, in the order of their declaration.

    Raises ``TypeError`` naming class and field when a declaration makes no sense: that is a mistake in the module file.
    """
    known = _FIELDS.get(id(params))
    if known is not None:
        return known[1]
    found = {}
    for name, option in params.__fields__.items():
        try:
            found[name] = _field(name, option, _annotation(params, name))
        except (TypeError, SyntaxError, NameError) as error:
            raise TypeError(f"{params.__module__}.{params.__qualname__}.{name}: {error}") from error
    _FIELDS[id(params)] = (params, types.MappingProxyType(found))  # the class is kept, so that its id stays its own
    return _FIELDS[id(params)][1]


_SPELLINGS: dict[int, tuple[Module, Mapping[str, str]]] = {}


def spellings(module: Module) -> Mapping[str, str]:
    """Every accepted option name → the field it sets."""
    known = _SPELLINGS.get(id(module))
    if known is not None:
        return known[1]
    names: dict[str, str] = {}
    for field in fields_of(module.params).values():
        if field.name == module.extra:
            continue
        names[field.name] = field.name
        names.update(dict.fromkeys(field.aliases, field.name))
    _SPELLINGS[id(module)] = (module, names)
    return names


def _annotation(params: type[Params], name: str) -> Any:
    for owner in params.__mro__:
        written = owner.__dict__.get("__annotations__", {}).get(name)
        if written is not None:
            break
    else:
        return Any
    if not isinstance(written, str):
        return written
    module = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    return eval(written, dict(module), _Names(module))


def _field(name: str, option: Option, annotation: Any) -> Field:
    kind, elements, choices = _type(annotation)
    if option.kind and option.kind not in KINDS:
        raise TypeError(f"kind {option.kind!r} is none of {', '.join(KINDS)}")
    whole = kind == "int"
    if kind == "list":
        elements = option.elements or (option.kind if option.kind not in ("", "raw", "json") else elements)
        if option.kind in ("raw", "json"):
            kind = option.kind
    elif option.kind:
        kind = option.kind
    default = None if option.default is MISSING else option.default
    return Field(
        name=name,
        type=kind,
        help=option.help,
        required=option.default is MISSING,
        default=default,
        elements=elements,
        aliases=tuple(option.aliases),
        choices=tuple(option.choices) or choices,
        secret=option.secret,
        examples=tuple(option.examples),
        since=option.since,
        whole=whole,
    )


_PLAIN = {str: "str", bool: "bool", int: "int", float: "float", Any: "raw", object: "raw", bytes: "content"}


def _type(annotation: Any) -> tuple[str, str, tuple[Any, ...]]:
    """Type, element type and choices of an annotation."""
    if annotation in _PLAIN:
        return _PLAIN[annotation], "", ()
    origin = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = [item for item in arguments if item is not type(None)]
        if len(inner) == 1:
            return _type(inner[0])
        return "raw", "", ()
    if origin is typing.Literal:
        return _PLAIN.get(type(arguments[0]), "raw"), "", arguments
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "dict", "", ()
    if (isinstance(origin, type) and issubclass(origin, (list, tuple, set, frozenset))) or origin in _SEQUENCES:
        element, _, choices = _type(arguments[0]) if arguments else ("raw", "", ())
        return "list", element, choices
    raise TypeError(f"no option can have the type {annotation!r}")


_SEQUENCES = (typing.Sequence, typing.get_origin(typing.Sequence[str]), typing.get_origin(typing.Iterable[str]))
