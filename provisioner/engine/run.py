"""A run from end to end: playbooks over an inventory, through agents, to events and an exit code.

Run(playbooks, inventory, connect, loader, options=…).execute(listener) → Outcome
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Diagnostic
from provisioner.engine.accounts import Elevations, hosts_that_become
from provisioner.engine.actions import FOREIGN, Action, Actions
from provisioner.engine.agents import Agents
from provisioner.engine.batch import STEPS_AT_ONCE
from provisioner.engine.clocks import Gate
from provisioner.engine.contents import Contents
from provisioner.engine.expressions import Expressions, Scope
from provisioner.engine.hands import Hands, LiveHands, PlannedHands
from provisioner.engine.magic import run_magic
from provisioner.engine.notes import Notes
from provisioner.engine.options import Options
from provisioner.engine.play import PlayRun, PlayShared
from provisioner.engine.prompts import play_layers
from provisioner.engine.serial import batches, ordered
from provisioner.engine.signals import Stopped
from provisioner.engine.state import HostState
from provisioner.engine.variables import Peers, host_layers, inventory_layers
from provisioner.errors import InputError, Interrupted, PlanMismatch, ProvisionError
from provisioner.events import (
    BatchFinished,
    Event,
    Listener,
    PlayFinished,
    PlayStarted,
    Record,
    RunFinished,
    RunStarted,
    StepFinished,
    TaskFinished,
)
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Play, Playbook, Task
from provisioner.ports import Connect
from provisioner.schema.registry import ModuleInfo
from provisioner.templating import variables as table
from provisioner.templating.environment import Environment
from provisioner.templating.variables import Layer, Level

if TYPE_CHECKING:
    from provisioner.bridge.bridge import Bridge
    from provisioner.inventory.model import Inventory

Expect = Callable[[StepFinished], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended; ``document`` is the JSON document of its events."""

    exit_code: int
    document: dict[str, Any]
    record: Record


@dataclass
class _Ends:
    """What decides about the exit code besides the statistics."""

    mismatches: dict[str, PlanMismatch] = field(default_factory=dict)
    problems: set[str] = field(default_factory=set)
    waiting: dict[str, list[str]] = field(default_factory=dict)


