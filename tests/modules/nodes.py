"""Single steps on a throw-away node, over SSH and with real agents: planned, applied, applied again."""

from __future__ import annotations

from typing import Any

from provisioner import lab
from provisioner.node.session import find_module
from provisioner.plan.compare import compare_changes
from provisioner.ports import Agent, Become, Mode, Reply, Step, Target
from provisioner.schema import shipping
from provisioner.schema.convert import coerce
from provisioner.schema.registry import Registry
from provisioner.transport.connect import Connector
from provisioner.values import Unknown

REGISTRY = Registry()


def _sources(name: str) -> dict[str, str]:
    info = REGISTRY.find(name)
    assert info is not None, f"no module {name}"
    return shipping.sources_of(info)


class Steps:
    """The steps of one run on a node."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._count = 0

    def run(self, module: str, params: dict[str, Any] | None = None, **step: Any) -> Reply:
        values, problems = coerce(find_module(module), params or {})
        assert not list(problems), [problem.message for problem in problems]
        self._count += 1
        replies: list[Reply] = []
        self.agent.run([Step(self._count, module, values, **step)], replies.append)
        return replies[0]

    def close(self) -> None:
        self.agent.close()


class Node:
    """A node of a lab. ``apply`` is a run that goes on; each ``plan`` is one of its own."""

    def __init__(self, made: lab.Lab, index: int = 1) -> None:
        node = made.nodes[index - 1]
        self._target = Target(
            host=node.name,
            address=node.address,
            port=node.port,
            user="admin",
            private_key_file=str(made.key),
            ssh_args=f"-o UserKnownHostsFile={made.known_hosts}",
            become=Become(),
        )
        self._applying: Steps | None = None

    def _start(self, mode: Mode) -> Steps:
        return Steps(Connector(_sources)(self._target, mode))

    @property
    def apply(self) -> Steps:
        if self._applying is None:
            self._applying = self._start("apply")
        return self._applying

    def plan(self) -> Steps:
        return self._start("plan")

    def close(self) -> None:
        if self._applying is not None:
            self._applying.close()
            self._applying = None

    def sh(self, script: str, *, ok: bool = True) -> str:
        """What a shell script prints on the node."""
        done = self.apply.agent.execute(["/bin/sh", "-c", script], timeout=120)
        assert done.rc == 0 or not ok, (script, done.stderr.decode())
        return done.stdout.decode().strip()

    def converge(self, module: str, params: dict[str, Any]) -> Reply:
        """Plan, apply, apply again. The plan must say what is done, and the second apply do nothing."""
        steps = self.plan()
        try:
            planned = steps.run(module, params)
        finally:
            steps.close()
        made = self.apply.run(module, params)
        assert not made.result["failed"], made.result
        assert not planned.deferred, planned.deferred
        missing, extra = compare_changes(_plain(planned.changes), _plain(made.changes))
        assert (missing, extra) == ((), ()), "the plan is not what the apply did"
        again = self.apply.run(module, params)
        assert again.changes == [], "the second run changes something"
        assert not again.result["changed"]
        return made

    def refuses(self, module: str, params: dict[str, Any]) -> str:
        """The message with which both plan and apply refuse."""
        steps = self.plan()
        try:
            planned = steps.run(module, params)
        finally:
            steps.close()
        made = self.apply.run(module, params)
        assert planned.result["failed"], planned
        assert made.result["failed"], made
        return str(made.result["msg"])


def _plain(value: Any) -> Any:
    """Changes as documents carry them."""
    if isinstance(value, Unknown):
        return {"unknown": value.because}
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    return [_plain(child) for child in value] if isinstance(value, list) else value


def shown(reply: Reply) -> list[str]:
    """Kind and target of each change, with a question mark for one that is not certain."""
    return [f"{'' if change['certain'] else '? '}{change['kind']} {change['target']}" for change in reply.changes]
