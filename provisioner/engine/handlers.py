"""Handlers: who is notified, when they run, and the journal that makes sure that none is lost.

A step that will notify handlers carries their names, and the node notes them before the step's first change. What only the controller
can tell (``changed_when``, names made of results, delegated tasks) is noted before anything else is sent there. A handler is struck off
after it ran, and when its task turns out to notify nobody. What an earlier run left noted is run by the next play that defines it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import did_you_mean
from provisioner.engine.clocks import FIRST, Place
from provisioner.engine.inherit import Inherited
from provisioner.engine.signals import TaskFailed
from provisioner.errors import HostUnreachable, InputError, ProvisionError
from provisioner.playbook.model import Block, Entry, Play, Role, RoleSource, Task
from provisioner.templating.variables import NeedsResult
from provisioner.values import UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.jobs import Job
    from provisioner.engine.walk import HostWalk

LEFT_OVER = "an earlier run was interrupted before it ran"


@dataclass
class Handler:
    """A handler of a play with everything it inherits; ``index`` is its place in the order of definition.

    ``group``: those written one after the other in one list share it.
    """

    task: Task
    inherited: Inherited
    index: int
    role: RoleSource | None
    group: int = 0

    def key(self, name: str) -> str:
        """How the journal on the node names it."""
        return f"{self.role.name} : {name}" if self.role else name

    def names(self, name: str) -> tuple[str, ...]:
        """All names under which ``notify`` may mean it, given its rendered name."""
        if self.role is None:
            return (name,)
        qualified = (f"{self.role.name} : {name}", name)
        return (f"{self.role.collection}.{qualified[0]}", *qualified) if self.role.collection else qualified


class HandlerBook:
    """The handlers of a play in the order of definition: those of roles first, then the play's own."""

    def __init__(self, play: Play, inherited: Inherited) -> None:
        self._lock = threading.Lock()
        self.handlers: list[Handler] = []
        self._known: set[int] = set()
        self._group = 0
        for role in play.roles:
            self.add_role(role, inherited)
        self._add(play.handlers, inherited, None)
        for role in play.imported_roles:
            self.add_role(role, inherited)

    def add_role(self, role: Role, inherited: Inherited) -> None:
        """Make the handlers of a role known, of its dependencies first; again is no harm."""
        for dependency in role.dependencies:
            self.add_role(dependency, inherited)
        with self._lock:
            key = id(role.handlers)
            if not role.handlers or key in self._known:
                return
            self._known.add(key)
        self._add(role.handlers, inherited.plus(role.body.directives, role.source), role.source)

    def _add(self, entries: Iterable[Entry], inherited: Inherited, role: RoleSource | None) -> None:
        self._group += 1
        for entry in entries:
            if isinstance(entry, Block):
                self._add(entry.tasks, inherited.within(entry), entry.role or role)
                self._group += 1
            else:
                with self._lock:
                    source = entry.role or role
                    self.handlers.append(Handler(entry, inherited.within(entry), len(self.handlers), source, self._group))


@dataclass
class Notice:
    """Why a handler will run on a host."""

    because: list[str] = field(default_factory=list)
    certain: bool = False

    @property
    def text(self) -> str:
        """The reason in words."""
        if self.because == [LEFT_OVER]:
            return f"because {LEFT_OVER}"
        return f"because of {', '.join(dict.fromkeys(self.because))}" if self.because else "notified"


