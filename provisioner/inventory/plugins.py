"""YAML files that configure an inventory plugin.

``constructed`` makes groups and variables of what hosts have, ``generator`` makes hosts of all combinations of some lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from provisioner.diagnostics import Span, did_you_mean
from provisioner.errors import ProvisionError
from provisioner.inventory.draft import Draft, Refusal, Render, Source, describe, safe_group_name
from provisioner.inventory.merge import combine
from provisioner.inventory.model import GROUP_VARS, HOST_VARS, Inventory
from provisioner.values import UnsafeText, map_texts

CONSTRUCTED_OPTIONS = ("plugin", "strict", "compose", "groups", "keyed_groups", "use_vars_plugins", "use_extra_vars", "leading_separator")
KEYED_OPTIONS = ("key", "prefix", "separator", "parent_group", "default_value", "trailing_separator")
GENERATOR_OPTIONS = ("plugin", "hosts", "layers")


def parse(source: Source, draft: Draft) -> None:
    """Run the plugin that the file names. Raises ``Refusal`` for one that is not here, and for options it does not have."""
    data = source.document.data
    if not isinstance(data, dict) or "plugin" not in data:
        raise Refusal("it has no key 'plugin'", source.document.span() if data is not None else source.span())
    name = str(data["plugin"])
    run = PLUGINS.get(name.removeprefix("ansible.builtin."))
    if run is None:
        hint = did_you_mean(name, PLUGINS) or f"the plugins are {', '.join(PLUGINS)}"
        raise Refusal(f"inventory plugin {name!r} is not supported; {hint}", source.document.span("plugin"))
    run(source, draft, data)


def _check_options(source: Source, options: Mapping[Any, Any], known: Sequence[str], *path: Any) -> None:
    for option in options:
        if option not in known:
            hint = did_you_mean(str(option), known) or f"there are {', '.join(known)}"
            raise Refusal(f"unknown option {option!r}; {hint}", source.document.key_span(*path, option))


def _option(source: Source, data: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise Refusal(f"option {name!r} must be {describe(kind())}, not {describe(value)}", source.document.span(name))
    return value


def _renderer(source: Source) -> Render:
    render = source.context.render
    if render is None:
        raise Refusal("it holds expressions, and nothing here renders them", source.span())
    return render


def construct(source: Source, draft: Draft, data: Mapping[str, Any]) -> None:
    """Add variables (``compose``) and groups (``groups``, ``keyed_groups``) to the hosts of earlier sources, host by host."""
    _check_options(source, data, CONSTRUCTED_OPTIONS)
    work = _Construction(source, draft, data)
    for host in draft.inventory.hosts:
        work.host(host)


class _Construction:
    """The options of one file, and their effect on one host after the other."""

    def __init__(self, source: Source, draft: Draft, data: Mapping[str, Any]) -> None:
        self._source = source
        self._draft = draft
        self._render = _renderer(source)
        self._strict = _option(source, data, "strict", bool, False)
        self._compose: Mapping[str, Any] = _option(source, data, "compose", dict, {})
        self._groups: Mapping[str, Any] = _option(source, data, "groups", dict, {})
        self._keyed: Sequence[Any] = _option(source, data, "keyed_groups", list, [])
        self._leading = _option(source, data, "leading_separator", bool, True)
        self._files = _option(source, data, "use_vars_plugins", bool, False)
        self._extra = source.context.extra_vars if _option(source, data, "use_extra_vars", bool, False) else {}
        for index, keyed in enumerate(self._keyed):
            if not isinstance(keyed, dict) or "key" not in keyed:
                raise Refusal(
                    f"an entry of keyed_groups must be a mapping with 'key', not {describe(keyed)}",
                    source.document.span("keyed_groups", index),
                )
            _check_options(source, keyed, KEYED_OPTIONS, "keyed_groups", index)

    def host(self, host: str) -> None:
        """Everything for one host; what ``compose`` gives is seen by what follows."""
        variables = {**self._variables(host), **self._extra}
        composed: dict[str, Any] = {}
        for name, expression in self._compose.items():
            for value in self._evaluate(host, expression, variables, "compose", name):
                composed[name] = variables[name] = map_texts(value, UnsafeText)
        if composed:
            self._draft.host(host, None, composed)
        for name, expression in self._groups.items():
            for value in self._evaluate(host, expression, variables, "groups", name):
                if _truth(value):
                    self._enroll(host, safe_group_name(str(name)))
        for index, keyed in enumerate(self._keyed):
            for key in self._evaluate(host, keyed["key"], variables, "keyed_groups", index, "key"):
                self._key(host, keyed, key, variables, index)

    def _variables(self, host: str) -> dict[str, Any]:
        inventory = self._draft.inventory
        sources = inventory.variables(host) if self._files else _without_files(inventory, host)
        magic = {"inventory_hostname": host, "inventory_hostname_short": host.partition(".")[0], "group_names": inventory.group_names(host)}
        return {**combine(sources, self._source.context.merge_hashes), **magic}

    def _evaluate(self, host: str, expression: Any, variables: Mapping[str, Any], *path: Any) -> Iterator[Any]:
        """The value, or nothing where it cannot be had and the file is not strict."""
        if not isinstance(expression, str):
            yield expression
            return
        try:
            yield self._render("{{ " + expression + " }}", variables)
        except ProvisionError as error:
            if self._strict:
                raise Refusal(f"for host {host}: {error.message}", self._source.document.span(*path)) from None

    def _enroll(self, host: str, group: str, where: Span | None = None) -> str:
        group = self._draft.group(group, where)
        self._draft.host(host, group)
        return group

    def _key(self, host: str, keyed: Mapping[str, Any], key: Any, variables: Mapping[str, Any], index: int) -> None:
        where = self._source.document.span("keyed_groups", index)
        default, trailing = keyed.get("default_value"), keyed.get("trailing_separator")
        if default is not None and trailing is not None:
            raise Refusal("'default_value' and 'trailing_separator' exclude each other", where)
        if not key and not (key == "" and default is not None):
            if self._strict:
                raise Refusal(f"for host {host}: the key {keyed['key']!r} is empty", where)
            return
        prefix = "" if keyed.get("prefix") is None else str(keyed["prefix"])
        separator = str(keyed.get("separator", "_"))
        names = list(_key_names(key, separator, default, trailing))
        if not names and not isinstance(key, (list, dict)):
            raise Refusal(f"for host {host}: a key must be text, a list or a mapping, not {describe(key)}", where)
        for name in names:
            between = "" if prefix == "" and not self._leading else separator
            group = self._enroll(host, safe_group_name(f"{prefix}{between}{name}"), where)
            parent = keyed.get("parent_group")
            if parent:
                rendered = self._render(str(parent), variables) if "{{" in str(parent) else parent
                self._draft.child(self._draft.group(safe_group_name(str(rendered)), where), group, where)


def _without_files(inventory: Inventory, host: str) -> list[Any]:
    return [source for source in inventory.variables(host) if source.level in (GROUP_VARS, HOST_VARS)]


def _truth(value: Any) -> bool:
    """A condition's outcome; texts count by what they say."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1", "y", "t")
    return bool(value)


