"""A task on one host on its way: prepared, perhaps queued with others, settled when all its items have their verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provisioner.engine.clocks import Place
from provisioner.engine.expressions import Scope
from provisioner.engine.inherit import Inherited
from provisioner.engine.outcome import NodeCall, Outcome, Verdict
from provisioner.engine.settings import StepSettings
from provisioner.engine.state import HostState, Undo
from provisioner.playbook.model import Task
from provisioner.ports import Reply, Step
from provisioner.values import Unknown


@dataclass
class Item:
    """One round of a task: the task itself, or one item of its loop.

    Either ``outcome`` is known already, or ``calls`` go to the node and ``finish`` makes an outcome of the replies.
    """

    job: Job
    index: int
    scope: Scope
    settings: StepSettings
    value: Any = None
    label: str | None = None
    address: str = ""
    maybe: str | None = None
    calls: Sequence[NodeCall] = ()
    finish: Callable[[list[Reply]], Outcome] | None = None
    always: bool = False
    """Whether ``finish`` is to see replies that failed, too."""
    outcome: Outcome | None = None
    steps: list[Step] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    attempts: int = 0
    delegated_to: str | None = None
    facts_of: HostState | None = None
    """Whose facts the task's facts become, when that is not the host itself (``delegate_facts``)."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What the loop adds to the item's result: ``item``, ``ansible_loop_var``…"""

    @property
    def ready(self) -> bool:
        """Whether nothing is to be asked of a node any more."""
        return self.outcome is not None or len(self.replies) == len(self.calls) or self.broken

    @property
    def broken(self) -> bool:
        """Whether a step failed, so that the item's later steps are not sent."""
        return bool(self.replies) and bool(self.replies[-1].result.get("failed"))

    def concluded(self) -> Outcome:
        """The outcome, now that the replies are there."""
        if self.outcome is not None:
            return self.outcome
        if self.finish is not None and (self.always or not self.broken):
            return self.finish(self.replies)
        if len(self.replies) == 1:
            return Outcome.of(self.replies[0])
        return Outcome.merged(self.replies)


@dataclass(frozen=True)
class Effect:
    """A change of a host's variables; ``kind``: set (facts by ``set_fact`` and ``register``), facts, include."""

    kind: str
    values: Mapping[str, Any]

    def on(self, host: HostState) -> Undo:
        """Make it; the returned function takes it back."""
        if self.kind == "facts":
            return host.learn(self.values)
        if self.kind == "include":
            return host.include(self.values)
        return host.assign_all(self.values)


@dataclass
class Job:
    """A task on a host with all its items.

    label       the name of the task, rendered for this host
    looped      whether the task has a loop, so that its result is a list of results
    complete    False while further items may come (loops that run one by one)
    late        raw texts that are evaluated when results are there, so that what they mention must not change before
    undo        takes back what preparing the task did to the host's variables, should the task not be reached after all
    effects     what the task did to variables, for hosts that share it (``run_once``)
    handler     for handlers: why it runs
    handlers_known  how many handlers the play had when the task was prepared
    due         what its steps note in the node's journal before they change anything; None before that was asked
    """

    task: Task
    inherited: Inherited
    place: Place
    address: str
    label: str
    scope: Scope
    no_log: bool = False
    looped: bool = False
    complete: bool = True
    items: list[Item] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    late: tuple[Any, ...] = ()
    undo: list[Undo] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    handler: str | None = None
    handlers_known: int = 0
    due: tuple[str, ...] | None = None
    announced: bool = False
    labels: Counter[str] = field(default_factory=Counter)
    expected: tuple[str | None, bool] | None = None
    """The registered name and whether facts are marked as on their way on behalf of this task."""
    tolerated: bool | None = None
    """Whether a failure of this task was found to be tolerated; None before that was asked."""

    @property
    def open(self) -> bool:
        """Whether a verdict is missing."""
        return not self.complete or len(self.verdicts) < len(self.items)

    def item_address(self, label: str | None) -> str:
        """The address of an item; equal labels are numbered."""
        if label is None:
            return self.address
        self.labels[label] += 1
        count = self.labels[label]
        return f"{self.address}#{label}" if count == 1 else f"{self.address}#{label}~{count}"

    def apply(self, host: HostState, effect: Effect) -> None:
        """Change a host's variables on behalf of this task."""
        self.undo.append(effect.on(host))
        self.effects.append(effect)

    def take_back(self) -> None:
        """Undo what preparing did."""
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()


def loop_result(results: Sequence[Any]) -> dict[str, Any]:
    """What ``register`` keeps of a loop; results that are not known stay so. As in Ansible, ``failed`` is only there when it is true."""
    known = [result for result in results if isinstance(result, Mapping)]
    unknown = next((result for result in results if isinstance(result, Unknown)), None)
    changed = any(result.get("changed") is True for result in known)
    whole: dict[str, Any] = {"results": list(results), "changed": unknown if unknown is not None and not changed else changed}
    if any(result.get("failed") is True for result in known):
        whole.update(failed=True, skipped=False, msg="One or more items failed")
    elif unknown is not None:
        whole.update(failed=unknown, msg="All items completed")
    elif results and all(result.get("skipped") is True for result in known):
        whole.update(skipped=True, msg="All items skipped")
    else:
        whole.update(skipped=False, msg="All items completed")
    return whole
