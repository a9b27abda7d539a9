"""Connections that are made a second time, the way the first ones were."""

from __future__ import annotations

from provisioner.errors import HostUnreachable
from provisioner.ports import Agent, Connect, Executed, Mode, Target


class Remembering:
    """A ``Connect`` that notes to where each host's agent was started, so that the tests of ``verify`` reach it the same way."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self.targets: dict[str, Target] = {}
        """Host → its target; only hosts that were reached."""

    def __call__(self, target: Target, mode: Mode) -> Agent:
        """Start an agent and take note."""
        agent = self._connect(target, mode)
        known = self.targets.get(target.host)
        if known is None or known.become is None:
            self.targets[target.host] = target
        return agent

    def raw(self, target: Target, command: str, timeout: float | None = None) -> Executed:
        """See ``ports.Connect``."""
        return self._connect.raw(target, command, timeout)

    def again(self, host: str) -> Agent:
        """A fresh agent for a host that was reached before. Raises ``HostUnreachable``."""
        target = self.targets.get(host)
        if target is None:
            raise HostUnreachable(f"{host} was not reached by the plan")
        return self._connect(target, "plan")
