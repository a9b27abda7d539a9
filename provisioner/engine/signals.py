"""How a host leaves the straight path through a play: raised inside its walk, caught where the language says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioner.playbook.model import RoleSource, Task
from provisioner.templating.variables import NeedsResult


class Signal(Exception):
    """Base of the ways to leave; never seen outside the engine."""


class TaskFailed(Signal):
    """A task failed on the host and nothing tolerates that: the next rescue catches it, else the host leaves the play."""

    def __init__(self, task: Task, result: Mapping[str, Any]) -> None:
        super().__init__(str(result.get("msg", "failed")))
        self.task = task
        self.result = result


class HostEnds(Signal):
    """``end_host``, or the host is through with the play for another good reason."""


class GivenUp(HostEnds):
    """The play is given up on all hosts because too many failed; this one counts as failed, too."""


class BatchEnds(Signal):
    """``end_batch``: the play goes on with the next batch."""


class PlayEnds(Signal):
    """``end_play``."""


class RoleEnds(Signal):
    """``end_role``: the rest of this role is not run on the host."""

    def __init__(self, role: RoleSource | None) -> None:
        super().__init__(role.name if role else "")
        self.role = role


class Stopped(Signal):
    """The run was interrupted."""


class NeedsFlush(NeedsResult):
    """Something is asked for that is only settled once the host's queued steps have run."""

    def __init__(self, name: str = "what queued steps change") -> None:
        super().__init__(name)