class HostHandlers:
    """The handlers of a play as one host has them."""

    def __init__(self, walk: HostWalk, book: HandlerBook) -> None:
        self._walk = walk
        self._book = book
        self._names: dict[int, str | None] = {}
        self._notices: dict[int, Notice] = {}
        self._failed: set[int] = set()
        """Handlers that failed: they are not run again in this play, and stay noted for the next run."""
        self._to_note: dict[str, bool] = {}
        """What is to be noted → whether a step has had it noted already; then this only makes sure."""
        self._to_strike: dict[str, None] = {}

    def notify(self, job: Job, names: Iterable[Any], because: str, certain: bool) -> None:
        """A task changed something: mark what it notifies. A name that no handler has is an ``InputError``."""
        for raw in names:
            for name in self._rendered(job, raw):
                found = self._meant(job, name)
                if not found:
                    raise self._unknown(job, name)
                for handler in found:
                    self._mark(handler, because, certain, job.due or ())

    def _meant(self, job: Job, name: str) -> list[Handler]:
        return self._find(name, self._book.handlers[: job.handlers_known]) or self._find(name, self._book.handlers)

    @property
    def known(self) -> int:
        """How many handlers there are by now: a task means those that were there when its turn came, not what is included later."""
        return len(self._book.handlers)

    @property
    def waiting(self) -> list[str]:
        """Names of the handlers that are notified and have not run."""
        return [self._label(handler) for handler in self._book.handlers if handler.index in self._notices or handler.index in self._failed]

    def run(self, place: Place, *, last: bool = False) -> None:
        """Run what is notified, in the order of definition.

        What a handler notifies that stands before it is left for the next time handlers run in this play; ``last``: there is none, so
        those run now, each once.
        """
        walk = self._walk
        unconnected = bool(self._book.handlers) and not walk.running_agents()
        if unconnected or self._notices or walk.host.earlier or any(job.task.notify for job in walk.batch.jobs):
            walk.batch.flush()
        self._adopt()
        ran: set[int] = set()
        turn = FIRST
        while any(index not in ran for index in self._notices):
            for handler in list(self._book.handlers):
                if handler.index in self._notices and handler.index not in ran:
                    self._one(handler, (*place, turn, FIRST + handler.index), ran)
            turn += 1
            if not last:
                return

    def foreseen(self, job: Job) -> tuple[str, ...]:
        """How the journal names what a task will notify if it changes anything, as far as that can be told before it runs."""
        if job.due is None:
            job.due = ()
            if job.task.notify and self._walk.run.options.mode == "apply":
                try:
                    named = [name for raw in job.task.notify for name in self._rendered(job, raw)]
                except (ProvisionError, NeedsResult, UnknownValueError):
                    return ()  # made of the task's own result: told when that is there
                job.due = tuple(handler.key(self._label(handler)) for name in named for handler in self._meant(job, name))
        return job.due

    def withdraw(self, keys: Iterable[str]) -> None:
        """Strike off what a task had noted, but for what is due all the same."""
        waiting = (handler for handler in self._book.handlers if handler.index in self._notices or handler.index in self._failed)
        due = {*self._walk.host.earlier, *(handler.key(self._label(handler)) for handler in waiting)}
        for key in keys:
            if key not in due:
                self._strike(key)

    def _strike(self, key: str) -> None:
        self._to_note.pop(key, None)
        self._to_strike[key] = None

    def remember(self, keys: Iterable[str]) -> None:
        """What is noted on the node when an agent starts there: due since an earlier run, but for what ran in this one."""
        self._walk.host.earlier.update(dict.fromkeys(key for key in keys if key not in self._to_strike))

    def write_journal(self) -> bool:
        """Note and strike off on the node what has come up since the last call; False while there is no agent to tell."""
        if not (self._to_note or self._to_strike):
            return True
        agents = self._walk.running_agents()
        if not agents:
            return False
        add, done = list(self._to_note), list(self._to_strike)
        self._to_note, self._to_strike = {}, {}
        for agent in agents:
            agent.journal(add, done)
            add = []
        return True

    def settle_journal(self) -> None:
        """The same at the end of a play, when nothing more is sent."""
        names = ", ".join(key for key, carried in self._to_note.items() if not carried)
        try:
            written = self.write_journal()
        except HostUnreachable:
            written = False
        if names and not written:
            name = self._walk.host.name
            message = f"it could not be noted on {name} that these handlers are due: {names}"
            self._walk.run.notes.warn(message, help="the next run does not know of them: run them by hand", hosts=(name,))

    def _one(self, handler: Handler, place: Place, ran: set[int]) -> None:
        walk = self._walk
        notice = self._notices.pop(handler.index)
        ran.add(handler.index)
        inherited = handler.inherited
        if not notice.certain:
            inherited = inherited.doubtful(f"only if {', '.join(notice.because)} changes")
        try:
            walk.task(handler.task, inherited, place, handler=notice.text)
            walk.batch.flush()
        except TaskFailed:
            self._failed.add(handler.index)
            raise
        except BaseException:
            self._notices[handler.index] = notice
            raise
        self._failed.discard(handler.index)
        if walk.run.options.mode == "apply":
            self._strike(handler.key(self._label(handler)))

    def _mark(self, handler: Handler, because: str, certain: bool, noted: Sequence[str]) -> None:
        walk = self._walk
        notice = self._notices.get(handler.index)
        if notice is None:
            notice = self._notices[handler.index] = Notice()
            walk.run.notes.notified(walk.host.name, self._label(handler), because, certain, walk.order)
            if walk.run.options.mode == "apply":
                key = handler.key(self._label(handler))
                self._to_strike.pop(key, None)
                self._to_note[key] = key in noted
        if because not in notice.because:
            notice.because.append(because)
        notice.certain = notice.certain or certain

    def _adopt(self) -> None:
        """Take over what an earlier run left notified on the node and this play defines."""
        earlier = self._walk.host.earlier
        if not earlier:
            return
        for handler in self._book.handlers:
            key = handler.key(self._label(handler))
            if key in earlier:
                del earlier[key]
                if handler.index not in self._notices:
                    self._mark(handler, LEFT_OVER, True, (key,))

    def _find(self, name: str, among: Sequence[Handler]) -> list[Handler]:
        """Handlers that a notification means: one of that name, and all that listen to it.

        Of several with the name, a later list wins over an earlier one, and in a list the first.
        """
        found: list[Handler] = []
        named = [handler for handler in among if name in handler.names(self._label(handler))]
        by_name = next((handler for handler in named if handler.group == named[-1].group), None)
        if by_name is not None:
            found.append(by_name)
        for handler in among:
            topics = handler.task.listen
            if handler is not by_name and any(name in handler.names(topic) for topic in topics):
                same = [
                    item for item in found if item.task.name and self._label(item) == self._label(handler) and item.role == handler.role
                ]
                if not same:
                    found.append(handler)
        return found

    def _label(self, handler: Handler) -> str:
        """The name of a handler, rendered with the host's variables; as written where that is not possible."""
        known = self._names.get(handler.index)
        if known is None:
            name = handler.task.label
            if "{" in name:
                try:
                    name = str(self._walk.scope(handler.inherited).render(name))
                except (InputError, UnknownValueError):
                    # Such a handler cannot be notified by name; it may still listen.
                    name = handler.task.label
            known = self._names[handler.index] = name
        return known

    def _rendered(self, job: Job, raw: Any) -> list[str]:
        value = job.scope.render(raw) if isinstance(raw, str) and "{" in raw else raw
        if isinstance(value, (list, tuple)):
            return [str(name) for name in value]
        return [str(value)]

    def _unknown(self, job: Job, name: str) -> InputError:
        known = [text for handler in self._book.handlers for text in (self._label(handler), *handler.task.listen)]
        help_ = did_you_mean(name, known) or (f"this play has {', '.join(sorted(set(known)))}" if known else "this play has no handlers")
        return InputError.of(f"no handler is called {name!r}", job.task.span_of("notify"), help=help_)
