"""Where variables come from and which definition wins: the table of precedence, layers, and the scope a task sees.

Rendering is the work of ``Templar``; here are raw values only. The values of a layer may be a live view: they are looked up each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from provisioner.diagnostics import Span


class Level(Enum):
    """Ansible's levels of precedence, weakest first, and above them the variables nobody can override.

    Texts of levels that people write are templates; what comes from nodes or was rendered before is data and never evaluated.
    """

    COMMAND_LINE = (1, "command line values", True)
    ROLE_DEFAULTS = (2, "role defaults", True)
    INVENTORY_GROUP = (3, "group variables of the inventory file", True)
    INVENTORY_GROUP_ALL = (4, "group_vars/all beside the inventory", True)
    PLAYBOOK_GROUP_ALL = (5, "group_vars/all beside the playbook", True)
    INVENTORY_GROUP_FILES = (6, "group_vars/* beside the inventory", True)
    PLAYBOOK_GROUP_FILES = (7, "group_vars/* beside the playbook", True)
    INVENTORY_HOST = (8, "host variables of the inventory file", True)
    INVENTORY_HOST_FILES = (9, "host_vars/* beside the inventory", True)
    PLAYBOOK_HOST_FILES = (10, "host_vars/* beside the playbook", True)
    FACTS = (11, "facts and cached set_fact", False)
    PLAY_VARS = (12, "vars of the play", True)
    PLAY_PROMPT = (13, "vars_prompt of the play", False)
    PLAY_FILES = (14, "vars_files of the play", True)
    ROLE_VARS = (15, "role vars", True)
    BLOCK_VARS = (16, "vars of the block", True)
    TASK_VARS = (17, "vars of the task", True)
    INCLUDE_VARS = (18, "include_vars", True)
    SET_FACT = (19, "set_fact and registered results", False)
    ROLE_PARAMS = (20, "role parameters", True)
    INCLUDE_PARAMS = (21, "parameters of the include", True)
    EXTRA = (22, "extra variables (-e)", True)
    MAGIC = (23, "magic variables", False)

    def __init__(self, rank: int, title: str, trusted: bool) -> None:
        self.rank = rank
        self.title = title
        self.trusted = trusted


LEVELS: tuple[Level, ...] = tuple(Level)


class NeedsResult(Exception):
    """A variable was touched whose value is still on its way from the node; evaluate again when it is here."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name!r} has not arrived yet")
        self.name = name


class Carried(Exception):
    """Takes an exception of the engine's hooks unharmed through templates, filters and lookups; unpacked when an evaluation ends."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Pending:
    """Stands in a layer for a value that is still on its way; touching it raises ``NeedsResult``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<pending>"


PENDING = Pending()


