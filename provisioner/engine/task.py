"""The life of a task on a host up to where it is queued: when → loop → arguments → steps or action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from provisioner.engine.actions.call import Call
from provisioner.engine.arguments import arguments_of, explain
from provisioner.engine.background import arrange
from provisioner.engine.batch import lost
from provisioner.engine.clocks import Place
from provisioner.engine.expressions import Scope
from provisioner.engine.inherit import Inherited, task_mentions
from provisioner.engine.jobs import Item, Job
from provisioner.engine.loops import item_extra, label_of, loop_items, round_variables
from provisioner.engine.outcome import NodeCall, Outcome, Work
from provisioner.engine.settings import StepSettings, step_settings
from provisioner.engine.truth import as_bool, as_number
from provisioner.engine.verdict import never_fails
from provisioner.errors import HostUnreachable, ProvisionError
from provisioner.playbook.model import Loop, Task
from provisioner.templating.variables import NeedsResult
from provisioner.values import Unknown, UnknownValueError, find_unknown

if TYPE_CHECKING:
    from provisioner.engine.actions import Action
    from provisioner.engine.walk import HostWalk

BRINGS_FACTS = ("setup", "gather_facts", "hostname")
"""Modules that bring facts whose variables all start with ``ansible_``, so that it shows who waits for them."""
READS_FILES = ("lookup(", "query(", "q(")


class TaskLife:
    """One task on one host, from being reached to being queued or settled."""

    def __init__(self, walk: HostWalk, task: Task, inherited: Inherited, place: Place, handler: str | None = None) -> None:
        self.walk = walk
        self.task = task
        self.inherited = inherited
        self.place = place
        self.handler = handler if handler is not None else walk.handled
        self.action: Action | None = walk.run.action(task)
        self.job: Job | None = None

    # Queueing

    def start(self) -> Job:
        """Prepare the task and queue it; send the queue where something depends on it now."""
        walk, task = self.walk, self.task
        if self._flush_first():
            walk.batch.flush()
        if self._one_by_one():
            job = self._run_one_by_one()
        else:
            job = self._settled(self._prepare)
            target = walk.way_to(job)
            running = any(item.outcome is None for item in job.items)
            if running or walk.batch:
                # What is skipped behind queued tasks is registered after them: until then its name is on its way, too.
                facts = running and task.action in BRINGS_FACTS and not any(item.facts_of for item in job.items)
                job.expected = (task.register, facts)
                walk.host.expect(*job.expected)
            walk.batch.add(job, target)
            if self._flush_after():
                walk.batch.flush()
        return job

    def _settled(self, prepare: Any) -> Any:
        """Prepare; where that needs a result which is still on its way, send the queue and prepare again."""
        while True:
            try:
                return prepare()
            except NeedsResult:
                if self.job is not None:
                    self.walk.forget(self.job)
                if not self.walk.batch:
                    raise
                self.walk.batch.flush()

    def _flush_first(self) -> bool:
        """Whether queued steps may change what preparing this task reads outside of variables."""
        if not self.walk.batch:
            return False
        if self.action is not None and self.action.alone:
            return True
        reads = (self.action is not None and self.action.reads_files) or task_mentions(self.task, READS_FILES) or self._loops_over_files()
        return reads and self.walk.is_local

    def _loops_over_files(self) -> bool:
        loop = self.task.loop
        return loop is not None and loop.lookup is not None and loop.lookup not in ("items", "dict", "list", "nested", "together")

    def _flush_after(self) -> bool:
        """Whether the node cannot go on by itself after this task: its failure is decided here."""
        task = self.task
        if task.until or task.retries is not None:
            return True
        if task.failed_when is not None and not (self.job and self.job.items and never_fails(self.job.items[0])):
            return True
        return self.walk.learns_names(task)

    def _one_by_one(self) -> bool:
        """Whether the items of the loop depend on each other's outcome."""
        loop = self.task.loop
        if self.action is not None and self.action.alone:
            return True
        if self.task.async_ is not None and str(self.task.poll) != "0":
            return True
        if loop is None:
            return False
        control, delegate = loop.control, self.inherited.directives.delegate_to
        if isinstance(delegate, str) and "{" in delegate:
            return True
        return bool(control.break_when) or control.pause is not None or bool(self.task.until) or self.task.retries is not None

    # Preparing

    def new_job(self) -> Job:
        """The job of this task, without items."""
        task, walk = self.task, self.walk
        scope = walk.scope(self.inherited)
        no_log = self.inherited.directives.no_log
        late = (task.changed_when, task.failed_when, task.notify, self.inherited.directives.ignore_errors)
        self.job = Job(
            task,
            self.inherited,
            self.place,
            walk.address_of(task),
            self._label(scope),
            scope,
            no_log=no_log is not None and _bool(scope, no_log, "no_log", unknown=True),
            looped=task.loop is not None,
            late=tuple(part for part in late if part),
            handler=self.handler,
            handlers_known=walk.handlers.known,
        )
        return self.job

    def _label(self, scope: Scope) -> str:
        """The name to show; as written where it cannot be rendered."""
        label = self.task.label
        if "{{" not in label:
            return label
        try:
            return str(scope.render(label))
        except (ProvisionError, UnknownValueError):
            # The name is for people: what is wrong with it is no reason not to run the task.
            return label

    def _prepare(self) -> Job:
        """All items of the task."""
        job = self.new_job()
        items, problem = self._items(job)
        if problem is not None:
            job.items.append(problem)
            return job
        for index in range(len(items) if items is not None else 1):
            job.items.append(self.item(job, items, index))
        return job

    def _items(self, job: Job) -> tuple[list[Any] | None, Item | None]:
        """The loop's items (None without a loop), or the one item that says why there are none."""
        loop = self.task.loop
        if loop is None:
            return None, None
        try:
            items = loop_items(self.task, loop, job.scope, self.walk.expressions)
        except ProvisionError as error:
            # As in Ansible: a loop over nothing sensible is no mistake where the task does not apply.
            return None, self._without_loop(job, Outcome.broken(explain(error, job, self.walk.host)))
        if isinstance(items, Unknown):
            return None, self._without_loop(job, Outcome.waiting(items.because))
        if not items:
            return None, self._round(
                job, None, 0, Outcome({"changed": False, "skipped": True, "skipped_reason": "No items in the list", "results": []})
            )
        return items, None

    def _without_loop(self, job: Job, otherwise: Outcome) -> Item:
        item = self._round(job, None, 0, None)
        self._decide(item)
        if item.outcome is None:
            item.outcome = otherwise
        return item

    def item(self, job: Job, items: Sequence[Any] | None, index: int) -> Item:
        """One round with what it does, or why it does nothing."""
        item = self._round(job, items, index, None)
        self._decide(item)
        if item.outcome is None:
            self._fill(item)
        return item

    def _round(self, job: Job, items: Sequence[Any] | None, index: int, outcome: Outcome | None) -> Item:
        item = Item(job, index, job.scope, StepSettings(), outcome=outcome, maybe=self.inherited.maybe)
        loop = self.task.loop
        if items is not None and loop is not None:
            self._enter_loop(item, loop, items, index)
        item.address = job.item_address(None if item.label is None else str(item.index + 1) if job.no_log else item.label)
        return item

    def _enter_loop(self, item: Item, loop: Loop, items: Sequence[Any], index: int) -> None:
        variables = round_variables(loop, items, index, item.scope)
        item.value = items[index]
        item.scope = item.scope.plus(variables)
        try:
            item.label = label_of(loop, item.value, item.scope)
        except ProvisionError as error:
            item.label = str(index)
            item.outcome = Outcome.broken(explain(error, item.job, self.walk.host))
        item.extra = item_extra(loop, item.value, variables)

    def _decide(self, item: Item) -> None:
        """``when``: skip the item, or mark it as not certain to happen."""
        conditions = self.inherited.directives.when
        if not conditions or item.outcome is not None:
            return
        try:
            truth = self.walk.expressions.truth(conditions, item.scope, self.task.span_of("when"))
        except ProvisionError as error:
            item.outcome = Outcome.broken(explain(error, item.job, self.walk.host, "when"))
            return
        if truth.holds is False:
            item.outcome = Outcome.skipped("Conditional result was False", false_condition=truth.condition)
        elif isinstance(truth.holds, Unknown):
            item.maybe = item.maybe or f"only if {truth.condition} holds, which depends on {truth.holds.because}"

    def _fill(self, item: Item) -> None:
        """Settings and arguments, then the module call or the action."""
        walk = self.walk
        try:
            item.delegated_to = walk.delegate_of(item)
            if item.delegated_to is not None:
                host = repr(item.delegated_to)
                item.scope = item.scope.with_templates(
                    {"ansible_delegated_vars": f"{{{{ {{{host}: hostvars[{host}] | default({{}})}} }}}}"}
                )
            if item.delegated_to is not None and _bool(item.scope, self.inherited.directives.delegate_facts, "delegate_facts"):
                item.facts_of = walk.run.host(item.delegated_to)
            item.settings = step_settings(self.task, self.inherited, item.scope, walk.expressions, walk.run.options)
            if item.settings.background is not None and self.action is not None and not self.action.background:
                item.outcome = Outcome.failure(f"This action ({self.task.action}) does not support async.")
                return
            written, params = arguments_of(walk, item)
            unknown = find_unknown(params)
            if self.action is not None:
                self._act(item, written, params)
            else:
                item.calls = [NodeCall(walk.run.module(self.task).name, params)]
            if item.settings.background is not None and item.outcome is None:
                arrange(walk, item)
            if unknown is not None and item.outcome is None:
                self._defer(item, unknown.because)
        except UnknownValueError as error:
            item.outcome = Outcome.waiting(error.unknown.because)
        except HostUnreachable as error:
            item.outcome = lost(error)
        except ProvisionError as error:
            item.outcome = Outcome.broken(explain(error, item.job, walk.host))

    def _act(self, item: Item, written: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        done = self.perform(Call(self.walk, item, written, params))
        if isinstance(done, Work):
            item.calls, item.finish, item.always = done.calls, done.finish, done.always
        else:
            item.outcome = done

    def perform(self, call: Call) -> Outcome | Work:
        """Run the action."""
        assert self.action is not None, "only called with an action"
        return self.action.run(call)

    def _defer(self, item: Item, because: str) -> None:
        """Arguments are not known: the node is told all the same, so that it knows what may have changed afterwards."""
        finish = item.finish

        def finished(replies: list[Any]) -> Outcome:
            outcome = finish(replies) if finish is not None else (Outcome.of(replies[0]) if len(replies) == 1 else Outcome.merged(replies))
            uncertain = any(not change.get("certain", True) for change in outcome.changes)
            if not (outcome.deferred or outcome.unknown or outcome.tainted or uncertain or outcome.failed):
                outcome.deferred = because
            return outcome

        item.finish = finished

    def again(self, item: Item) -> Outcome:
        """Run the action of an item once more."""
        self.job = item.job
        fresh = Item(item.job, item.index, item.scope, item.settings, maybe=item.maybe)
        self._fill(fresh)
        return fresh.concluded()

    # One by one

    def _run_one_by_one(self) -> Job:
        """Loops whose items wait for each other, and actions that talk to the node more than once."""
        walk = self.walk
        job: Job = self._settled(self.new_job)
        items, problem = self._settled(lambda: self._items(job))
        job.complete = False
        walk.batch.flush()
        walk.batch.add(job)
        if problem is not None:
            self._send(job, problem)
        else:
            for index in range(len(items) if items is not None else 1):
                if index and self._pause(job):
                    walk.pause(self._pause(job))
                item = self.item(job, items, index)
                self._send(job, item)
                if self._breaks(job, item):
                    break
        walk.batch.close(job)
        return job

    def _send(self, job: Job, item: Item) -> None:
        job.items.append(item)
        self.walk.batch.extend(job, [item], self.walk.way_to(job))
        self.walk.batch.flush()

    def _pause(self, job: Job) -> float:
        loop = self.task.loop
        pause = loop.control.pause if loop is not None else None
        return as_number(job.scope.render(pause), "pause") if pause is not None else 0.0

    def _breaks(self, job: Job, item: Item) -> bool:
        """Whether ``break_when`` ends the loop after this item."""
        loop = self.task.loop
        if loop is None or not loop.control.break_when or not job.verdicts:
            return False
        scope = item.scope.plus({self.task.register: job.verdicts[-1].value}) if self.task.register else item.scope
        return self.walk.expressions.truth(loop.control.break_when, scope, self.task.span_of("loop_control")).holds is True


def _bool(scope: Scope, value: Any, what: str, *, unknown: bool = False) -> bool:
    """A keyword as truth value; what is not known counts as ``unknown``."""
    if value is None or isinstance(value, bool):
        return bool(value)
    rendered = scope.render(value)
    return unknown if isinstance(rendered, Unknown) else as_bool(rendered, what)