def _key_names(key: Any, separator: str, default: Any, trailing: Any) -> Iterator[str]:
    if isinstance(key, str):
        yield str(default) if key == "" and default is not None else key
    elif isinstance(key, list):
        for part in key:
            yield str(default) if part == "" and default is not None else str(part)
    elif isinstance(key, dict):
        for name, value in key.items():
            if value == "" and default is not None:
                yield f"{name}{separator}{default}"
            elif value == "" and trailing is False:
                yield str(name)
            else:
                yield f"{name}{separator}{value}"


def generate(source: Source, draft: Draft, data: Mapping[str, Any]) -> None:
    """Make a host of each combination of ``layers``, with parent groups named by templates."""
    _check_options(source, data, GENERATOR_OPTIONS)
    render = _renderer(source)
    layers = _option(source, data, "layers", dict, {})
    hosts = _option(source, data, "hosts", dict, {})
    if "name" not in hosts:
        raise Refusal("option 'hosts' must be a mapping with 'name' and 'parents'", source.document.span("hosts"))
    for name, values in layers.items():
        if not isinstance(values, list):
            raise Refusal(f"layer {name!r} must be a list, not {describe(values)}", source.document.span("layers", name))
    for values in itertools.product(*layers.values()):
        variables = dict(zip(layers, values, strict=True))

        def text(template: Any, variables: Mapping[str, Any] = variables) -> str:
            try:
                return str(render(str(template), variables))
            except ProvisionError as error:
                raise Refusal(error.message, source.document.span("hosts")) from None

        host = text(hosts["name"])
        draft.host(host, None)
        _parents(source, draft, host, hosts.get("parents"), text, is_host=True)


def _parents(source: Source, draft: Draft, child: str, parents: Any, text: Callable[[Any], str], *, is_host: bool) -> None:
    for parent in parents or ():
        if not isinstance(parent, dict) or "name" not in parent:
            raise Refusal(f"a parent must be a mapping with 'name', not {describe(parent)}", source.document.span("hosts", "parents"))
        group = draft.group(text(parent["name"]))
        values = parent.get("vars")
        if values:
            draft.variables(group, {name: map_texts(value, text) for name, value in values.items()})
        if is_host:
            draft.host(child, group)
        else:
            draft.child(group, child)
        _parents(source, draft, group, parent.get("parents"), text, is_host=False)


PLUGINS: Mapping[str, Callable[[Source, Draft, Mapping[str, Any]], None]] = {"constructed": construct, "generator": generate}
