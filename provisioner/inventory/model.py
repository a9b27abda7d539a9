"""Hosts, groups and what each source says of their variables.

Nothing is merged here: ``Inventory.variables`` gives every definition at its level, weakest first, so that the table of precedence and
``provision explain`` see all of them. An inventory grows during a run (``add_host``, ``group_by``) and may be used by several threads.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError
from provisioner.inventory import patterns
from provisioner.inventory.varsfiles import VarsFiles

ALL = "all"
UNGROUPED = "ungrouped"
PRIORITY = "ansible_group_priority"
LOCALHOST = ("localhost", "127.0.0.1", "::1")

GROUP_VARS = "inventory group vars"
INVENTORY_ALL = "inventory group_vars/all"
PLAYBOOK_ALL = "playbook group_vars/all"
INVENTORY_GROUPS = "inventory group_vars/*"
PLAYBOOK_GROUPS = "playbook group_vars/*"
HOST_VARS = "inventory host vars"
INVENTORY_HOSTS = "inventory host_vars/*"
PLAYBOOK_HOSTS = "playbook host_vars/*"
LEVELS = (
    GROUP_VARS,
    INVENTORY_ALL,
    PLAYBOOK_ALL,
    INVENTORY_GROUPS,
    PLAYBOOK_GROUPS,
    HOST_VARS,
    INVENTORY_HOSTS,
    PLAYBOOK_HOSTS,
)
"""The levels of precedence that inventories have, weakest first."""

_NO_SPANS: Mapping[str, Span] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class VarsSource:
    """Variables that one place gives at one level; ``origin`` is a file, ``subject`` says for whom: ``group web``, ``host gpu01``."""

    level: str
    values: Mapping[str, Any]
    origin: str = ""
    spans: Mapping[str, Span] = field(default_factory=lambda: _NO_SPANS, repr=False)
    subject: str = ""


class Group:
    """A group: its own hosts (not those of its children), its parents and children, and its variables by source."""

    __slots__ = ("children", "hosts", "name", "parents", "priority", "sources")

    def __init__(self, name: str) -> None:
        self.name = name
        self.priority = 1
        self.hosts: dict[str, Host] = {}
        self.children: dict[str, Group] = {}
        self.parents: dict[str, Group] = {}
        self.sources: tuple[VarsSource, ...] = ()

    def __repr__(self) -> str:
        return f"<group {self.name}>"


class Host:
    """An inventory entry: the groups that list it directly, its variables by source, and the source that named it first."""

    __slots__ = ("groups", "implicit", "inventory_file", "name", "sources")

    def __init__(self, name: str, inventory_file: str | None = None, *, implicit: bool = False) -> None:
        self.name = name
        self.inventory_file = inventory_file
        self.implicit = implicit
        self.groups: dict[str, Group] = {}
        self.sources: tuple[VarsSource, ...] = ()

    @property
    def inventory_dir(self) -> str | None:
        """The folder of the inventory file; None for hosts that no file names."""
        if self.inventory_file is None or not self.inventory_file.startswith("/"):
            return None
        path = Path(self.inventory_file)
        return str(path if path.is_dir() else path.parent)

    def __repr__(self) -> str:
        return f"<host {self.name}>"


class Inventory:
    """All hosts and groups. Names in results are in Ansible's order: by group from ``all`` downwards, each in order of the files."""

    def __init__(self, varsfiles: VarsFiles | None = None) -> None:
        self.sources: tuple[str, ...] = ()
        self.warnings = Diagnostics()
        self.mismatch: patterns.Mismatch = "error"
        self.varsfiles = varsfiles if varsfiles is not None else VarsFiles()
        self._lock = threading.RLock()
        self._hosts: dict[str, Host] = {}
        self._groups: dict[str, Group] = {ALL: Group(ALL), UNGROUPED: Group(UNGROUPED)}
        self._link(self._groups[ALL], self._groups[UNGROUPED])
        self._localhost: Host | None = None
        self._loading = False
        self._reload: Callable[[], Inventory] | None = None
        self._forget()

    # What there is

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Hosts by name, in the order in which the sources name them; without an implicit localhost."""
        return MappingProxyType(self._hosts)

    @property
    def groups(self) -> Mapping[str, Group]:
        """Groups by name, ``all`` and ``ungrouped`` first."""
        return MappingProxyType(self._groups)

    def host(self, name: str) -> Host | None:
        """The host of this name; ``localhost``, ``127.0.0.1`` and ``::1`` come into being when asked for, with a local connection."""
        found = self._hosts.get(name)
        if found is not None or name not in LOCALHOST:
            return found
        with self._lock:
            if self._localhost is None:
                self._localhost = _implicit_localhost(name)
            return self._localhost

    def group_names(self, host: str) -> list[str]:
        """Names of all groups a host is in, sorted, without ``all``: the magic variable ``group_names``."""
        return sorted(group.name for group in self.groups_of(host))

    def groups_of(self, host: str) -> Sequence[Group]:
        """All groups a host is in but ``all``, weakest first: by depth, then ``ansible_group_priority``, then name."""
        entry = self.host(host)
        if entry is None:
            raise KeyError(host)
        direct = tuple(entry.groups)
        with self._lock:
            found = self._ordered.get(direct)
            if found is None:
                names = {ancestor for name in direct for ancestor in self._lineage(self._groups[name])} - {ALL}
                found = tuple(sorted((self._groups[name] for name in names), key=self._rank))
                self._ordered[direct] = found
            return found

    def group_hosts(self, group: str) -> list[str]:
        """Names of a group's hosts and those of all groups below it. Raises ``KeyError``."""
        with self._lock:
            found = self._members.get(group)
            if found is None:
                below = self._below(self._groups[group])
                found = self._members[group] = list(dict.fromkeys(name for member in below for name in member.hosts))
            return list(found)

    def groups_dict(self) -> dict[str, list[str]]:
        """Group name → host names: the magic variable ``groups``."""
        return {name: self.group_hosts(name) for name in tuple(self._groups)}

    def depth(self, group: str) -> int:
        """The longest way down from ``all``."""
        with self._lock:
            known = self._depths.get(group)
            if known is None:
                parents = self._groups[group].parents
                known = self._depths[group] = max((self.depth(name) + 1 for name in parents), default=0)
            return known

    def match(self, pattern: str | Iterable[str], limit: str | Iterable[str] | None = None) -> list[str]:
        """Names that a host pattern selects, in Ansible's order; with a limit only those that it selects too.

        Unknown names select nothing here: ``check`` is what reports them. Raises ``InputError`` for a pattern that cannot be read.
        """
        return patterns.select(self, pattern, limit)

    def check(
        self, pattern: str | Iterable[str], span: Span | None = None, *, option: str = "", mismatch: patterns.Mismatch | None = None
    ) -> Diagnostics:
        """Names in a pattern that no host or group has, with the nearest ones; ``option`` says where it was given, such as ``--limit``.

        ``mismatch`` is ``warning`` for plays whose hosts may come from ``add_host`` or ``group_by`` earlier in the run; None means that
        the setting ``host_pattern_mismatch`` decides.
        """
        return patterns.check(self, pattern, span, option=option, mismatch=mismatch or self.mismatch)

    def variables(self, host: str, playbook: Path | str | None = None) -> list[VarsSource]:
        """Every definition of a variable for a host, weakest first, from inventory files and ``group_vars``/``host_vars`` folders.

        ``playbook`` is the folder of the playbook in force. Raises ``KeyError`` for a host that is not here and ``InputError`` for a
        variables file that cannot be read.
        """
        entry = self.host(host)
        if entry is None:
            raise KeyError(host)
        groups = self.groups_of(host)
        names = [group.name for group in groups]
        files = self.varsfiles
        found = list(self._groups[ALL].sources)
        for group in groups:
            found += group.sources
        for level, kind, wanted in (
            (INVENTORY_ALL, "inventory", [ALL]),
            (PLAYBOOK_ALL, "playbook", [ALL]),
            (INVENTORY_GROUPS, "inventory", names),
            (PLAYBOOK_GROUPS, "playbook", names),
        ):
            found += _from_files(files, level, kind, "group", wanted, playbook)
        found += entry.sources
        found += _from_files(files, INVENTORY_HOSTS, "inventory", "host", [host], playbook)
        found += _from_files(files, PLAYBOOK_HOSTS, "playbook", "host", [host], playbook)
        return found

    def check_files(self, playbooks: Iterable[Path] = ()) -> Diagnostics:
        """Read all ``group_vars`` and ``host_vars`` now: every problem in them, and a warning for each file that is for nobody."""
        return self.varsfiles.check(self._groups, self._hosts, playbooks)

    # What changes it

    def add_host(
        self,
        name: str,
        groups: Iterable[str] = (),
        variables: Mapping[str, Any] | None = None,
        *,
        origin: str = "",
        spans: Mapping[str, Span] = _NO_SPANS,
        inventory_file: str | None = None,
    ) -> bool:
        """Make a host, or give one more groups (made when new) and variables. True when anything changed."""
        with self._lock:
            host = self._hosts.get(name)
            changed = host is None
            if host is None:
                host = self._hosts[name] = Host(name, inventory_file)
                if name in LOCALHOST and (self._localhost is None or self._localhost.implicit):
                    self._localhost = host
            for group in groups:
                changed |= self.add_group(group)
                changed |= self._enroll(host, self._groups[group])
            if variables:
                changed |= self._give(host, VarsSource(HOST_VARS, variables, origin, spans, f"host {name}"))
            self._settle(host)
            if changed:
                self._forget()
            return changed

    def add_group(self, name: str, parents: Iterable[str] = (), *, span: Span | None = None) -> bool:
        """Make a group below its parents (made when new); without parents it is below ``all``. True when anything changed.

        Raises ``InputError`` when the groups would contain each other.
        """
        with self._lock:
            changed = name not in self._groups
            group = self._groups.setdefault(name, Group(name))
            for parent in parents:
                changed |= self.add_group(parent)
                changed |= self.add_child(parent, name, span=span)
            self._adopt(group)
            if changed:
                self._forget()
            return changed

    def add_child(self, parent: str, child: str, *, span: Span | None = None) -> bool:
        """Put one existing group below another. True when it was not there yet. Raises ``InputError`` for a circle."""
        with self._lock:
            upper, lower = self._groups[parent], self._groups[child]
            if child in upper.children:
                return False
            if child in self._lineage(upper):
                text = f"groups {child!r} and {parent!r} contain each other" if child != parent else f"group {child!r} contains itself"
                why = "a group's children, and theirs, must not lead back to it"
                raise InputError.of(text, span, why=why, help="remove one of the entries")
            self._link(upper, lower)
            self._forget()
            return True

    def add_to_group(self, host: str, group: str) -> bool:
        """Put an existing host into an existing group. True when it was not in it yet."""
        with self._lock:
            changed = self._enroll(self._hosts[host], self._groups[group])
            self._settle(self._hosts[host])
            self._forget()
            return changed

    def add_group_variables(self, group: str, source: VarsSource) -> None:
        """Give an existing group variables; its priority is one of them. Raises ``InputError`` for a priority that is no number."""
        values = dict(source.values)
        if PRIORITY in values:
            priority = values.pop(PRIORITY)
            try:
                self._groups[group].priority = int(priority)
            except (TypeError, ValueError):
                where = source.spans.get(PRIORITY)
                message = f"{PRIORITY} of group {group!r} must be a whole number, not {priority!r}"
                raise InputError.of(message, where, help="write a number; groups with a higher one win over their siblings") from None
            source = VarsSource(source.level, values, source.origin, source.spans, source.subject)
        with self._lock:
            if values:
                self._groups[group].sources += (source,)
            self._forget()

    def refresh(self) -> None:
        """Read all sources again (``meta: refresh_inventory``); what the run added is lost, as in Ansible."""
        if self._reload is None:
            return
        fresh = self._reload()
        with self._lock:
            self._hosts, self._groups, self._localhost = fresh._hosts, fresh._groups, fresh._localhost
            self.varsfiles, self.warnings = fresh.varsfiles, fresh.warnings
            self._forget()

    def on_refresh(self, reload: Callable[[], Inventory]) -> None:
        """How to read the sources again; set by whoever loaded them."""
        self._reload = reload

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While sources are read: which groups are below ``all`` and which hosts are ungrouped is only known at the end."""
        with self._lock:
            self._loading = True
            try:
                yield
            finally:
                self._loading = False
                for group in tuple(self._groups.values()):
                    self._adopt(group)
                for host in self._hosts.values():
                    self._settle(host)
                self._forget()

    # How it is kept

    def _give(self, host: Host, source: VarsSource) -> bool:
        known: dict[str, Any] = {}
        for earlier in host.sources:
            known.update(earlier.values)
        host.sources += (source,)
        return any(name not in known or known[name] != value for name, value in source.values.items())

    def _enroll(self, host: Host, group: Group) -> bool:
        if group.name in host.groups:
            return False
        host.groups[group.name] = group
        group.hosts[host.name] = host
        return True

    def _settle(self, host: Host) -> None:
        """Keep ``ungrouped`` to the hosts that are in no other group."""
        if self._loading:
            return
        grouped = any(name not in (ALL, UNGROUPED) for name in host.groups)
        if grouped and UNGROUPED in host.groups:
            del host.groups[UNGROUPED], self._groups[UNGROUPED].hosts[host.name]
        elif not grouped:
            self._enroll(host, self._groups[UNGROUPED])

    def _adopt(self, group: Group) -> None:
        """A group without parents is below ``all``."""
        if not (self._loading or group.parents or group.name == ALL):
            self._link(self._groups[ALL], group)

    def _link(self, parent: Group, child: Group) -> None:
        parent.children[child.name] = child
        child.parents[parent.name] = parent

    def _forget(self) -> None:
        """Drop what was worked out before the last change."""
        self._ordered: dict[tuple[str, ...], Sequence[Group]] = {}
        self._members: dict[str, list[str]] = {}
        self._lineages: dict[str, frozenset[str]] = {}
        self._depths: dict[str, int] = {}

    def _rank(self, group: Group) -> tuple[int, int, str]:
        return (self.depth(group.name), group.priority, group.name)

    def _lineage(self, group: Group) -> frozenset[str]:
        """The group's own name and those of all groups above it."""
        known = self._lineages.get(group.name)
        if known is None:
            known = frozenset({group.name}).union(*(self._lineage(parent) for parent in group.parents.values()))
            self._lineages[group.name] = known
        return known

    def _below(self, group: Group) -> Iterator[Group]:
        """The group and all below it, level by level."""
        seen = {group.name}
        level = [group]
        while level:
            yield from level
            following = []
            for member in level:
                for child in member.children.values():
                    if child.name not in seen:
                        seen.add(child.name)
                        following.append(child)
            level = following


def _implicit_localhost(name: str) -> Host:
    host = Host(name, implicit=True)
    values = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    host.sources = (VarsSource(HOST_VARS, values, "", _NO_SPANS, f"host {name}"),)
    return host


def _from_files(
    files: VarsFiles, level: str, kind: str, entity: str, names: Sequence[str], playbook: Path | str | None
) -> Iterator[VarsSource]:
    for document in files.find(kind, entity, names, playbook):
        yield VarsSource(level, document.values, document.origin, document.spans, f"{entity} {document.name}")
