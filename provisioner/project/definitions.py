"""Definitions of variables that can be told from the files: inventory, plays, roles, command line; what ``explain`` and ``verify`` look at.

Facts, registered results and ``set_fact`` belong to a run and are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Span
from provisioner.engine.variables import INVENTORY_LEVELS
from provisioner.inventory import Inventory
from provisioner.playbook.model import Block, Entry, Play, Playbook, Role, RoleSource
from provisioner.templating.variables import Layer, Level, Scope

if TYPE_CHECKING:
    from provisioner.engine.run import Run
    from provisioner.project.session import Session
    from provisioner.templating.templar import Templar


def static_scope(
    inventory: Inventory, host: str, playbooks: Sequence[Playbook], extra_vars: Mapping[str, Any], limit_roles: Iterable[str] | None = None
) -> Scope:
    """The scope of a host over the plays that select it; ``limit_roles`` keeps only these roles' variables (None: all)."""
    plays = plays_of(inventory, host, playbooks)
    folder = plays[0].folder if plays else None
    layers = [
        Layer(INVENTORY_LEVELS[source.level], source.values, source.origin or source.subject, spans=source.spans)
        for source in inventory.variables(host, folder)
    ]
    wanted = None if limit_roles is None else set(limit_roles)
    for play in plays:
        if play.directives.vars:
            layers.append(Layer(Level.PLAY_VARS, play.directives.vars, f"play {play.label}", spans=_below(play.spans, "vars")))
        for role in roles_of(play):
            if wanted is None or role.name in wanted:
                layers += _role_layers(role)
    if extra_vars:
        layers.append(Layer(Level.EXTRA, extra_vars, "-e on the command line"))
    return Scope(layers, host=host, groups=inventory.groups_dict(), group_names=inventory.group_names(host))


class RunVariables:
    """The variables of hosts after a run, for the tests of ``verify``: (host, role) → a mapping that renders what is looked at."""

    def __init__(self, session: Session, run: Run, playbooks: Sequence[Playbook]) -> None:
        self._session = session
        self._run = run
        self._playbooks = playbooks

    def __call__(self, host: str, role: str) -> Mapping[str, Any]:
        """What a task of the role would see; an empty role stands for the play."""
        from provisioner.engine.variables import Peers, host_layers

        session = self._session
        scope = static_scope(session.inventory, host, self._playbooks, session.extra_vars, self._seen_by(role))
        scope = scope.child(*host_layers(self._run.host(host)), *self._included(role))
        scope.peers = Peers(self._run, None)
        return Rendered(session.templar(scope))

    def _seen_by(self, role: str) -> set[str]:
        """The roles whose variables a role sees: itself and those it depends on, at any depth."""
        needs = {source.name: source.dependencies for playbook in self._playbooks for play in playbook.plays for source in roles_of(play)}
        seen: set[str] = set()
        waiting = [role]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += needs.get(name, ())
        return seen

    def _included(self, role: str) -> list[Layer]:
        """The variables of a role that no play names, because it is included while the play runs."""
        if not role or any(source.name == role for playbook in self._playbooks for play in playbook.plays for source in roles_of(play)):
            return []
        playbook = self._playbooks[0]
        loaded = self._session.loader.load_role(role, near=str(playbook.path), folder=playbook.path.absolute().parent)
        return list(_role_layers(loaded.source))


class Rendered(Mapping[str, Any]):
    """Variables by name; each is rendered when it is asked for. A template that cannot be rendered raises ``InputError``."""

    def __init__(self, templar: Templar) -> None:
        self._templar = templar

    def __getitem__(self, name: str) -> Any:
        if self._templar.scope.find(name) is None:
            raise KeyError(name)
        return self._templar.value(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._templar.scope.names())

    def __len__(self) -> int:
        return len(self._templar.scope.names())


def plays_of(inventory: Inventory, host: str, playbooks: Sequence[Playbook]) -> list[Play]:
    """The plays that select a host, or may."""
    return [play for playbook in playbooks for play in playbook.plays if _selects(inventory, play, host)]


def _selects(inventory: Inventory, play: Play, host: str) -> bool:
    from provisioner.project.preflight import literal_hosts

    pattern = literal_hosts(play)
    return pattern is None or host in inventory.match(pattern)


def _below(spans: Mapping[str, Span], key: str) -> dict[str, Span]:
    """The places of what stands below a keyword."""
    return {name.partition(".")[2]: span for name, span in spans.items() if name.startswith(key + ".")}


def roles_of(play: Play) -> list[RoleSource]:
    """The roles of a play in the order in which they run, dependencies first, each use once."""
    found: dict[int, RoleSource] = {}
    for role in play.roles:
        for source in _with_dependencies(role):
            found.setdefault(id(source), source)
    for entries in (play.pre_tasks, play.tasks, play.post_tasks):
        for source in _inside(entries):
            found.setdefault(id(source), source)
    return list(found.values())


def _with_dependencies(role: Role) -> Iterator[RoleSource]:
    for dependency in role.dependencies:
        yield from _with_dependencies(dependency)
    yield role.source


def _inside(entries: Iterable[Entry]) -> Iterator[RoleSource]:
    for entry in entries:
        if isinstance(entry, Block):
            if entry.role is not None:
                yield entry.role
            yield from _inside((*entry.tasks, *entry.rescue, *entry.always))


def _role_layers(role: RoleSource) -> Iterator[Layer]:
    for level, values, what, prefix in (
        (Level.ROLE_DEFAULTS, role.defaults, "defaults", "defaults."),
        (Level.ROLE_VARS, role.vars, "vars", ""),
        (Level.ROLE_PARAMS, role.params, "parameters", None),
    ):
        if values:
            known = (
                {}
                if prefix is None
                else {name: span_of_text(role.origins[prefix + name]) for name in values if prefix + name in role.origins}
            )
            yield Layer(level, values, f"role {role.name} ({what})", spans=known)


def span_of_text(text: str) -> Span:
    """``file:12:3`` as a place."""
    parts = text.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return Span(parts[0], int(parts[1]), int(parts[2]))
    return Span(text)
