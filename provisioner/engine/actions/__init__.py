"""Work that the controller does itself, or that it turns into module calls on a node; one file each, imported when first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from provisioner.engine.clocks import Place
from provisioner.engine.inherit import Inherited
from provisioner.engine.outcome import NodeCall, Outcome, Work
from provisioner.playbook.model import Task

if TYPE_CHECKING:
    from provisioner.engine.actions.call import Call
    from provisioner.engine.walk import HostWalk

Structural = Callable[["HostWalk", Task, Inherited, Place, "str | None"], None]

__all__ = ["ACTIONS", "FOREIGN", "Action", "Actions", "NodeCall", "Outcome", "Work"]


@dataclass(frozen=True)
class Action:
    """What the engine has to know of an action before it runs.

    where       module and function that do the work: ``(Call) -> Outcome | Work``
    alone       talks to the node, the operator or the inventory itself: what is queued is sent first, and items run one by one
    once        runs once for all hosts, as with ``run_once``
    meets       hosts wait for each other before and after it
    reads_files  reads files of the controller, which steps on a local node may have made
    free        takes any arguments, or judges them itself
    background  its work is a module call that may go on by itself (``async``)
    """

    where: str
    alone: bool = False
    once: bool = False
    meets: bool = False
    reads_files: bool = False
    free: bool = False
    background: bool = False

    def run(self, call: Call) -> Outcome | Work:
        """Do it."""
        module, _, function = self.where.partition(":")
        done: Outcome | Work = getattr(importlib.import_module(f"{__name__}.{module}"), function)(call)
        return done


ACTIONS: Mapping[str, Action] = {
    "add_host": Action("inventory:add_host", alone=True, once=True, free=True),
    "assemble": Action("assemble:assemble", alone=True, reads_files=True),
    "assert": Action("say:assert_"),
    "async_status": Action("background:async_status"),
    "copy": Action("copy:copy", reads_files=True, background=True),
    "debug": Action("say:debug", free=True),
    "fail": Action("say:fail"),
    "fetch": Action("fetch:fetch", alone=True),
    "gather_facts": Action("facts:gather_facts", free=True),
    "group_by": Action("inventory:group_by", alone=True, meets=True),
    "include_vars": Action("variables:include_vars", reads_files=True, free=True),
    "pause": Action("pause:pause", alone=True, once=True),
    "raw": Action("raw:raw", alone=True, free=True),
    "reboot": Action("reboot:reboot", alone=True),
    "script": Action("script:script", reads_files=True, background=True),
    "set_fact": Action("variables:set_fact", free=True),
    "set_stats": Action("say:set_stats", free=True),
    "template": Action("template:template", reads_files=True, background=True),
    "unarchive": Action("unarchive:unarchive", reads_files=True, background=True),
    "validate_argument_spec": Action("arguments:validate", free=True),
    "wait_for_connection": Action("reboot:wait_for_connection", alone=True),
}

FOREIGN = Action("foreign:foreign", free=True, background=True)
"""What stands for every module that is not written in our way."""

STRUCTURAL: Mapping[str, str] = {
    "include_tasks": "includes:include_tasks",
    "include_role": "includes:include_role",
    "include": "includes:include_tasks",
    "meta": "meta:meta",
}
"""Actions that steer the walk itself; in ``provisioner.engine``."""


class Actions:
    """Finds actions by the canonical name of a task's action."""

    def __init__(self) -> None:
        self._structural: dict[str, Structural] = {}

    def find(self, name: str) -> Action | None:
        """The action of this name; None means that a node's module does all the work."""
        return ACTIONS.get(name)

    def structural(self, name: str) -> Structural | None:
        """The function that carries out an action which steers the walk."""
        where = STRUCTURAL.get(name)
        if where is None:
            return None
        known = self._structural.get(name)
        if known is None:
            module, _, function = where.partition(":")
            known = self._structural[name] = getattr(importlib.import_module(f"provisioner.engine.{module}"), function)
        return known
