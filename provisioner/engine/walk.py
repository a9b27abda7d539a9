"""One host's way through a play: sections, blocks with rescue and always, roles, tasks, handlers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from provisioner.engine import meetings
from provisioner.engine.actions import FOREIGN
from provisioner.engine.batch import Batch
from provisioner.engine.clocks import AFTER, FIRST, Place
from provisioner.engine.doubts import may_fail
from provisioner.engine.handlers import HostHandlers
from provisioner.engine.includes import warn_of_inner_loop
from provisioner.engine.inherit import Inherited
from provisioner.engine.jobs import Effect, Item, Job
from provisioner.engine.outcome import Outcome, Verdict
from provisioner.engine.prompts import file_layers
from provisioner.engine.settle import settle_job, settle_step, tolerated
from provisioner.engine.signals import HostEnds, RoleEnds, Stopped, TaskFailed
from provisioner.engine.state import HostState, RolesSeen
from provisioner.engine.task import BRINGS_FACTS, TaskLife
from provisioner.engine.truth import as_bool
from provisioner.errors import MayNotBecome, ProvisionError
from provisioner.playbook.model import Block, Entry, RoleSource, Task
from provisioner.ports import Target
from provisioner.templating.variables import NeedsResult
from provisioner.values import Unknown, UnknownValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.engine.agents import SharedAgent
    from provisioner.engine.expressions import Scope
    from provisioner.engine.play import PlayRun, Section


class HostWalk:
    """A host inside one batch of a play. Runs in one thread; what it shares with others is in ``play`` and ``run``."""

    def __init__(self, play: PlayRun, host: HostState) -> None:
        self.play = play
        self.run = play.run
        self.host = host
        self.expressions = play.run.expressions
        self.batch = Batch(self)
        self.handlers = HostHandlers(self, play.handlers)
        self.handled: str | None = None
        self.roles = RolesSeen()
        self.place: Place = ()
        self.overlay: dict[str, Any] = {}
        """Loop variables of the includes around this place."""
        self.loop_origins: dict[str, str] = {}
        self.forgiven = False
        """Whether ``clear_host_errors`` was met, which a block that failed asks after its ``always``."""
        self.doubt: str | None = None
        """In a plan: the task before this place, in a block that is rescued, of which it is not known whether it fails."""
        self._rescuers = 0
        self._files_wait = False
        self._own: dict[Target, None] = {}

    # The path

    def through(self, sections: list[Section]) -> None:
        """Walk the whole play. Signals that end it on this host are the caller's to catch."""
        last = [section for section in sections if section.entries is None][-1:]
        for section in sections:
            if section.facts:
                self._gather(section)
            elif section.entries is None:
                self.handlers.run(section.place, last=section in last)
            else:
                self.entries(section.entries, section.inherited, section.place)
        self.batch.flush()

    def load_files(self) -> None:
        """The play's ``vars_files``, as far as their names can be told now."""
        if self.play.play.vars_files:
            layers, self._files_wait = file_layers(self.run, self.play.play, self.scope(self.play.shared.inherited))
            self.play.file_layers[self.host.name] = layers

    def _gather(self, section: Section) -> None:
        """Gather facts unless the play or the settings say otherwise."""
        raw, how = self.play.play.gather_facts, self.run.options.gather
        wanted = how != "explicit"
        if raw is not None:
            wanted = as_bool(self.scope(section.inherited).render(raw), "gather_facts")
        elif how == "smart":
            wanted = not self.host.gathered
        if wanted:
            assert section.entries is not None, "the section holds the task that gathers facts"
            self.entries(section.entries, section.inherited, section.place)
        if self._files_wait:
            self.batch.flush()
            self.load_files()
            if self._files_wait:
                self._refuse_files()

    def _refuse_files(self) -> None:
        """A name in ``vars_files`` cannot be told at all: render it once more to say why."""
        for entry in self.play.play.vars_files:
            self.scope(self.play.shared.inherited).render(entry, self.play.play.spans.get("vars_files"))

    def entries(self, entries: tuple[Entry, ...], inherited: Inherited, place: Place) -> None:
        """A list of tasks and blocks."""
        for index, entry in enumerate(entries):
            position = (*place, FIRST + index)
            if isinstance(entry, Block):
                self._block(entry, inherited.within(entry), position)
            else:
                self.task(entry, inherited.within(entry), position)

    def task(self, task: Task, inherited: Inherited, place: Place, handler: str | None = None) -> None:
        """One task, if it is selected."""
        if self.run.stopping:
            raise Stopped
        inherited = self._reached(inherited)
        self.place = place
        if not self.batch:
            self.arrive(place)
        if handler is None and not self._selected(task, inherited):
            return
        if "{" in task.action:
            task = self._named(task, inherited)
        special = self.run.actions.structural(task.action)
        if special is not None:
            special(self, task, inherited, place, handler)
        else:
            if self.overlay and task.loop is not None:
                warn_of_inner_loop(self, task)
            meetings.run_task(self, TaskLife(self, task, inherited, place, handler))

    def _named(self, task: Task, inherited: Inherited) -> Task:
        """A task whose action is a template, with the action it stands for on this host."""
        while True:
            try:
                name = self.scope(inherited).render(task.action, task.span_of("action"))
            except NeedsResult:
                self.batch.flush()
                continue
            except ProvisionError:
                # The task fails with this reason when its module is looked for.
                return task
            return self.run.named(task, str(name))

    def arrive(self, place: Place) -> None:
        """Tell the others that everything before this place is settled."""
        self.play.clocks.arrive(self.host.name, place)
        self.run.notes.reached(self.host.name, (*self.play.order, *place))

    @property
    def order(self) -> Place:
        """The present place in the order of events."""
        return (*self.play.order, *self.place)

    def _selected(self, task: Task, inherited: Inherited) -> bool:
        if not self.host.started:
            if not self.play.starts_at(task, inherited.role) and not task.implicit:
                return False
            self.host.started = self.host.started or not task.implicit
        return self.play.selects(inherited, self)

    # Blocks and roles

    def _block(self, block: Block, inherited: Inherited, place: Place) -> None:
        role = block.role
        if role is not None and self.roles.may_be_done(role):
            self.batch.flush()
            if self.roles.is_done(role):
                return
        try:
            if block.rescue or block.always:
                self._guarded(block, inherited, place)
            else:
                self.entries(block.tasks, inherited, (*place, 1))
        except RoleEnds as signal:
            if role is None or signal.role is not role:
                raise
        if role is not None:
            self.batch_settled_role(role)

    def batch_settled_role(self, role: RoleSource) -> None:
        """A role came to its end here."""
        if id(role) in self.roles.ran or self._queued(role):
            self.roles.completed.append(role)

    def _queued(self, role: RoleSource) -> bool:
        return any(role in job.inherited.roles for job in self.batch.jobs)

    def _guarded(self, block: Block, inherited: Inherited, place: Place) -> None:
        """A block with rescue or always: what fails inside is settled inside, and so is what a plan cannot tell to fail or not."""
        self.batch.flush()
        inherited = self._reached(inherited)
        outer, self.doubt = self.doubt, None
        left: str | None = None
        try:
            failure = self._body(block, inherited, place)
            if block.rescue:
                cause, self.doubt = self.doubt, None
                failure = self._rescue(block, inherited, (*place, 2), failure, cause)
            self.forgiven = False
            left, self.doubt = self.doubt, None
            always = self._part(block.always, inherited, (*place, 3))
            failure = always or (None if self.forgiven else failure)
        finally:
            self.doubt = outer or left or self.doubt
        if failure is not None:
            raise failure

    def _body(self, block: Block, inherited: Inherited, place: Place) -> TaskFailed | None:
        with self._rescuing(bool(block.rescue)):
            return self._part(block.tasks, inherited, (*place, 1))

    def _rescue(self, block: Block, inherited: Inherited, place: Place, failure: TaskFailed | None, doubt: str | None) -> TaskFailed | None:
        """The rescue part, after a failure or after one that only the apply can tell; gives the failure that is left."""
        if failure is not None:
            task = {"name": failure.task.name or "", "action": failure.task.action, "args": dict(failure.task.args)}
            self.host.assign_all({"ansible_failed_task": task, "ansible_failed_result": dict(failure.result)})
        elif doubt is not None:
            because = f"only if {doubt!r} fails"
            self.host.assign_all({"ansible_failed_task": Unknown(because), "ansible_failed_result": Unknown(because)})
            inherited = inherited if inherited.maybe else inherited.doubtful(because)
        else:
            return None
        return self._part(block.rescue, inherited, place)

    def _reached(self, inherited: Inherited) -> Inherited:
        """What a place inherits, with the doubt whether it is reached: that hangs on what was queued before it."""
        if not (self._rescuers and self.run.options.planning):
            return inherited
        self.batch.flush()
        if self.doubt is None or inherited.maybe:
            return inherited
        return inherited.doubtful(f"only if {self.doubt!r} succeeds")

    def _part(self, entries: tuple[Entry, ...], inherited: Inherited, place: Place) -> TaskFailed | None:
        """A part of a block; its failure, if any, is given back."""
        try:
            self.entries(entries, inherited, place)
            self.batch.flush()
        except TaskFailed as failure:
            return failure
        return None

    @contextmanager
    def _rescuing(self, rescued: bool) -> Iterator[None]:
        self._rescuers += rescued
        try:
            yield
        finally:
            self._rescuers -= rescued

    @property
    def is_rescued(self) -> bool:
        """Whether a failure here would be rescued."""
        return self._rescuers > 0

    # Variables

    def scope(self, inherited: Inherited) -> Scope:
        """The variables at a place."""
        return self.play.scopes.of(self, inherited)

    @contextmanager
    def with_variables(self, variables: Mapping[str, Any]) -> Iterator[None]:
        """Loop variables that hold for everything inside an include."""
        before = self.overlay
        self.overlay = {**before, **variables}
        try:
            yield
        finally:
            self.overlay = before

    @contextmanager
    def handling(self, handler: str | None) -> Iterator[None]:
        """The tasks of an include that is a handler are handlers, for the same reason."""
        before = self.handled
        self.handled = handler if handler is not None else before
        try:
            yield
        finally:
            self.handled = before

    def learns_names(self, task: Task) -> bool:
        """Whether a task's result brings variables whose names cannot be told before."""
        name = task.action.rpartition(".")[2]
        if self.run.action(task) is FOREIGN:
            return True
        return (name.endswith("_facts") or name in ("getent", "hostname")) and name not in BRINGS_FACTS

    # Settling, on behalf of the batch

    def note(self, item: Item, verdict: Verdict) -> None:
        """An item has its verdict."""
        settle_step(self, item, verdict)
        if self.run.options.planning and self.is_rescued and may_fail(item, verdict) and not tolerated(self, item.job, verdict):
            self.doubt = self.doubt or item.job.label
            self.play.clocks.doubtful.add(item.job.place)

    def settled(self, job: Job) -> None:
        """A task has all its verdicts. Raises ``TaskFailed`` or ``HostEnds``."""
        try:
            settle_job(self, job)
        finally:
            self.run.notes.reached(self.host.name, (*self.play.order, *job.place, AFTER))

    def forget(self, job: Job) -> None:
        """A prepared task is not reached after all."""
        if job.expected is not None:
            self.host.arrived(*job.expected)
            job.expected = None
        job.take_back()
        self.host.addresses[job.address.partition("~")[0]] -= 1

    def repeat(self, item: Item) -> Outcome:
        """Run an action once more that needs no queueing (``until``)."""
        life = TaskLife(self, item.job.task, item.job.inherited, item.job.place, item.job.handler)
        return life.again(item)

    def adopt(self, effects: list[Effect]) -> None:
        """Take over what a task that ran once for all did to variables."""
        for effect in effects:
            effect.on(self.host)

    # Connections

    def target(self, item: Item) -> Target:
        """Where an item's steps go."""
        return self.play.target(self, item, item.delegated_to)

    def way_to(self, job: Job) -> Target | None:
        """The target that a task's steps are for, None without steps; sends the queue first when that is for another one."""
        item = next((item for item in reversed(job.items) if item.calls and item.outcome is None), None)
        if item is None:
            return None
        target = self.target(item)
        if self.batch and self.batch.target not in (None, target):
            self.batch.flush()
        return target

    def agent(self, item: Item) -> SharedAgent:
        """The agent for an item's steps. Raises ``HostUnreachable``."""
        target = self.target(item)
        try:
            return self._agent(target)
        except MayNotBecome:
            if not self.run.elevations.do_without_root(target, item.settings.become):
                raise
            return self._agent(self.target(item))

    def _agent(self, target: Target) -> SharedAgent:
        """The agent of a target; what an earlier run left in its journal is remembered."""
        new = not self.run.agents.started(target)
        agent = self.run.agents.of(target)
        if target.host == self.host.name:
            self._own[target] = None
            if new:
                self.handlers.remember(agent.info.pending)
        return agent

    def running_agents(self) -> list[SharedAgent]:
        """This host's agents that run: one, or one for each account where root cannot be had."""
        return [self.run.agents.of(target) for target in self._own if self.run.agents.started(target)]

    def unseen(self, agent: SharedAgent) -> str | None:
        """Why what an agent foresees is not certain: in a plan it knows nothing of what other agents of the host foresee."""
        if not (self.run.options.planning and self.run.elevations.rootless) or self.running_agents() in ([], [agent]):
            return None
        return "steps before it run as another account, and this one does not see what they would change"

    @property
    def is_local(self) -> bool:
        """Whether the node is this machine, so that steps change the files that lookups and actions read."""
        return self.play.is_local(self)

    def delegate_of(self, item: Item) -> str | None:
        """The other host that does the work, None for the host itself."""
        raw = item.job.inherited.directives.delegate_to
        if raw is None:
            return None
        name = item.scope.render(raw, item.job.task.span_of("delegate_to"))
        if isinstance(name, Unknown):
            raise UnknownValueError(name)
        if name in (None, "") or name is item.scope.omit:
            return None
        return None if name == self.host.name else str(name)

    def address_of(self, task: Task) -> str:
        """The address of a task's steps on this host."""
        return self.host.address(self.play.address(task))

    def pause(self, seconds: float) -> None:
        """Wait, giving up the turn meanwhile. Raises ``Stopped`` when the run is interrupted."""
        self.run.sleep(seconds)

    def leave_early(self) -> None:
        """End the play here for this host, without failure."""
        raise HostEnds
