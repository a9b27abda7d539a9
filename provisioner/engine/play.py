"""One batch of a play: its hosts, what they share, and running them all through its sections."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provisioner.engine.clocks import Clocks, Place
from provisioner.engine.expressions import Scope
from provisioner.engine.handlers import HandlerBook
from provisioner.engine.inherit import Inherited
from provisioner.engine.jobs import Item
from provisioner.engine.magic import host_magic, play_magic
from provisioner.engine.selection import selected, starts_at, tag_set
from provisioner.engine.signals import BatchEnds, GivenUp, HostEnds, PlayEnds, RoleEnds, Stopped, TaskFailed
from provisioner.engine.targets import Targets
from provisioner.engine.truth import as_bool, as_number
from provisioner.engine.variables import Scopes
from provisioner.engine.walk import HostWalk
from provisioner.errors import PlanMismatch, ProvisionError
from provisioner.playbook.model import Directives, Entry, Play, RoleSource, Task
from provisioner.ports import Target
from provisioner.templating.variables import Layer
from provisioner.values import UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.agents import SharedAgent
    from provisioner.engine.run import Run

FREE = ("free", "host_pinned")


@dataclass(frozen=True)
class Section:
    """A part of a play; without entries it is a point where handlers run."""

    place: Place
    entries: tuple[Entry, ...] | None
    inherited: Inherited
    facts: bool = False


class PlayShared:
    """What all batches of a play have in common: handlers, what its tasks inherit, what it says of itself."""

    def __init__(self, run: Run, play: Play, index: int, hosts: Sequence[str], layers: Sequence[Layer], named: Sequence[str] = ()) -> None:
        self.run = run
        self.play = play
        self.index = index
        self.hosts = tuple(hosts)
        self.named = tuple(named or hosts)
        """All hosts that the play names in the order of the inventory, with those that failed in plays before."""
        self.layers = tuple(layers)
        directives = play.directives
        self.inherited = Inherited(Directives(**{**vars(directives), "vars": {}}))
        self._relative: dict[str, str] = {}
        self.handlers = HandlerBook(play, self.inherited)
        self.sections = self._sections()
        scope = run.play_scope(play, self.layers)

        def rendered(value: Any) -> Any:
            value = scope.render(value) if isinstance(value, str) else value
            return None if value is scope.omit else value

        self.label = run.options.secrets.mask(_label(play, scope))
        self.strategy = str(rendered(play.strategy) or "linear").rpartition(".")[2]
        percentage = rendered(play.max_fail_percentage)
        self.max_fail_percentage = None if percentage is None else as_number(percentage, "max_fail_percentage")
        self.any_errors_fatal = as_bool(rendered(directives.any_errors_fatal), "any_errors_fatal") or run.options.any_errors_fatal
        force = rendered(play.force_handlers)
        self.force_handlers = run.options.force_handlers if force is None else as_bool(force, "force_handlers")
        if directives.any_errors_fatal is None and run.options.any_errors_fatal:
            self.inherited.directives = Directives(**{**vars(self.inherited.directives), "any_errors_fatal": True})

    def relative(self, file: str) -> str:
        """A file of the play as seen from the playbook's folder."""
        if file not in self._relative:
            inside = file.startswith("<")
            self._relative[file] = file if inside else os.path.relpath(file, self.play.folder)
        return self._relative[file]

    def _sections(self) -> list[Section]:
        play, inherited = self.play, self.inherited
        gathering = _gathering(play)
        bodies = tuple(role.body for role in play.roles)
        found = [Section((0,), (gathering,), inherited, facts=True)]
        for number, entries, flush in ((1, play.pre_tasks, True), (3, bodies, False), (4, play.tasks, True), (6, play.post_tasks, True)):
            if entries:
                found.append(Section((number,), entries, inherited))
            if flush and (entries or number >= 4):  # without post_tasks, too: handlers of the tasks may have notified earlier ones
                found.append(Section((number + 1,), None, inherited))
        return found


