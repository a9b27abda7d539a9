"""The queue of one host: tasks that wait to be sent together, and their settling in order when replies come.

Tasks are prepared ahead of their predecessors' results as long as nothing they say depends on those. What was prepared for a task that
is not reached after all, because an earlier one failed, is taken back.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from provisioner.engine.inherit import mentions
from provisioner.engine.jobs import Item, Job
from provisioner.engine.outcome import NodeCall, Outcome, Verdict
from provisioner.engine.signals import NeedsFlush
from provisioner.engine.verdict import delay, judge
from provisioner.errors import HostUnreachable, InterpreterMissing, NodeLocked
from provisioner.events import LostKind
from provisioner.ports import Reply, Step, Target

if TYPE_CHECKING:
    from provisioner.engine.agents import SharedAgent
    from provisioner.engine.walk import HostWalk

STEPS_AT_ONCE = 200


class Batch:
    """Tasks of one host that are prepared and not settled."""

    def __init__(self, walk: HostWalk) -> None:
        self._walk = walk
        self._items: deque[Item] = deque()
        self._jobs: deque[Job] = deque()
        self._numbers = itertools.count(1)
        self._by_step: dict[int, Item] = {}
        self._failure: Exception | None = None
        self._flushing = False
        self._waiting = 0
        self.target: Target | None = None
        """Whose agent the queued steps are for."""

    @property
    def jobs(self) -> Iterable[Job]:
        """The queued tasks."""
        return self._jobs

    def __bool__(self) -> bool:
        """Whether anything is to be sent or settled; a task that runs its items one by one is no reason to wait between two of them."""
        return bool(self._items)

    def before_assigning(self, name: str) -> None:
        """Raise ``NeedsFlush`` when a queued task will still set, or look at, a variable that is about to change."""
        if any(job.task.register == name or mentions(job.late, (name,)) for job in self._jobs):
            raise NeedsFlush

    def add(self, job: Job, target: Target | None = None) -> None:
        """Queue a prepared task; it is settled at once when nothing is to be waited for."""
        self._jobs.append(job)
        self.extend(job, job.items, target)

    def extend(self, job: Job, items: list[Item], target: Target | None = None) -> None:
        """Queue items of a task, perhaps more of one that is queued already."""
        for item in items:
            self._items.append(item)
            self._waiting += len(item.calls)
        self.target = target or self.target
        if not items and not job.open:
            self._finish(job)
            return
        alone = len(self._items) == len(items) and all(item.outcome is not None for item in items)
        failed = any(item.outcome is not None and item.outcome.failed for item in items)
        if alone or failed or self._waiting > self._walk.run.steps_at_once:
            self.flush()

    def close(self, job: Job) -> None:
        """No further items come for a task that runs them one by one."""
        job.complete = True
        if job in self._jobs and not job.open:
            self._finish(job)

    def flush(self) -> None:
        """Send everything and settle it. Raises ``TaskFailed`` for the first task whose failure nothing tolerates."""
        if self._flushing:
            return
        self._flushing = True
        try:
            while self._items:
                self._settle_ready()
                if self._items:
                    self._waiting = 0
                    self._send()
        except BaseException:
            self._drop()
            raise
        finally:
            self._flushing = False
        self._walk.arrive(self._walk.place)

    def ask(
        self, item: Item, calls: Sequence[NodeCall], agent: SharedAgent, on_data: Callable[[int, bytes, bool], None] | None = None
    ) -> list[Reply]:
        """Run calls on behalf of an action that talks to the node more than once; the queue must be empty."""
        replies: list[Reply] = []
        walk = self._walk
        walk.handlers.write_journal()
        agent.run(
            [self._step(item, call, agent) for call in calls],
            replies.append,
            contents=walk.run.contents.readers,
            on_progress=self._on_progress,
            on_data=on_data,
        )
        return replies

    def _step(self, item: Item, call: NodeCall, agent: SharedAgent) -> Step:
        settings = item.settings
        return Step(
            id=next(self._numbers),
            module=call.module,
            params=call.params,
            user=self._walk.play.account(item, agent),
            environment=settings.environment,
            timeout=settings.timeout,
            diff=settings.diff,
            maybe=item.maybe or self._walk.unseen(agent),
            quiet=settings.quiet,
            trial=settings.trial,
            real=settings.real,
            background=call.background,
            notify=() if settings.trial or item.delegated_to or call.background else self._walk.handlers.foreseen(item.job),
        )

    def _steps(self, item: Item, agent: SharedAgent) -> list[Step]:
        """The steps of an item that are still to be sent."""
        if not item.steps:
            item.steps = [self._step(item, call, agent) for call in item.calls]
            self._by_step.update({step.id: item for step in item.steps})
        return item.steps[len(item.replies) :]

    def _settle_ready(self) -> None:
        """Settle from the head of the queue as far as outcomes are known."""
        while self._items and self._items[0].ready:
            self._settle(self._items.popleft())
        self._announce()

    def _announce(self) -> None:
        """Say which task is at work now: the one at the head of the queue."""
        if self._items:
            job, walk = self._items[0].job, self._walk
            walk.run.notes.started(job, walk.play.label, (*walk.play.order, *job.place))

    def _send(self) -> None:
        """One round trip: all steps that are queued, until the first that fails."""
        walk = self._walk
        try:
            waiting = [item for item in self._items if item.outcome is None]
            agent = walk.agent(waiting[0])
            if walk.run.elevations.rootless:
                waiting = list(itertools.takewhile(lambda item: walk.target(item) == agent.target, waiting))
            steps = [step for item in waiting for step in self._steps(item, agent)]
            walk.handlers.write_journal()
            ran = agent.run(steps, self._on_reply, contents=walk.run.contents.readers, on_progress=self._on_progress)
            walk.handlers.write_journal()
        except HostUnreachable as error:
            self._lose(error)
            return
        if self._failure is not None:
            raise self._failure
        if not ran:
            self._lose(HostUnreachable("the node's agent ran none of the steps it was sent"))

    def _on_reply(self, reply: Reply) -> None:
        """Keep a reply, and settle what it completes, so that events come while later steps run."""
        item = self._by_step.pop(reply.id)
        item.replies.append(reply)
        if self._failure is not None or item is not self._items[0] or not item.ready or item.job.task.until or item.job.task.retries:
            return
        try:
            self._settle_ready()
        except Exception as failure:  # raised again when the agent has finished: its stream must stay in step
            self._failure = failure

    def _on_progress(self, _step: int, text: str) -> None:
        self._walk.run.notes.progress(self._walk.host.name, text)

    def _settle(self, item: Item) -> None:
        walk = self._walk
        if item.broken:
            for step in item.steps[len(item.replies) :]:
                self._by_step.pop(step.id, None)
        verdict = judge(item, item.concluded(), walk.expressions)
        while verdict.retry:
            verdict = self._again(item)
        walk.note(item, verdict)
        job = item.job
        job.verdicts.append(verdict)
        if not job.open:
            self._finish(job)

    def _again(self, item: Item) -> Verdict:
        """Another try of a task with ``until``: nothing else is queued behind it."""
        walk = self._walk
        left = f"{item.attempts} tried, retrying"
        walk.run.notes.progress(walk.host.name, f"{item.job.label}: {left}")
        walk.pause(delay(item, walk.expressions))
        if item.calls:
            item.replies.clear()
            item.steps.clear()
            try:
                agent = walk.agent(item)
                steps = self._steps(item, agent)
                agent.run(steps, lambda reply: self._by_step.pop(reply.id).replies.append(reply), contents=walk.run.contents.readers)
            except HostUnreachable as error:
                return judge(item, lost(error), walk.expressions)
            return judge(item, item.concluded(), walk.expressions)
        return judge(item, walk.repeat(item), walk.expressions)

    def _finish(self, job: Job) -> None:
        """All items have their verdict: register, notify, count; raise the failure."""
        if self._jobs and self._jobs[0] is job:
            self._jobs.popleft()
        elif job in self._jobs:
            self._jobs.remove(job)
        self._walk.settled(job)

    def _lose(self, error: HostUnreachable) -> None:
        """The connection broke: the item at the head is the one it happened to; all later ones have not happened."""
        item = self._items.popleft()
        walk = self._walk
        started = time.monotonic()
        verdict = judge(item, lost(error), walk.expressions)
        verdict.outcome.seconds = time.monotonic() - started
        job = item.job
        for other in [other for other in self._items if other.job is job]:
            self._items.remove(other)
            job.items.remove(other)
        job.complete = True
        walk.note(item, verdict)
        job.verdicts.append(verdict)
        self._finish(job)

    def _drop(self) -> None:
        """Forget what is queued as if it had never been prepared."""
        for job in reversed(self._jobs):
            self._walk.forget(job)
        self._jobs.clear()
        self._items.clear()
        self._by_step.clear()
        self._failure = None


def lost(error: HostUnreachable) -> Outcome:
    """A broken or missing connection as an outcome."""
    if isinstance(error, InterpreterMissing):
        return Outcome.failure(error.message, rc=127, why=error.why, help=error.help)
    kind: LostKind = "locked" if isinstance(error, NodeLocked) else "unreachable"
    result = {"changed": False, "unreachable": True, "msg": error.message, "why": error.why, "help": error.help}
    return Outcome({name: value for name, value in result.items() if value != ""}, unreachable=True, lost=kind)
