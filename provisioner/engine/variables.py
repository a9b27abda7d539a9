"""The scope of a task on a host: its variables as layers of the table of precedence.

Layers that belong to a host are live views, so a scope made before a result arrived sees it afterwards; what is still on its way is
found as pending, and touching it raises ``NeedsResult``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.engine.expressions import Scope
from provisioner.engine.inherit import Inherited
from provisioner.engine.signals import NeedsFlush
from provisioner.engine.state import FACTS, HostState
from provisioner.engine.targets import CONNECTION_VARIABLES
from provisioner.inventory import model as inventory_model
from provisioner.playbook.model import RoleSource
from provisioner.templating import variables as table
from provisioner.templating.variables import PENDING, Layer, Level

if TYPE_CHECKING:
    from provisioner.engine.play import PlayRun
    from provisioner.engine.run import Run
    from provisioner.engine.walk import HostWalk

INVENTORY_LEVELS = {
    inventory_model.GROUP_VARS: Level.INVENTORY_GROUP,
    inventory_model.INVENTORY_ALL: Level.INVENTORY_GROUP_ALL,
    inventory_model.PLAYBOOK_ALL: Level.PLAYBOOK_GROUP_ALL,
    inventory_model.INVENTORY_GROUPS: Level.INVENTORY_GROUP_FILES,
    inventory_model.PLAYBOOK_GROUPS: Level.PLAYBOOK_GROUP_FILES,
    inventory_model.HOST_VARS: Level.INVENTORY_HOST,
    inventory_model.INVENTORY_HOSTS: Level.INVENTORY_HOST_FILES,
    inventory_model.PLAYBOOK_HOSTS: Level.PLAYBOOK_HOST_FILES,
}
_NEVER_FACTS = frozenset({*CONNECTION_VARIABLES, "ansible_check_mode", "ansible_async_dir", "ansible_shell_type"})


class LiveValues(Mapping[str, Any]):
    """Registered results and facts set by tasks; names of results still on their way are pending."""

    __slots__ = ("_host",)

    def __init__(self, host: HostState) -> None:
        self._host = host

    def __contains__(self, name: object) -> bool:
        return name in self._host.values or name in self._host.pending

    def __getitem__(self, name: str) -> Any:
        return PENDING if name in self._host.pending else self._host.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._host.values, **dict.fromkeys(self._host.pending)})

    def __len__(self) -> int:
        return len({*self._host.values, *self._host.pending})


class LiveFacts(Mapping[str, Any]):
    """Facts under ``ansible_facts`` and as variables of their own; all pending while a step that reads them is on its way."""

    __slots__ = ("_host",)

    def __init__(self, host: HostState) -> None:
        self._host = host

    def _on_its_way(self, name: str) -> bool:
        if not self._host.unsettled:
            return False
        return name == FACTS or (
            name.startswith("ansible_") and name not in _NEVER_FACTS and not name.startswith(("ansible_become", "ansible_sudo"))
        )

    def __contains__(self, name: object) -> bool:
        return name == FACTS or name in self._host.injected or (isinstance(name, str) and self._on_its_way(name))

    def __getitem__(self, name: str) -> Any:
        if self._on_its_way(name):
            return PENDING
        return self._host.facts if name == FACTS else self._host.injected[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._host.injected, FACTS: None})

    def __len__(self) -> int:
        return len(self._host.injected) + 1


class Magic(Mapping[str, Any]):
    """Magic variables of a task; those that cost something are computed when touched."""

    __slots__ = ("_known", "_lazy")

    def __init__(self, known: Mapping[str, Any], lazy: Mapping[str, Callable[[], Any]]) -> None:
        self._known = known
        self._lazy = lazy

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._lazy

    def __getitem__(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        return self._lazy[name]()

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._lazy})

    def __len__(self) -> int:
        return len({*self._known, *self._lazy})


class Peers(Mapping[str, table.Scope]):
    """What ``hostvars`` shows: every host of the inventory, each scope made when asked for."""

    def __init__(self, run: Run, play: PlayRun | None) -> None:
        self._run = run
        self._play = play

    def __getitem__(self, host: str) -> table.Scope:
        if host not in self:
            raise KeyError(host)
        return self._run.host_scope(host, self._play)

    def __contains__(self, host: object) -> bool:
        return isinstance(host, str) and self._run.inventory.host(host) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._run.inventory.hosts))

    def __len__(self) -> int:
        return len(self._run.inventory.hosts)


def inventory_layers(run: Run, host: str, folder: Path) -> list[Layer]:
    """The variables that inventory files and folders beside inventory and playbook give a host."""
    if run.inventory.host(host) is None:
        return []
    return [
        Layer(INVENTORY_LEVELS[source.level], source.values, source.origin or source.subject, spans=source.spans)
        for source in run.inventory.variables(host, folder)
    ]


def host_layers(host: HostState) -> list[Layer]:
    """What is learnt of a host during the run."""
    return [
        Layer(Level.FACTS, LiveFacts(host), "facts"),
        Layer(Level.INCLUDE_VARS, host.included, "include_vars"),
        Layer(Level.SET_FACT, LiveValues(host), "set_fact and register"),
    ]


def role_layers(role: RoleSource, *, params: bool) -> list[Layer]:
    """What a role brings."""
    layers = [
        Layer(Level.ROLE_DEFAULTS, role.defaults, f"defaults of role {role.name}"),
        Layer(Level.ROLE_VARS, role.vars, f"vars of role {role.name}"),
    ]
    if params and role.params:
        layers.append(Layer(Level.ROLE_PARAMS, role.params, f"parameters of role {role.name}"))
    return layers


def place_layers(inherited: Inherited) -> tuple[Layer, ...]:
    """What a place in a play brings: its roles, the vars of blocks and task, the parameters of includes; computed once."""
    if inherited.layers is None:
        layers: list[Layer] = []
        for role in inherited.roles:
            # What a role depends on is near to it: those variables win over the ones of the roles around it.
            for needed in role.needs if role is inherited.role else ():
                layers += role_layers(needed, params=False)
            layers += role_layers(role, params=True)
        if inherited.role is not None:
            layers.append(Layer(Level.MAGIC, role_magic(inherited.roles), "magic"))
        layers += [Layer(Level.BLOCK_VARS, values, "vars of block or task") for values in inherited.vars]
        around = inherited.outer.directives.environment if inherited.outer is not None else ()
        if around:
            layers.append(Layer(Level.TASK_VARS, {"environment": list(around)}, "environment"))
        layers += [Layer(Level.INCLUDE_PARAMS, values, "vars of the include") for values in inherited.params]
        inherited.layers = tuple(layers)
    return inherited.layers


def role_magic(roles: Sequence[RoleSource]) -> dict[str, Any]:
    """Magic variables inside a role; ``roles`` are those around the place, outermost first."""
    role = roles[-1]
    name = f"{role.collection}.{role.name}" if role.collection else role.name
    magic: dict[str, Any] = {"role_name": role.name, "role_path": str(role.path), "ansible_role_name": name}
    parents = [outer for inner, outer in zip(roles[:0:-1], roles[-2::-1], strict=True) if inner.name not in outer.dependencies]
    if parents:
        magic["ansible_parent_role_names"] = [outer.name for outer in parents]
        magic["ansible_parent_role_paths"] = [str(outer.path) for outer in parents]
    if role.collection:
        magic["ansible_collection_name"] = role.collection
    return magic


class Scopes:
    """Makes scopes for the hosts of a play."""

    def __init__(self, play: PlayRun) -> None:
        self._play = play
        self._peers = Peers(play.run, play)
        self._bases: dict[str, tuple[int, tuple[Layer, ...]]] = {}

    def of(self, walk: HostWalk, inherited: Inherited) -> Scope:
        """The scope at a place, for the host of the walk."""
        play, run, name = self._play, self._play.run, walk.host.name
        layers = [*self.base(walk.host), *play.file_layers.get(name, ())]
        for role in walk.roles.public:
            layers += role_layers(role, params=False)
        layers += place_layers(inherited)
        paths = search_paths(play, inherited)
        layers += [play.magic(walk), Layer(Level.MAGIC, {"ansible_search_path": list(map(str, paths))}, "magic")]
        scope = table.Scope(
            layers,
            host=name,
            groups=run.groups,
            group_names=run.group_names(name),
            peers=self._peers,
            on_hostvars=lambda other: self._touch(walk, other),
            merge=run.merge_hashes,
        )
        if walk.overlay:
            scope = scope.plus(walk.overlay, origin="loop of the include")
        return Scope(run.expressions, scope, paths)

    def base(self, host: HostState) -> tuple[Layer, ...]:
        """What does not depend on the place: inventory, what was learnt, the play, extra variables."""
        version = self._play.run.inventory_version
        known = self._bases.get(host.name)
        if known is None or known[0] != version:
            layers = (
                *inventory_layers(self._play.run, host.name, self._play.play.folder),
                *host_layers(host),
                *self._play.layers,
            )
            known = self._bases[host.name] = (version, layers)
        return known[1]

    def _touch(self, walk: HostWalk, other: str) -> None:
        """Another host's variables are looked at: wait until it has done what stands before this place."""
        if other == walk.host.name or not self._play.meets:
            return
        if walk.batch:
            raise NeedsFlush
        self._play.clocks.wait_for([other], walk.place)


def search_paths(play: PlayRun, inherited: Inherited) -> Sequence[Path]:
    """Folders in which ``files/``, ``templates/`` and ``vars/`` are looked for: the roles from the inside out, the task's, the play's."""
    if inherited.paths is None:
        roles = [role.path for role in reversed(inherited.roles)]
        near = inherited.near
        own = [Path(near).parent] if near is not None and not near.startswith("<") else []
        # Absolute, since what a lookup finds in them may be looked for again from another folder.
        inherited.paths = tuple(dict.fromkeys(path.absolute() for path in (*roles, *own, *inherited.beside, play.play.folder)))
    return inherited.paths
