"""Tasks at which hosts wait for each other: ``run_once``, ``delegate_to``, failures that concern all, ``throttle``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from provisioner.engine.clocks import AFTER, Meeting
from provisioner.engine.jobs import Effect
from provisioner.engine.settings import keyword
from provisioner.engine.signals import GivenUp, HostEnds, TaskFailed
from provisioner.engine.truth import as_bool, as_number
from provisioner.errors import ProvisionError
from provisioner.values import Unknown

if TYPE_CHECKING:
    from provisioner.engine.task import TaskLife
    from provisioner.engine.walk import HostWalk

BEFORE_ONCE = 0
BEFORE = 1


@dataclass
class Shared:
    """What the host that ran a ``run_once`` task leaves for the others."""

    effects: list[Effect] = field(default_factory=list)
    failure: dict[str, Any] | None = None
    doubt: str | None = None
    """The task, if a plan cannot tell whether it fails."""


def run_task(walk: HostWalk, life: TaskLife) -> None:
    """Run a task with the meetings it asks for; most ask for none."""
    directives = life.inherited.directives
    play = walk.play
    once = directives.run_once is not None or (life.action is not None and life.action.once)
    meets = play.meets and (once or directives.delegate_to is not None or (life.action is not None and life.action.meets))
    if once and not play.meets and directives.run_once is not None:
        _wants_once(walk, life)
    if not (meets or play.all_together or directives.any_errors_fatal is not None or directives.throttle is not None):
        life.start()
        return
    walk.batch.flush()
    with _turn(walk, life):
        if meets and once and _wants_once(walk, life):
            _run_once(walk, life)
        elif meets:
            meeting = play.clocks.meet(walk.host.name, (*life.place, BEFORE))
            if life.action is not None and life.action.meets:
                # What each host does to the inventory is seen by all: in play order, so that groups come out the same each time.
                earlier = meeting.hosts[: meeting.hosts.index(walk.host.name)]
                play.clocks.wait_for(earlier, (*life.place, BEFORE, 1))
            _start(walk, life)
            play.clocks.meet(walk.host.name, (*life.place, AFTER))
        else:
            _start(walk, life)
    _share_failures(walk, life)


def _start(walk: HostWalk, life: TaskLife) -> list[Effect]:
    job = life.start()
    walk.batch.flush()
    return job.effects


def _wants_once(walk: HostWalk, life: TaskLife) -> bool:
    if life.action is not None and life.action.once:
        return walk.play.meets
    wanted = as_bool(keyword(life.inherited, "run_once", walk.scope(life.inherited), life.task), "run_once")
    if wanted and not walk.play.meets:
        walk.run.notes.warn(f"run_once has no meaning with strategy {walk.play.strategy}: the task runs on every host", life.task.span)
        return False
    return wanted


def _run_once(walk: HostWalk, life: TaskLife) -> None:
    name = walk.host.name
    meeting = walk.play.clocks.meet(name, (*life.place, BEFORE_ONCE), _applies(walk, life))
    runner = _runner(walk, meeting)
    if runner == name:
        _warn_of_others(walk, life, meeting, runner)
        _run_for_all(walk, life, meeting)
        return
    shared = walk.play.clocks.wait_done(meeting)
    if not isinstance(shared, Shared):
        raise HostEnds
    if life.inherited.directives.run_once is not None:
        # Actions that run once by nature register their result for the host that ran them only.
        walk.adopt(shared.effects)
    walk.doubt = walk.doubt or shared.doubt
    if shared.failure is not None:
        raise TaskFailed(life.task, shared.failure)


def _run_for_all(walk: HostWalk, life: TaskLife, meeting: Meeting) -> None:
    shared = Shared()
    try:
        shared.effects = _start(walk, life)
        shared.doubt = walk.doubt
    except TaskFailed as failed:
        shared.failure = dict(failed.result)
        if life.job is not None:
            shared.effects = life.job.effects
        raise
    except HostEnds:
        shared.failure = {"failed": True, "msg": f"{walk.host.name}, which ran this for all hosts, cannot be reached"}
        raise
    finally:
        meeting.shared = shared
        meeting.done.set()


def _applies(walk: HostWalk, life: TaskLife) -> bool:
    """Whether the task's condition holds on this host."""
    conditions = life.inherited.directives.when
    if not conditions:
        return True
    try:
        return walk.expressions.truth(conditions, walk.scope(life.inherited), life.task.span_of("when")).holds is not False
    except ProvisionError:
        # Conditions that need the loop's item, or are wrong: the host that runs the task will say so.
        return True


def _runner(walk: HostWalk, meeting: Meeting) -> str:
    if walk.run.options.run_once == "any":
        return next((host for host in meeting.hosts if meeting.brought[host]), meeting.hosts[0])
    return meeting.hosts[0]


def _warn_of_others(walk: HostWalk, life: TaskLife, meeting: Meeting, runner: str) -> None:
    """The first host's condition decides for all: say so where that leaves out hosts it would hold for."""
    others = tuple(host for host in meeting.hosts if meeting.brought[host])
    if not meeting.brought[runner] and others:
        walk.run.notes.warn(
            f"run_once task {life.task.label!r} is skipped because its condition is false on {runner}, the first host",
            life.task.span_of("when"),
            why=f"the condition is true on {', '.join(others)}",
            help="move the condition to what decides it, or limit the play to the hosts it is meant for",
            hosts=others,
        )


@contextlib.contextmanager
def _turn(walk: HostWalk, life: TaskLife) -> Iterator[None]:
    """``throttle``: wait until fewer than so many hosts are in this task."""
    if life.inherited.directives.throttle is None:
        yield
        return
    value = keyword(life.inherited, "throttle", walk.scope(life.inherited), life.task)
    limit = 0 if value is None or isinstance(value, Unknown) else int(as_number(value, "throttle"))
    if limit <= 0:
        yield
        return
    turns = walk.play.turns(life.place, limit)
    with walk.run.gate.away():
        turns.acquire()
    try:
        yield
    finally:
        turns.release()


def _share_failures(walk: HostWalk, life: TaskLife) -> None:
    """``any_errors_fatal`` and ``max_fail_percentage``: wait for the others and fail with them."""
    play = walk.play
    raw = life.inherited.directives.any_errors_fatal
    fatal = raw is not None and as_bool(keyword(life.inherited, "any_errors_fatal", walk.scope(life.inherited)), "any_errors_fatal")
    if not play.meets or not (fatal or play.max_fail_percentage is not None):
        return
    play.clocks.meet(walk.host.name, (*life.place, AFTER, 1))
    if fatal and life.place in play.clocks.fatal:
        raise TaskFailed(life.task, {"failed": True, "msg": "failed on another host, and any_errors_fatal is set"})
    if fatal and walk.is_rescued and life.place in play.clocks.doubtful:
        walk.doubt = walk.doubt or life.task.label
    if play.too_many_failed():
        raise GivenUp
