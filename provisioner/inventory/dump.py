"""An inventory as documents: what scripts print (``--list``, ``--host``), nested YAML, and a tree for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioner.inventory.merge import combine
from provisioner.inventory.model import ALL, GROUP_VARS, HOST_VARS, INVENTORY_HOSTS, PLAYBOOK_HOSTS, UNGROUPED, Inventory, VarsSource
from provisioner.values import UnsafeText, WrittenFloat, WrittenInt
from provisioner.vault import Vaulted

_OF_HOST = (HOST_VARS, INVENTORY_HOSTS, PLAYBOOK_HOSTS)


class Dump:
    """Views of an inventory; values stay raw: templates as written, vaulted values encrypted.

    ``export`` leaves the variables of groups at the groups instead of giving each host all of its own.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        playbook: Path | None = None,
        merge_hashes: bool = False,
        export: bool = False,
        extra_vars: Mapping[str, Any] | None = None,
    ) -> None:
        self._inventory = inventory
        self._playbook = playbook
        self._merge = merge_hashes
        self._export = export
        self._extra = extra_vars or {}

    def host(self, name: str) -> dict[str, Any]:
        """All variables of a host that inventories give, merged. Raises ``KeyError``."""
        sources = self._inventory.variables(name, self._playbook)
        if self._export:
            sources = [source for source in sources if source.level in _OF_HOST]
        return {**combine(sources, self._merge), **self._extra}

    def group(self, name: str) -> dict[str, Any]:
        """A group's own variables, those of its files too."""
        group = self._inventory.groups[name]
        sources = list(group.sources)
        for kind in ("inventory", "playbook"):
            documents = self._inventory.varsfiles.find(kind, "group", [name], self._playbook)
            sources += [VarsSource(GROUP_VARS, document.values) for document in documents]
        values = combine(sources, self._merge)
        if group.priority != 1:
            values["ansible_group_priority"] = group.priority
        return values

    def listing(self, hosts: Sequence[str] | None = None) -> dict[str, Any]:
        """The document of ``--list``: groups with hosts and children, and ``_meta`` with variables by host."""
        chosen = self._inventory.group_hosts(ALL) if hosts is None else list(hosts)
        wanted = set(chosen)
        result: dict[str, Any] = {}
        for name in self._walk(ALL, set()):
            group = self._inventory.groups[name]
            entry: dict[str, Any] = {}
            if name != ALL:
                entry["hosts"] = [host for host in group.hosts if host in wanted]
            entry["children"] = list(group.children)
            if self._export:
                entry["vars"] = self.group(name)
            entry = {key: value for key, value in entry.items() if value}
            if entry:
                result[name] = entry
        hostvars = {name: values for name in chosen if (values := self.host(name))}
        return {"_meta": {"hostvars": hostvars, "profile": "inventory_legacy"}, **result}

    def nested(self, hosts: Sequence[str] | None = None) -> dict[str, Any]:
        """A YAML inventory that says the same; a host's variables stand where it is first met."""
        wanted = set(self._inventory.group_hosts(ALL) if hosts is None else hosts)
        seen: set[str] = set()
        return {ALL: self._nest(ALL, wanted, seen)}

    def graph(self, group: str = ALL, hosts: Sequence[str] | None = None, *, variables: bool = False) -> Iterator[str]:
        """Lines of a tree of groups and hosts, of only some hosts if given. Raises ``KeyError``."""
        wanted = set(self._inventory.hosts if hosts is None else hosts)
        yield from self._branch(group, 0, wanted, variables)

    def _walk(self, name: str, seen: set[str]) -> Iterator[str]:
        yield name
        for child in self._inventory.groups[name].children:
            if child not in seen:
                seen.add(child)
                yield from self._walk(child, seen)

    def _nest(self, name: str, wanted: set[str], seen: set[str]) -> dict[str, Any]:
        group = self._inventory.groups[name]
        result: dict[str, Any] = {}
        children = {child: self._nest(child, wanted, seen) for child in group.children}
        children = {child: inner for child, inner in children.items() if inner or child != UNGROUPED}
        if children:
            result["children"] = children
        hosts: dict[str, Any] = {}
        for host in group.hosts if name != ALL else ():
            if host in wanted:
                hosts[host] = {} if host in seen else self.host(host)
                seen.add(host)
        if hosts:
            result["hosts"] = hosts
        if self._export and (values := self.group(name)):
            result["vars"] = values
        return result

    def _branch(self, name: str, depth: int, wanted: set[str], variables: bool) -> Iterator[str]:
        group = self._inventory.groups[name]
        yield _twig(f"@{name}:", depth)
        for child in group.children:
            yield from self._branch(child, depth + 1, wanted, variables)
        for host in group.hosts if name != ALL else ():
            if host in wanted:
                yield _twig(host, depth + 1)
                if variables:
                    yield from _leaves(self.host(host), depth + 2)
        if variables:
            yield from _leaves(self.group(name), depth + 1)


def _twig(text: str, depth: int) -> str:
    return f"{'  |' * depth}--{text}" if depth else text


def _leaves(values: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name in sorted(values):
        yield _twig(f"{{{name} = {shown(values[name])}}}", depth)


def shown(value: Any) -> str:
    """A value on one line, as Python writes it; encrypted values stay so."""
    return value if isinstance(value, str) else str(plain(value, secret="(encrypted)"))


def plain(value: Any, secret: str | None = None) -> Any:
    """A value as JSON can hold it; encrypted ones as ``{"__ansible_vault": …}``, or as ``secret``."""
    if isinstance(value, Vaulted):
        return {"__ansible_vault": value.ciphertext} if secret is None else secret
    if isinstance(value, UnsafeText):
        return {"__ansible_unsafe": str(value)} if secret is None else str(value)
    if isinstance(value, dict):
        return {key: plain(child, secret) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(child, secret) for child in value]
    if isinstance(value, float):
        return float(value)
    return value


def to_yaml(document: Any) -> str:
    """A document as a YAML file that reads back the same; encrypted values with their tag."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Knows the values that only we have."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def literal(dumper: yaml.SafeDumper, value: Vaulted) -> yaml.Node:
        return dumper.represent_scalar("!vault", value.ciphertext, style="|")

    Dumper.add_representer(Vaulted, literal)
    Dumper.add_representer(UnsafeText, lambda dumper, value: dumper.represent_scalar("!unsafe", str(value)))
    Dumper.add_representer(WrittenInt, lambda dumper, value: dumper.represent_int(int(value)))
    Dumper.add_representer(WrittenFloat, lambda dumper, value: dumper.represent_float(float(value)))
    text: str = yaml.dump(document, Dumper=Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False)
    return text


def to_json(document: Any) -> str:
    """A document as Ansible prints it: sorted, four blanks deep."""
    return json.dumps(plain(document), indent=4, sort_keys=True, ensure_ascii=False, default=str)
