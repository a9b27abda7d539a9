"""What came of one step before and after it was judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.events import LostKind, Status
from provisioner.ports import Background, Reply
from provisioner.values import Unknown


@dataclass
class Outcome:
    """What a step gave: the node's reply, or what an action of the controller made up.

    result      return values as Ansible has them (``failed``, ``changed``, ``skipped``, ``msg``, …)
    deferred    why it could not be decided what the step does
    unknown     why its result is not known before the apply
    tainted     why its changes are not certain
    facts_applied  whether ``ansible_facts`` of the result are variables of the host already
    """

    result: dict[str, Any] = field(default_factory=dict)
    changes: list[Mapping[str, Any]] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    deferred: str | None = None
    unknown: str | None = None
    tainted: str | None = None
    unreachable: bool = False
    lost: LostKind = "unreachable"
    """How the host was lost, if it was."""
    facts_applied: bool = False
    message: str | None = None
    """What to show instead of the result's ``msg``."""

    @classmethod
    def of(cls, reply: Reply) -> Outcome:
        """A node's reply as it is."""
        return cls(dict(reply.result), list(reply.changes), list(reply.diffs), reply.seconds, reply.deferred, reply.unknown, reply.tainted)

    @classmethod
    def merged(cls, replies: Sequence[Reply], **result: Any) -> Outcome:
        """Several replies as one step: changed or failed when one of them is; the last failure gives the message."""
        whole = cls({"changed": False})
        for reply in replies:
            part = cls.of(reply)
            whole.changes += part.changes
            whole.diffs += part.diffs
            whole.seconds += part.seconds
            whole.deferred = whole.deferred or part.deferred
            whole.unknown = whole.unknown or part.unknown
            whole.tainted = whole.tainted or part.tainted
            whole.result["changed"] = whole.result["changed"] or part.result.get("changed", False)
            if part.result.get("failed"):
                whole.result.update(failed=True, msg=part.result.get("msg", ""))
        whole.result.update(result)
        return whole

    @classmethod
    def ok(cls, **result: Any) -> Outcome:
        """Done, nothing changed."""
        return cls({"changed": False, **result})

    @classmethod
    def failure(cls, msg: Any, **result: Any) -> Outcome:
        """Not done, with the reason; nearly always a text."""
        return cls({"changed": False, "failed": True, "msg": msg, **result})

    @classmethod
    def broken(cls, why: str) -> Outcome:
        """The task itself is not sound. Results say so in Ansible's way, which playbooks look for; people are shown the reason alone."""
        outcome = cls.failure(f"Task failed: {why}")
        outcome.message = why
        return outcome

    @classmethod
    def skipped(cls, reason: str, **result: Any) -> Outcome:
        """Not asked for."""
        return cls({"changed": False, "skipped": True, "skip_reason": reason, **result})

    @classmethod
    def waiting(cls, because: str) -> Outcome:
        """Not known before the apply what the step does."""
        return cls({"changed": Unknown(because)}, deferred=because)

    @property
    def failed(self) -> bool:
        """Whether the step itself says that it failed."""
        return self.result.get("failed") is True


@dataclass(frozen=True)
class NodeCall:
    """One module call an action wants on the node; parameters are checked and coerced already."""

    module: str
    params: Mapping[str, Any]
    background: Background | None = None


@dataclass
class Work:
    """What an action wants done on the node, and how the replies become its outcome; ``always``: also where a call failed."""

    calls: list[NodeCall]
    finish: Callable[[list[Reply]], Outcome] | None = None
    always: bool = False


@dataclass
class Verdict:
    """A judged step: ``status`` and the value that ``register`` keeps."""

    status: Status
    outcome: Outcome
    value: Any
    msg: str = ""
    reason: str = ""
    retry: bool = False
    attempts: int = 0

    @property
    def failed(self) -> bool:
        """Whether the task fails by this step."""
        return self.status in ("failed", "unreachable")
