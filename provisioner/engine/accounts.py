"""Which hosts' agents have to run as root: found before the first connection, since an agent's account cannot be changed later."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from provisioner.engine.settings import BecomeSettings
from provisioner.engine.targets import elevated, may_become
from provisioner.errors import ProvisionError
from provisioner.playbook.model import Block, Entry, Play
from provisioner.ports import Target
from provisioner.values import UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.run import Run


class Elevations:
    """The first way found to become root on a target is kept: one agent a host serves all its tasks."""

    def __init__(self) -> None:
        self._known: dict[tuple[Target, str], Target] = {}
        self._lock = threading.Lock()

    def of(self, target: Target, become: BecomeSettings, wanted: bool) -> Target:
        """The target as it is started."""
        if not wanted:
            return target
        with self._lock:
            key = (target, become.method)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = elevated(target, become, wanted)
            return known


def hosts_that_become(run: Run) -> Mapping[str, bool]:
    """For each host whether a play that may run on it says ``become``, or its variables do."""
    found: dict[str, bool] = {}
    for playbook in run.playbooks:
        for play in playbook.plays:
            wanted = run.options.become or _play_becomes(play)
            for host in _hosts(run, play):
                found[host] = found.get(host, False) or wanted or _variables_say(run, host, play)
    return found


def _hosts(run: Run, play: Play) -> Iterable[str]:
    """Hosts that a play may run on: those its pattern names, all when that is not known yet."""
    pattern = play.hosts if isinstance(play.hosts, str) else ",".join(map(str, play.hosts))
    if "{" in pattern:
        try:
            pattern = str(run.play_scope(play, run.extra_layers).render(pattern))
        except (ProvisionError, UnknownValueError):
            return tuple(run.inventory.hosts)
    return run.inventory.match(pattern, run.options.limit)


def _variables_say(run: Run, host: str, play: Play) -> bool:
    sources = run.inventory.variables(host, play.folder) if run.inventory.host(host) is not None else []
    return any(may_become(source.values) for source in sources) or may_become(run.options.extra_vars) or may_become(play.directives.vars)


def _play_becomes(play: Play) -> bool:
    if may_become(play.directives):
        return True
    roles = list(play.every_role())
    lists = (
        play.pre_tasks,
        play.tasks,
        play.post_tasks,
        play.handlers,
        *((role.body,) for role in roles),
        *(role.handlers for role in roles),
    )
    return any(_entries_become(entries) for entries in lists)


def _entries_become(entries: tuple[Entry, ...]) -> bool:
    for entry in entries:
        if may_become(entry.directives) or may_become(entry.directives.vars):
            return True
        if isinstance(entry, Block) and any(_entries_become(part) for part in (entry.tasks, entry.rescue, entry.always)):
            return True
    return False
