"""Runs single steps of modules on this machine: planned, applied, applied again."""

from __future__ import annotations

from typing import Any

from provisioner.node.session import Session, find_module
from provisioner.schema.convert import coerce


class Steps:
    """A session: the steps of one run, which share an overlay when it plans."""

    def __init__(self, mode: str = "apply") -> None:
        self._session = Session(mode, {}, self._ask)
        self._count = 0

    @staticmethod
    def _ask(kind: str, **data: Any) -> bytes:
        if kind == "progress":
            return b""
        raise AssertionError(f"a step asked the controller for {kind}: {data}")

    def run(self, module: str, params: dict[str, Any] | None = None, **step: Any) -> dict[str, Any]:
        """The reply; parameters as a playbook has them."""
        values, problems = coerce(find_module(module), params or {})
        assert not list(problems), [problem.message for problem in problems]
        self._count += 1
        return self._session.run({"id": self._count, "module": module, "params": values, **step})


def shown(reply: dict[str, Any]) -> list[str]:
    """Kind and target of each change, with a question mark for one that is not certain."""
    return [f"{'' if change['certain'] else '? '}{change['kind']} {change['target']}" for change in reply["changes"]]


def converge(module: str, params: dict[str, Any]) -> dict[str, Any]:
    """Plan, apply, apply again; returns the apply's reply. The plan must say what is done, and the second apply do nothing."""
    planned = Steps("plan").run(module, params)
    made = Steps().run(module, params)
    assert not made["result"]["failed"], made["result"]
    assert not planned["deferred"], planned["deferred"]
    assert planned["changes"] == made["changes"], "the plan is not what the apply did"
    assert not Steps().run(module, params)["changes"], "the second run changes something"
    return made
