"""The agents of a run: started when first needed, one at a time used, kept for the whole run, closed at its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from provisioner.engine.notes import Notes
from provisioner.engine.options import Options
from provisioner.engine.signals import Stopped
from provisioner.errors import HostUnreachable, WrongPassword
from provisioner.ports import Agent, AgentInfo, Connect, Executed, Mode, Reply, Step, Target

T = TypeVar("T")


class SharedAgent:
    """An agent that several hosts' threads may use (delegation): calls wait for each other.

    ``busy`` is (task or module, since when) while a call is under way, for the watch that names stuck hosts.
    """

    def __init__(self, agent: Agent, target: Target) -> None:
        self._agent = agent
        self._lock = threading.RLock()
        self.target = target
        self.busy: tuple[str, float] | None = None
        self.broken = False

    @property
    def info(self) -> AgentInfo:
        """What the agent said of itself."""
        return self._agent.info

    def run(
        self,
        steps: Sequence[Step],
        on_reply: Callable[[Reply], None],
        *,
        contents: Mapping[str, Callable[[], bytes]] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
        on_data: Callable[[int, bytes, bool], None] | None = None,
    ) -> int:
        """See ``ports.Agent.run``."""
        waiting = {step.id: step.module for step in steps}

        def replied(reply: Reply) -> None:
            waiting.pop(reply.id, None)
            self.busy = (next(iter(waiting.values()), ""), time.monotonic())
            on_reply(reply)

        with self._lock:
            return self._guarded(
                steps[0].module if steps else "",
                lambda: self._agent.run(steps, replied, contents=contents, on_progress=on_progress, on_data=on_data),
            )

    def journal(self, add: Sequence[str] = (), done: Sequence[str] = ()) -> None:
        """See ``ports.Agent.journal``."""
        with self._lock:
            self._guarded("journal", lambda: self._agent.journal(add, done))

    def execute(
        self, command: str | Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, user: str | None = None
    ) -> Executed:
        """See ``ports.Agent.execute``."""
        with self._lock:
            return self._guarded("command", lambda: self._agent.execute(command, stdin=stdin, timeout=timeout, user=user))

    def close(self) -> None:
        """See ``ports.Agent.close``."""
        self.broken = True
        self._agent.close()

    def _guarded(self, what: str, call: Callable[[], T]) -> T:
        if self.broken:
            raise HostUnreachable(f"the connection to {self.target.host} is closed")
        self.busy = (what, time.monotonic())
        try:
            return call()
        except HostUnreachable:
            self.broken = True
            raise
        finally:
            self.busy = None


class Agents:
    """All agents by target."""

    def __init__(self, connect: Connect, options: Options, notes: Notes) -> None:
        self._connect = connect
        self._options = options
        self._notes = notes
        self._lock = threading.Lock()
        self._agents: dict[Target, SharedAgent] = {}
        self._starting: dict[Target, threading.Lock] = {}
        self._closed = False
        self._proving = threading.Lock()
        self._proved: set[str] = set()
        self._refused: dict[str, str] = {}
        self._watch: threading.Thread | None = None
        self._stop_watch = threading.Event()

    def of(self, target: Target) -> SharedAgent:
        """The agent of a target, started when there is none or the last one broke. Raises ``HostUnreachable`` and ``Stopped``."""
        agent = self._agents.get(target)
        if agent is not None and not agent.broken:
            return agent
        with self._lock:
            starting = self._starting.setdefault(target, threading.Lock())
        with starting:
            agent = self._agents.get(target)
            if agent is None or agent.broken:
                self._refuse_when_closed()
                agent = SharedAgent(self._started(target, self._options.mode), target)
                self._agents[target] = agent
                if self._closed:
                    agent.close()
                    self._refuse_when_closed()
                self._start_watch()
            return agent

    def _started(self, target: Target, mode: Mode) -> Agent:
        """Start an agent. A password is tried on one host first: were it wrong, trying it everywhere would lock accounts."""
        password = target.become.password if target.become is not None else None
        if password is None or password in self._proved:
            return self._connect(target, mode)
        with self._proving:
            if password not in self._proved:
                if password in self._refused:
                    raise HostUnreachable(
                        f"not tried: the password for becoming another user was wrong on {self._refused[password]}",
                        help="give the right one with -K (--ask-become-pass) or in ansible_become_password",
                    )
                try:
                    agent = self._connect(target, mode)
                except WrongPassword:
                    self._refused[password] = target.host
                    raise
                self._proved.add(password)
                return agent
        return self._connect(target, mode)

    def started(self, target: Target) -> bool:
        """Whether an agent of this target runs."""
        agent = self._agents.get(target)
        return agent is not None and not agent.broken

    def raw(self, target: Target, command: str, timeout: float | None = None) -> Executed:
        """Run a shell command without an agent."""
        self._refuse_when_closed()
        return self._connect.raw(target, command, timeout)

    def drop(self, host: str) -> None:
        """End the agents of a host; the next use starts new ones."""
        for target, agent in list(self._agents.items()):
            if target.host == host:
                del self._agents[target]
                agent.close()

    def close(self) -> None:
        """End all agents, several at a time: each may wait for its node."""
        self._closed = True
        self._stop_watch.set()
        with self._lock:
            agents = list(self._agents.values())
            self._agents.clear()
        threads = [threading.Thread(target=agent.close, name="close", daemon=True) for agent in agents[1:]]
        for thread in threads:
            thread.start()
        for agent in agents[:1]:
            agent.close()
        for thread in threads:
            thread.join(timeout=10)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise Stopped

    def _start_watch(self) -> None:
        if self._watch is None and self._options.stuck_after > 0:
            with self._lock:
                if self._watch is None:
                    self._watch = threading.Thread(target=self._look_for_stuck, name="watch", daemon=True)
                    self._watch.start()

    def _look_for_stuck(self) -> None:
        """Name hosts that do not answer; give up on them after the set time by closing their agent."""
        options = self._options
        named: dict[Target, float] = {}
        pause = min(options.stuck_after, options.set_aside_after or options.stuck_after) / 4
        while not self._stop_watch.wait(pause):
            now = time.monotonic()
            for target, agent in list(self._agents.items()):
                busy = agent.busy
                if busy is None or not busy[0]:
                    continue
                seconds = now - busy[1]
                aside = options.set_aside_after is not None and seconds >= options.set_aside_after
                if aside or (seconds >= options.stuck_after and named.get(target) != busy[1]):
                    named[target] = busy[1]
                    self._notes.stuck(target.host, busy[0], seconds, aside)
                if aside:
                    agent.close()
