"""``meta``: actions on the run itself. They leave no step and no statistics behind, except where they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from provisioner.diagnostics import did_you_mean
from provisioner.engine.arguments import explain
from provisioner.engine.clocks import Place
from provisioner.engine.inherit import Inherited
from provisioner.engine.signals import BatchEnds, HostEnds, PlayEnds, RoleEnds
from provisioner.engine.task import TaskLife
from provisioner.errors import InputError
from provisioner.playbook.model import Task
from provisioner.templating.variables import NeedsResult
from provisioner.values import Unknown

if TYPE_CHECKING:
    from provisioner.engine.walk import HostWalk


@dataclass(frozen=True)
class Here:
    """Where a ``meta`` task stands, and whether its condition holds."""

    walk: HostWalk
    inherited: Inherited
    place: Place
    applies: bool


def meta(walk: HostWalk, task: Task, inherited: Inherited, place: Place, handler: str | None) -> None:
    """Carry out a ``meta`` task."""
    name = str(task.args.get("_raw_params") or task.args.get("free_form") or "")
    act = _ACTIONS.get(name)
    if act is None:
        help_ = did_you_mean(name, _ACTIONS) or f"meta knows {', '.join(sorted(_ACTIONS))}"
        raise InputError.of(f"meta: {name!r} is not known", task.span_of("args"), help=help_)
    applies = _applies(walk, task, inherited, place, handler)
    act(Here(walk, inherited, place, applies))


def _applies(walk: HostWalk, task: Task, inherited: Inherited, place: Place, handler: str | None) -> bool:
    """Whether ``when`` holds; what a plan cannot know counts as no, so that the plan shows what follows."""
    conditions = inherited.directives.when
    if not conditions:
        return inherited.maybe is None
    while True:
        try:
            truth = walk.expressions.truth(conditions, walk.scope(inherited), task.span_of("when"))
        except NeedsResult:
            walk.batch.flush()
            continue
        except InputError as error:
            life = TaskLife(walk, task, inherited, place, handler)
            raise InputError.of(explain(error, life.new_job(), walk.host, "when"), task.span_of("when")) from error
        return not isinstance(truth.holds, Unknown) and truth.holds and inherited.maybe is None


def _noop(_at: Here) -> None:
    """``noop`` and what needs nothing here."""


def _flush_handlers(at: Here) -> None:
    if at.applies:
        at.walk.handlers.run(at.place)


def _end_host(at: Here) -> None:
    if at.applies:
        at.walk.batch.flush()
        raise HostEnds


def _end_role(at: Here) -> None:
    if at.applies:
        raise RoleEnds(at.inherited.role)


def _end_play(at: Here) -> None:
    if _anybody(at):
        raise PlayEnds


def _end_batch(at: Here) -> None:
    if _anybody(at):
        raise BatchEnds


def _anybody(at: Here) -> bool:
    """Whether this holds for any host of the batch: then the play ends for all of them."""
    at.walk.batch.flush()
    if not at.walk.play.meets:
        return at.applies
    meeting = at.walk.play.clocks.meet(at.walk.host.name, (*at.place, 0, 2), at.applies)
    return any(meeting.brought.values())


def _clear_facts(at: Here) -> None:
    if at.applies:
        at.walk.batch.flush()
        at.walk.host.forget_facts()


def _clear_host_errors(at: Here) -> None:
    """Let hosts that failed or were lost take part in the plays that follow."""
    at.walk.batch.flush()
    if not at.applies:
        return
    if at.walk.play.meets:
        at.walk.play.clocks.meet(at.walk.host.name, (*at.place, 0, 2))
    at.walk.forgiven = True
    at.walk.run.forgive()


def _refresh_inventory(at: Here) -> None:
    at.walk.batch.flush()
    if at.walk.play.meets:
        meeting = at.walk.play.clocks.meet(at.walk.host.name, (*at.place, 0, 2), at.applies)
        first = next((host for host in meeting.hosts if meeting.brought[host]), None)
        if first == at.walk.host.name:
            at.walk.run.refresh_inventory()
        at.walk.play.clocks.meet(at.walk.host.name, (*at.place, 0, 3))
    elif at.applies:
        at.walk.run.refresh_inventory()


def _reset_connection(at: Here) -> None:
    if at.applies:
        at.walk.batch.flush()
        at.walk.run.hands.until(lambda: at.walk.run.agents.drop(at.walk.host.name))


_Act = Callable[[Here], None]
_ACTIONS: dict[str, _Act] = {
    "clear_facts": _clear_facts,
    "clear_host_errors": _clear_host_errors,
    "end_batch": _end_batch,
    "end_host": _end_host,
    "end_play": _end_play,
    "end_role": _end_role,
    "flush_handlers": _flush_handlers,
    "noop": _noop,
    "refresh_inventory": _refresh_inventory,
    "reset_connection": _reset_connection,
    "role_complete": _noop,
}