class PendingNames(Mapping[str, Any]):
    """Values of a layer of which some names, or all names with certain prefixes (``ansible_`` while facts are read), are pending."""

    def __init__(self, names: Iterable[str] = (), prefixes: Sequence[str] = (), known: Mapping[str, Any] | None = None) -> None:
        self._known = {**(known or {}), **dict.fromkeys(names, PENDING)}
        self._prefixes = tuple(prefixes)

    def __contains__(self, name: object) -> bool:
        return name in self._known or (isinstance(name, str) and bool(self._prefixes) and name.startswith(self._prefixes))

    def __getitem__(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        if name in self:
            return PENDING
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


Places = Mapping[str, Span] | Callable[..., Span | None]


@dataclass(frozen=True)
class Layer:
    """Variables of one origin.

    ``origin`` names it for people (a file, ``roles/x/defaults/main.yml``, ``play``). ``spans`` gives places: a mapping from dotted paths
    (``users.0.name``) to spans, or a function that takes the path as arguments. ``trusted`` is that of the level unless said otherwise:
    only the texts of trusted layers are templates.
    """

    level: Level
    values: Mapping[str, Any]
    origin: str = ""
    trusted: bool | None = None
    spans: Places = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.trusted is None:
            object.__setattr__(self, "trusted", self.level.trusted)

    def place(self, path: Sequence[Any]) -> Span | None:
        """Where the value at this path is written; the nearest enclosing place that is known."""
        if callable(self.spans):
            return self.spans(*path)
        for depth in range(len(path), 0, -1):
            found = self.spans.get(".".join(map(str, path[:depth])))
            if found is not None:
                return found
        return Span(self.origin) if "/" in self.origin or self.origin.endswith((".yml", ".yaml")) else None


@dataclass(frozen=True)
class Found:
    """A raw value and the layer it stands in."""

    value: Any
    layer: Layer


@dataclass(frozen=True)
class Definition:
    """One definition of a variable, for ``explain``."""

    name: str
    level: Level
    origin: str
    value: Any
    wins: bool
    span: Span | None = None


class Scope:
    """The variables a task sees on a host.

    ``peers`` gives the scopes of other hosts by name (for ``hostvars``; it may compute them when asked), and ``on_hostvars`` is called
    with the name whenever variables of another host are touched, before ``peers`` is asked. ``merge`` is ``hash_behaviour = merge``.
    """

    __slots__ = ("groups", "host", "layers", "merge", "on_hostvars", "peers")

    def __init__(
        self,
        layers: Iterable[Layer] = (),
        *,
        host: str = "",
        groups: Mapping[str, Sequence[str]] | None = None,
        group_names: Sequence[str] = (),
        peers: Mapping[str, Scope] | None = None,
        on_hostvars: Callable[[str], None] | None = None,
        merge: bool = False,
    ) -> None:
        magic = [Layer(Level.MAGIC, _identity(host, groups or {}, group_names), "inventory")] if host else []
        self.layers: tuple[Layer, ...] = tuple(sorted([*layers, *magic], key=_rank))
        self.host = host
        self.groups = groups or {}
        self.peers: Mapping[str, Scope] = peers if peers is not None else {}
        self.on_hostvars = on_hostvars
        self.merge = merge

    def child(self, *layers: Layer) -> Scope:
        """This scope with more layers; among layers of one level the later one wins."""
        scope = Scope.__new__(Scope)
        scope.layers = tuple(sorted([*self.layers, *layers], key=_rank))
        scope.host, scope.groups, scope.peers = self.host, self.groups, self.peers
        scope.on_hostvars, scope.merge = self.on_hostvars, self.merge
        return scope

    def plus(self, variables: Mapping[str, Any], *, origin: str = "loop") -> Scope:
        """This scope with data on top of everything but magic variables: loop variables, a result under judgement."""
        return self.child(Layer(Level.EXTRA, variables, origin, trusted=False))

    def find(self, name: str) -> Found | None:
        """The winning definition, raw; a pending value is found as ``PENDING``."""
        for layer in reversed(self.layers):
            if name in layer.values:
                return Found(layer.values[name], layer)
        return None

    def find_all(self, names: Iterable[str]) -> dict[str, Found]:
        """The winning definitions of those names that are defined: one walk through the layers for all of them."""
        winners: dict[str, Layer] = {}
        for layer in self.layers:
            values = layer.values
            winners.update((name, layer) for name in names if name in values)
        return {name: Found(layer.values[name], layer) for name, layer in winners.items()}

    def raw(self, name: str, default: Any = None) -> Any:
        """The winning value as it is written, or the default."""
        found = self.find(name)
        return default if found is None else found.value

    def definitions(self, name: str) -> list[Found]:
        """All definitions, weakest first."""
        return [Found(layer.values[name], layer) for layer in self.layers if name in layer.values]

    def names(self) -> set[str]:
        """All names that are defined here."""
        return {str(name) for layer in self.layers for name in layer.values}

    def place(self, path: Sequence[Any]) -> Span | None:
        """Where the winning definition is written."""
        found = self.find(path[0]) if path else None
        return None if found is None else found.layer.place(path)

    def explain(self, name: str) -> list[Definition]:
        """All definitions in order of precedence, weakest first; the last one wins."""
        found = self.definitions(name)
        return [
            Definition(name, item.layer.level, item.layer.origin, item.value, item is found[-1], item.layer.place((name,)))
            for item in found
        ]


def _rank(layer: Layer) -> int:
    return layer.level.rank


def _identity(host: str, groups: Mapping[str, Sequence[str]], group_names: Sequence[str]) -> dict[str, Any]:
    return {
        "inventory_hostname": host,
        "inventory_hostname_short": host.split(".", 1)[0],
        "groups": groups,
        "group_names": list(group_names),
    }