class Run:
    """One run. ``expect`` is called with every finished step and may raise ``PlanMismatch``, which ends the run on that host."""

    def __init__(
        self,
        playbooks: Sequence[Playbook],
        inventory: Inventory,
        connect: Connect,
        loader: Loader,
        options: Options | None = None,
        *,
        environment: Environment | None = None,
        bridge: Bridge | None = None,
        expect: Expect | None = None,
        merge_hashes: bool = False,
    ) -> None:
        self.playbooks = tuple(playbooks)
        self.inventory = inventory
        self.loader = loader
        self.registry = loader.context.registry
        self.options = options or Options()
        self.environment = environment or Environment()
        self.bridge = bridge
        self.expect: Expect = expect or (lambda step: None)
        self.steps_at_once = STEPS_AT_ONCE if expect is None else 0
        """How many steps of a host may be sent together; with something to hold them against, each is judged before the next."""
        self.merge_hashes = merge_hashes
        self.actions = Actions()
        self.gate = Gate(self.options.forks)
        self.contents = Contents(self.environment.read_bytes)
        self.hands: Hands = PlannedHands() if self.options.planning else LiveHands()
        self.interrupted = False
        self.stopping = False
        self.notes: Notes
        self.agents: Agents
        self.expressions: Expressions
        self._connect = connect
        self._hosts: dict[str, HostState] = {}
        self._version = 0
        self._groups: tuple[int, dict[str, list[str]]] = (-1, {})
        self._group_names: dict[str, tuple[int, list[str]]] = {}
        self._modules: dict[str, ModuleInfo] = {}
        self._named: dict[tuple[int, str], tuple[Task, Task]] = {}
        self.elevations = Elevations()
        self._becoming: Mapping[str, bool] = {}
        self._ends = _Ends()
        self._executor: tuple[int, Executor] | None = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    # The run

    def execute(self, listener: Listener) -> Outcome:
        """Run everything; problems of hosts are in the outcome, those of the input are raised."""
        started = time.monotonic()
        record = Record(self.options.command)
        tell = _both(record, listener)
        self._begin(tell)
        try:
            self._plays()
        except (KeyboardInterrupt, Stopped):
            self.interrupted = True
        except BaseException:
            self._end()
            self.notes.close()
            raise
        self._end()
        self.notes.flush()
        finished = self._finished(record, time.monotonic() - started)
        self.notes.tell(finished)
        self.notes.close()
        return Outcome(finished.exit_code, record.document(), record)

    def _begin(self, tell: Listener) -> None:
        options = self.options
        self.notes = Notes(tell, options.secrets)
        self.agents = Agents(self._connect, options, self.notes)
        self.expressions = Expressions(self.environment, read_only=options.planning, warn=self._warn)
        self._magic = run_magic(self)
        self._becoming = hosts_that_become(self)
        paths = tuple(str(playbook.path) for playbook in self.playbooks)
        self.notes.tell(RunStarted(options.command or options.mode, options.mode, paths, tuple(self.inventory.hosts)))

    def _end(self) -> None:
        try:
            self.agents.close()
            self._keep_facts()
        finally:
            if self._executor is not None:
                self._executor[1].shutdown(wait=not self.interrupted, cancel_futures=True)

    def _plays(self) -> None:
        index = 0
        for playbook in self.playbooks:
            for play in playbook.plays:
                if not self._play(play, index):
                    return
                index += 1

    def _play(self, play: Play, index: int) -> bool:
        """One play; False when the run is over."""
        layers = play_layers(self, play)
        names, in_order = self._hosts_of(play, layers)
        usable = [name for name in in_order if self.host(name).usable]
        shared = PlayShared(self, play, index, usable, layers, names)
        label = shared.label
        self.notes.tell(PlayStarted(label, tuple(usable), index, play.span), (index,))
        sizes = [_rendered(self.play_scope(play, layers), item) for item in play.serial]
        parts = batches(usable, [size for size in sizes if size is not None], play.span)
        goes_on = True
        for number, hosts in enumerate(parts):
            batch = PlayRun(shared, hosts, number)
            batch.execute()
            failed = tuple(name for name in hosts if not self.host(name).usable)
            if len(parts) > 1:
                self.notes.tell(BatchFinished(label, tuple(hosts), failed), (*batch.order, 1 << 30))
            goes_on = not (self.stopping or batch.broken or len(failed) == len(hosts))
            if not goes_on or batch.ended:
                break
        failed = tuple(name for name in usable if not self.host(name).usable)
        self.notes.flush()
        self.notes.tell(PlayFinished(label, index, failed))
        return goes_on

    def _hosts_of(self, play: Play, layers: Sequence[Layer]) -> tuple[list[str], list[str]]:
        """The hosts of a play in the order of the inventory, and in that of its keyword ``order``."""
        scope = self.play_scope(play, layers)
        pattern = _rendered(scope, play.hosts)
        if isinstance(pattern, (list, tuple)):
            pattern = [str(part) for part in pattern]
        order = _rendered(scope, play.order)
        names = self.inventory.match(pattern, self.options.limit)
        return names, ordered(names, None if order is None else str(order), play.span)

    def stop(self) -> None:
        """Let every host stop where it is."""
        self.stopping = True
        self._stopped.set()
        self.agents.close()

    def sleep(self, seconds: float) -> None:
        """Wait without keeping others from working. Raises ``Stopped``."""
        with self.gate.away():
            stopped = self._stopped.wait(seconds)
        if stopped:
            raise Stopped

    def executor(self, hosts: int) -> Executor:
        """The pool that hosts run in: one worker a host, since hosts may wait for each other; ``forks`` limits how many work."""
        if self._executor is None or self._executor[0] < hosts:
            if self._executor is not None:
                self._executor[1].shutdown(wait=True)
            self._executor = (hosts, self.options.executor(hosts))
        return self._executor[1]

    # What is known of hosts

    def host(self, name: str) -> HostState:
        """The state of a host."""
        state = self._hosts.get(name)
        if state is None:
            made = HostState(name, started=self.options.start_at_task is None)
            self._recall(made)
            with self._lock:
                state = self._hosts.setdefault(name, made)
        return state

    def _recall(self, state: HostState) -> None:
        """What an earlier run kept of a host's facts."""
        cache = self.options.facts
        if cache is not None and not self.options.flush_facts:
            kept = cache.load(state.name)
            state.learn(kept)
            state.gathered = bool(kept.get("module_setup"))

    def _keep_facts(self) -> None:
        cache = self.options.facts
        if cache is None or self.options.planning:
            return
        try:
            for name, state in self._hosts.items():
                if state.injected:
                    cache.save(name, state.injected)
                else:
                    cache.forget(name)
        except InputError as error:
            # What the run did has been done, and is to be reported.
            for found in error.diagnostics:
                self._warn(found)

    @property
    def inventory_version(self) -> int:
        """Grows with every change of the inventory during the run."""
        return self._version

    def inventory_changed(self) -> None:
        """``add_host``, ``group_by`` or ``refresh_inventory`` did something."""
        self._version += 1

    def refresh_inventory(self) -> None:
        """Read the inventory's sources again."""
        self.inventory.refresh()
        self.inventory_changed()

    def forgive(self) -> None:
        """``clear_host_errors``: failed hosts are as good as new for what follows; lost ones stay lost, as in Ansible."""
        for state in self._hosts.values():
            state.failed = False

    @property
    def groups(self) -> dict[str, list[str]]:
        """The magic variable ``groups``."""
        if self._groups[0] != self._version:
            self._groups = (self._version, self.inventory.groups_dict())
        return self._groups[1]

    def group_names(self, host: str) -> list[str]:
        """The magic variable ``group_names``."""
        known = self._group_names.get(host)
        if known is None or known[0] != self._version:
            names = self.inventory.group_names(host) if self.inventory.host(host) is not None else []
            known = self._group_names[host] = (self._version, names)
        return known[1]

    def play_scope(self, play: Play, layers: Sequence[Layer]) -> Scope:
        """The scope of a play's own keywords: no host, only its variables and those of the command line."""
        magic = Layer(Level.MAGIC, {**self._magic, "playbook_dir": str(play.folder.absolute())}, "magic")
        return Scope(
            self.expressions, table.Scope([*layers, magic], groups=self.groups, peers=Peers(self, None)), (play.folder.absolute(),)
        )

    def host_scope(self, name: str, play: PlayRun | None, *, within: bool = False) -> table.Scope:
        """What others see of a host: ``hostvars[name]``; variables of the play only ``within`` it, as for the target of a delegation."""
        folder = play.play.folder if play is not None else self.playbooks[0].path.parent
        layers = [
            *inventory_layers(self, name, folder),
            *host_layers(self.host(name)),
            *(play.layers if play and within else self.extra_layers),
        ]
        magic: dict[str, Any] = dict(play.shared_magic) if play else dict(self._magic)
        layers.append(Layer(Level.MAGIC, magic, "magic"))
        return table.Scope(
            layers,
            host=name,
            groups=self.groups,
            group_names=self.group_names(name),
            peers=Peers(self, play),
            merge=self.merge_hashes,
        )

    @property
    def extra_layers(self) -> tuple[Layer, ...]:
        """Extra variables; text that looks like a template is one."""
        return (Layer(Level.EXTRA, self.options.extra_vars, "-e"),) if self.options.extra_vars else ()

    # Modules and accounts

    def module(self, task: Task) -> ModuleInfo:
        """The module of a task's action. Raises ``InputError`` for one that does not exist."""
        info = self._module_of(task)
        if info is None:
            raise _no_module(self, task)
        return info

    def _module_of(self, task: Task) -> ModuleInfo | None:
        # As written: a short name may mean a module of a library/, the full name of one of ours never does.
        key = task.action if task.action.count(".") >= 2 else task.written
        info = self._modules.get(key)
        if info is None:
            info = self.registry.find(key, task.directives.collections) or self.registry.find(task.action)
            if info is not None:
                self._modules[key] = info
        return info

    def action(self, task: Task) -> Action | None:
        """What the controller has to do for a task; None when a module on the node does all the work."""
        info = self._module_of(task)
        if info is not None and info.origin == "library":
            return None if info.declared else FOREIGN
        known = self.actions.find(task.action)
        return FOREIGN if known is None and info is not None and not info.declared else known

    def named(self, task: Task, name: str) -> Task:
        """A task whose action is a template, as the task with this action."""
        key = (id(task), name)
        known = self._named.get(key)
        if known is None:
            # The original is kept with it, so that its id stays its own.
            known = self._named[key] = (replace(task, action=self.loader.actions.canonical(name), written=name), task)
        return known[0]

    def may_become(self, host: str) -> bool:
        """Whether anything in the run may become another user on a host."""
        return self._becoming.get(host, self.options.become)

    # Notes on how it ends

    def _warn(self, diagnostic: Diagnostic) -> None:
        self.notes.warn(diagnostic.message, diagnostic.span, why=diagnostic.why, help=diagnostic.help)

    def mismatched(self, host: str, mismatch: PlanMismatch) -> None:
        """An apply did something else than was planned."""
        self._ends.mismatches[host] = mismatch
        self.notes.warn(f"{host}: {mismatch.message}", mismatch.span, why=mismatch.why, help=mismatch.help)

    def host_problem(self, host: str, play: PlayRun, error: ProvisionError) -> None:
        """A host cannot go on because of something that belongs to no task."""
        found = error.diagnostic()
        self._ends.problems.add(host)
        task = "(play)"
        step = StepFinished(
            host, play.label, None, task, "play", found.span or play.play.span, "failed", f"play[{play.order[0]}]", msg=error.message
        )
        self.notes.tell(step, play.order, host)
        done = TaskFinished(host, play.label, task, "play", step.source, "failed", step.address)
        self.notes.tell(done, play.order, host)
        self.notes.warn(found.message, found.span, why=found.why, help=found.help, hosts=(host,))

    def left_notified(self, host: str, handlers: Sequence[str]) -> None:
        """Handlers that were notified on a host and have not run."""
        if handlers:
            with self._lock:
                self._ends.waiting.setdefault(host, []).extend(handlers)

    def _finished(self, record: Record, seconds: float) -> RunFinished:
        pending = {host: tuple(dict.fromkeys(names)) for host, names in self._ends.waiting.items()}
        stats = dict(record.hosts)
        code = self._exit_code()
        return RunFinished(code == 0, code, stats, seconds, pending if not self.options.planning else {})

    def _exit_code(self) -> int:
        if self.interrupted:
            return Interrupted.exit_code
        if self._ends.mismatches:
            return PlanMismatch.exit_code
        states = self._hosts.values()
        if any(state.failed for state in states):
            return 2
        return 4 if any(state.unreachable for state in states) else 0


def _both(first: Listener, second: Listener) -> Listener:
    def tell(event: Event) -> None:
        first(event)
        second(event)

    return tell


def _rendered(scope: Scope, value: Any) -> Any:
    """A keyword of a play; one that is left out by ``omit`` is None."""
    value = scope.render(value) if isinstance(value, (str, list, tuple)) else value
    return None if value is scope.omit else value


def _no_module(run: Run, task: Task) -> ProvisionError:
    return InputError.of(f"unknown module {task.written!r}", task.span, help=run.registry.nearest(task.written))
