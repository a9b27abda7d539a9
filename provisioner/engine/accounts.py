"""Which hosts' agents have to run as root: found before the first connection, since an agent's account cannot be changed later.

One agent that runs as root serves all accounts of a host. Where a login may become others but not root, each account has an agent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from provisioner.engine.settings import BecomeSettings
from provisioner.engine.targets import directly, elevated, may_become
from provisioner.errors import ProvisionError
from provisioner.playbook.model import Block, Entry, Play, RoleSource, Task
from provisioner.playbook.roles import Sources
from provisioner.ports import Target
from provisioner.values import UnknownValueError

if TYPE_CHECKING:
    from provisioner.engine.run import Run

INCLUDES = ("include_tasks", "include_role", "include")
WORD = "become"


class Elevations:
    """The first way found to become root on a target is kept: one agent a host serves all its tasks."""

    def __init__(self) -> None:
        self._known: dict[tuple[Target, str], Target] = {}
        self._lock = threading.Lock()
        self.rootless: set[Target] = set()
        """Targets, without ``become``, on which root cannot be had."""

    def of(self, target: Target, become: BecomeSettings, wanted: bool) -> Target:
        """The target as it is started."""
        if target in self.rootless:
            return directly(target, become)
        if not wanted:
            return target
        with self._lock:
            key = (target, become.method)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = elevated(target, become, wanted)
            return known

    def do_without_root(self, refused: Target, become: BecomeSettings) -> bool:
        """Root was refused on a target: whether a step that wants to be somebody else can do without; from here on all there do."""
        is_wanted = become.wanted and become.user == "root"
        if is_wanted or refused.become is None or refused.become.user != "root":
            return False
        self.rootless.add(replace(refused, become=None))
        return True


def hosts_that_become(run: Run) -> Mapping[str, bool]:
    """For each host whether a play that may run on it says ``become``, or its variables do."""
    found: dict[str, bool] = {}
    for playbook in run.playbooks:
        for play in playbook.plays:
            wanted = run.options.become or _Search(run, play).becomes()
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


class _Search:
    """Looks for ``become`` in everything a play may run; files that are only named during the run are searched as text."""

    def __init__(self, run: Run, play: Play) -> None:
        self._run = run
        self._play = play
        self._seen: set[int] = set()
        self._roles: set[tuple[str, Sources]] = set()
        """Roles that were looked into: one may include itself, each time as something new."""

    def becomes(self) -> bool:
        """Whether it is anywhere."""
        play = self._play
        if may_become(play.directives):
            return True
        roles = list(play.every_role())
        bodies = tuple(role.body for role in roles)
        handlers = tuple(entry for role in roles for entry in role.handlers)
        return any(self._entries(part) for part in (play.pre_tasks, bodies, play.tasks, play.post_tasks, play.handlers, handlers))

    def _entries(self, entries: tuple[Entry, ...], role: RoleSource | None = None) -> bool:
        if id(entries) in self._seen:
            return False
        self._seen.add(id(entries))
        for entry in entries:
            if may_become(entry.directives) or may_become(entry.directives.vars):
                return True
            inner = entry.role or role
            if isinstance(entry, Block):
                if any(self._entries(part, inner) for part in (entry.tasks, entry.rescue, entry.always)):
                    return True
            elif entry.action in INCLUDES and self._included(entry, inner):
                return True
        return False

    def _included(self, task: Task, role: RoleSource | None) -> bool:
        """What an include brings: the file itself where its name is plain, else all files it could mean."""
        name = task.args.get("name", task.args.get("role")) if task.action == "include_role" else task.args.get("file")
        name = name or task.args.get("_raw_params")
        near, folder, loader = task.span.file, self._play.folder, self._run.loader
        if isinstance(name, str) and "{" not in name:
            try:
                if task.action != "include_role":
                    return self._entries(loader.load_tasks(name, near=near, folder=folder, role=role), role)
                sources = Sources.of(task.args)
                if (name, sources) in self._roles:
                    return False
                self._roles.add((name, sources))
                loaded = loader.load_role(name, near=near, folder=folder, role=role, sources=sources)
                return self._entries((loaded.body,), loaded.source) or self._entries(loaded.handlers, loaded.source)
            except ProvisionError:
                return False  # what is wrong with it is reported when a host gets there, if one ever does
        return any(_mentions(path) for path in ([role.path] if role is not None else [Path(near).parent]))


def _mentions(folder: Path) -> bool:
    files = [path for ending in ("*.yml", "*.yaml") for path in folder.rglob(ending) if path.is_file()]
    return any(WORD in path.read_text("utf-8", "replace") for path in files)