def _label(play: Play, scope: Scope) -> str:
    """The name of the play with what its variables give; as written where they do not give it."""
    if "{{" not in play.label:
        return play.label
    try:
        name = scope.render(play.name or play.hosts)
    except (ProvisionError, UnknownValueError):
        # The name is for people: what is wrong with it is no reason not to run the play.
        return play.label
    return ",".join(map(str, name)) if isinstance(name, (list, tuple)) else str(name)


def _gathering(play: Play) -> Task:
    args = {name: value for name, value in _fact_arguments(play).items() if value is not None}
    tags = play.directives.tags or ("always",)
    return Task("gather_facts", "gather_facts", args, play.span, "Gathering Facts", directives=Directives(tags=tags), implicit=True)


def _fact_arguments(play: Play) -> dict[str, Any]:
    return {"gather_subset": play.gather_subset, "gather_timeout": play.gather_timeout, "fact_path": play.fact_path}


class PlayRun:
    """A batch of hosts of a play."""

    def __init__(self, shared: PlayShared, hosts: Sequence[str], batch: int) -> None:
        self.shared = shared
        self.run = shared.run
        self.play = shared.play
        self.hosts = tuple(hosts)
        self.order: Place = (shared.index, batch)
        self.label = shared.label
        self.handlers = shared.handlers
        self.layers = shared.layers
        self.strategy = shared.strategy
        self.clocks = Clocks(hosts, self.run.gate)
        self.scopes = Scopes(self)
        self.file_layers: dict[str, Sequence[Layer]] = {}
        self.walks: dict[str, HostWalk] = {}
        self.shared_magic = play_magic(self)
        self.gone: set[str] = set()
        """Hosts that ended the play early, as ``end_host`` does."""
        self.ended = False
        self.broken = False
        self._magic: dict[str, Layer] = {}
        self._targets: dict[str, Targets] = {}
        self._turns: dict[Place, threading.Semaphore] = {}
        self._lock = threading.Lock()
        self._failed: set[str] = set()

    # Running

    def execute(self) -> None:
        """Run all hosts through the batch; returns when the last one has left it."""
        run = self.run
        run.notes.begin(self.hosts, self.order)
        executor = run.executor(len(self.hosts))
        self.walks = {name: HostWalk(self, run.host(name)) for name in self.hosts}
        futures: list[Future[None]] = [executor.submit(self._through, walk) for walk in self.walks.values()]
        try:
            wait(futures)
        except KeyboardInterrupt:
            self._stop()
            wait(futures, timeout=run.options.stop_after)
            raise
        for future in futures:
            future.result()

    def _through(self, walk: HostWalk) -> None:
        """One host's whole way, and what its end means."""
        host, run = walk.host, self.run
        try:
            with run.gate:
                self._walk(walk)
        except Stopped:
            run.interrupted = True
        except KeyboardInterrupt:
            run.interrupted = True
            self._stop()
        except PlanMismatch as mismatch:
            host.failed = True
            run.mismatched(host.name, mismatch)
        except BaseException:
            self._stop()
            raise
        finally:
            run.left_notified(host.name, walk.handlers.waiting)
            self.clocks.leave(host.name)
            run.notes.retire(host.name)

    def _stop(self) -> None:
        """Let every host stop where it is."""
        self.run.stop()
        self.clocks.stop()

    def _walk(self, walk: HostWalk) -> None:
        try:
            walk.load_files()
            walk.through(self.shared.sections)
        except TaskFailed:
            self._failed_for_good(walk)
        except PlayEnds:
            self.ended = True
        except GivenUp:
            walk.host.failed = True
            self.broken = True
        except ProvisionError as error:
            if isinstance(error, PlanMismatch):
                raise
            self._broken_off(walk, error)
        except (HostEnds, BatchEnds, RoleEnds):
            # The host is through with the batch, and nothing went wrong that is not noted already.
            self.gone.add(walk.host.name)
        finally:
            walk.handlers.settle_journal()

    def _failed_for_good(self, walk: HostWalk) -> None:
        """The host leaves the play; with ``force_handlers`` what it was notified of still runs."""
        walk.host.failed = True
        if not self.shared.force_handlers:
            return
        try:
            walk.handlers.run((*walk.place[:1], 1 << 20), last=True)
        except (TaskFailed, HostEnds):
            pass  # noted where it happened; the host has failed anyway

    def _broken_off(self, walk: HostWalk, error: ProvisionError) -> None:
        """Something is wrong that belongs to no task, such as a vars file: the host fails."""
        walk.host.failed = True
        self.run.host_problem(walk.host.name, self, error)

    def failed_at(self, host: str, place: Place) -> None:
        """A host failed in a task: those that wait behind it will want to know."""
        self.clocks.fatal.add(place)
        with self._lock:
            self._failed.add(host)

    def too_many_failed(self) -> bool:
        """Whether more of the batch failed than ``max_fail_percentage`` allows."""
        limit = self.max_fail_percentage
        if limit is None:
            return False
        failed = sum(1 for name in self.hosts if self.run.host(name).failed or name in self._failed)
        return failed / max(1, len(self.hosts)) > limit / 100

    # What tasks ask of their play

    @property
    def meets(self) -> bool:
        """Whether hosts ever wait for each other here."""
        return self.strategy not in FREE

    @property
    def max_fail_percentage(self) -> float | None:
        """See the keyword."""
        return self.shared.max_fail_percentage

    @property
    def all_together(self) -> bool:
        """Whether hosts take every task together, because a failure of one concerns all."""
        return self.shared.max_fail_percentage is not None

    def magic(self, walk: HostWalk) -> Layer:
        """The magic variables of a host."""
        known = self._magic.get(walk.host.name)
        if known is None:
            known = self._magic[walk.host.name] = host_magic(self, walk)
        return known

    def selects(self, inherited: Inherited, walk: HostWalk) -> bool:
        """Whether tags let a task take part."""
        options = self.run.options
        if not options.skip_tags and options.tags == {"all"} and not inherited.directives.tags:
            return True
        raw = inherited.directives.tags
        if any("{" in str(tag) for tag in raw):
            raw = walk.scope(inherited).render(list(raw))
        return selected(tag_set(raw), options.tags, options.skip_tags)

    def starts_at(self, task: Task, role: RoleSource | None) -> bool:
        """Whether ``--start-at-task`` means this task."""
        pattern = self.run.options.start_at_task
        return pattern is None or starts_at(pattern, task, role)

    def address(self, task: Task) -> str:
        """``play[0]/site.yml:12``."""
        kind = f":{task.action}" if task.implicit else ""
        return f"play[{self.shared.index}]/{self.shared.relative(task.span.file)}:{task.span.line}{kind}"

    def turns(self, place: Place, limit: int) -> threading.Semaphore:
        """The turns of a task with ``throttle``."""
        with self._lock:
            return self._turns.setdefault(place, threading.Semaphore(limit))

    # Connections

    def target(self, walk: HostWalk, item: Item, host: str | None) -> Target:
        """Where an item's steps go: the host itself, or the one the task is delegated to; with the account its agent runs as."""
        name = walk.host.name if host is None else host
        scope = item.scope if host is None else self.delegate_scope(host)
        targets = self._targets.setdefault(name, Targets(self.run.options))
        target = targets.of(name, scope, item.job.inherited.directives, delegated=host is not None)
        become = item.settings.become
        return self.run.elevations.of(target, become, wanted=become.wanted or self.run.may_become(name))

    def delegate_scope(self, host: str) -> Scope:
        """The variables of another host, for reaching it."""
        return Scope(self.run.expressions, self.run.host_scope(host, self, within=True))

    def is_local(self, walk: HostWalk) -> bool:
        """Whether a host's node is this machine."""
        scope = walk.scope(self.shared.inherited)
        targets = self._targets.setdefault(walk.host.name, Targets(self.run.options))
        return targets.of(walk.host.name, scope, self.shared.inherited.directives).connection == "local"

    def account(self, item: Item, agent: SharedAgent) -> str | None:
        """The account a step runs as; None for that of the agent."""
        become, runs_as = item.settings.become, agent.info.user
        login = agent.info.login or agent.target.user or (runs_as if agent.target.become is None else "")
        wanted = become.user if become.wanted else login
        return None if not wanted or wanted == runs_as else wanted
