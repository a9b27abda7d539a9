"""How a module file declares itself; the controller turns this into validation, coercion, reference pages and JSON schema.

    class Params(Params):
        path: str = option("The file to manage.", aliases=("dest", "name"), kind="path")
        state: str = option("What it must be.", "file", choices=("file", "absent"))

    def run(node: Node, p: Params) -> dict: ...

    MODULE = Module(name="file", summary="...", params=Params, run=run, rules=(required_if("state", "link", "src"),))

The type of a field comes from its annotation (``str``, ``bool``, ``int``, ``float``, ``list[str]``, ``dict[str, Any]``, ``Any`` and
``X | None``); ``kind`` refines it where a type cannot say it:

    path      ``~`` and variables are expanded on the node
    mode      file mode: octal text, symbolic text or a number that was written in octal
    raw       any value, taken as it is
    content   text or data that becomes the content of a file; arrives as text or as a ``Content``
    file      a file on the controller; its content arrives as a ``Content`` and its path as the field's ``.name``
    duration  seconds
    size      bytes, "10M" allowed

A node builds ``Params(**values)`` from values the controller has already checked and coerced; no checking code runs there.
"""

from __future__ import annotations

from .record import MISSING, Option, Record, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = [
    "MISSING",
    "Module",
    "Option",
    "Params",
    "Rule",
    "exclusive",
    "one_of",
    "option",
    "required_by",
    "required_if",
    "together",
]


class Params(Record):
    """Base of a module's declared parameters."""


class Rule(Record):
    """A relation between parameters. ``kind``: exclusive, one_of, together, required_if, required_by."""

    kind: str
    names: tuple[str, ...]
    when: tuple[str, Any] = ("", None)
    any_of: bool = False


def exclusive(*names: str) -> Rule:
    """At most one of these may be given."""
    return Rule(kind="exclusive", names=names)


def one_of(*names: str) -> Rule:
    """At least one of these must be given."""
    return Rule(kind="one_of", names=names)


def together(*names: str) -> Rule:
    """All or none of these."""
    return Rule(kind="together", names=names)


def required_if(name: str, value: Any, *needed: str, any_of: bool = False) -> Rule:
    """When ``name`` has this value all (or any) of ``needed`` must be given."""
    return Rule(kind="required_if", names=needed, when=(name, value), any_of=any_of)


def required_by(name: str, *needed: str) -> Rule:
    """Giving ``name`` asks for all of ``needed``."""
    return Rule(kind="required_by", names=needed, when=(name, None))


class Module(Record):
    """A module: its names, its declared parameters and its one function against ``Node``.

    free_form: the parameter that takes a free-form argument (``command: uptime``), or "".
    extra: the parameter that collects undeclared ones (``set_fact``, ``meta``), or "".
    collection: where Ansible keeps it: the full name is collection + name.
    where: "node", or "controller" when an action of the engine does the work and ``run`` is None.
    resource: parameters that name what the module touches: (kind, parameter), kinds path, unit, package, user, group, setting.
        After a step that had to be deferred, only these are taken as unknown; without any, everything is.
    lenient: parameters it does not have are passed over with a warning, as Ansible's action of this name does.
    reads_only: it changes nothing, so that a step which cannot be read yet has an unknown result and leaves no doubt behind.
    """

    name: str
    summary: str
    params: type[Params]
    run: Callable[..., Any] = None  # type: ignore[assignment]
    rules: tuple[Rule, ...] = ()
    free_form: str = ""
    extra: str = ""
    collection: str = "ansible.builtin"
    aliases: tuple[str, ...] = ()
    where: str = "node"
    resource: tuple[tuple[str, str], ...] = ()
    lenient: bool = False
    reads_only: bool = False
    examples: str = ""
    notes: tuple[str, ...] = ()
