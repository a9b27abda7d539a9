"""Lookups of variables, hosts, environment and settings."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2.runtime import Undefined
from jinja2.utils import missing as nothing

from provisioner.diagnostics import did_you_mean
from provisioner.templating.guard import refused
from provisioner.templating.lookups.context import Lookup, LookupContext
from provisioner.templating.missing import Missing
from provisioner.templating.natural import describe, plain, type_name

_NOT_GIVEN = object()


def variables(context: LookupContext, terms: list[Any], *, default: Any = _NOT_GIVEN) -> list[Any]:
    """The values of variables by name; ``default`` for those that do not exist."""
    values: list[Any] = []
    for term in terms:
        if not isinstance(term, str):
            raise TypeError(f"Invalid setting identifier: Variable name must be 'str' not '{type_name(term)}'")
        value = context.evaluation.resolve(term)
        if value is nothing:
            if default is _NOT_GIVEN:
                Missing(f"No variable named '{term}' was found.").refuse()
            value = refused(default) if isinstance(default, Undefined) else default
        values.append(plain(value))
    return values


def names(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The names of variables that match regular expressions."""
    for term in terms:
        if not isinstance(term, str):
            raise TypeError(f"Invalid setting identifier: a pattern is a text, not {describe(term)}")
    known = sorted(context.evaluation.scope.names())
    found: list[str] = []
    for term in terms:
        try:
            pattern = re.compile(term)
        except re.error as error:
            raise ValueError(f"Unable to use '{term}' as a regular expression: {error}") from None
        found += [name for name in known if pattern.search(name)]
    return found


def environment(context: LookupContext, terms: list[Any], *, default: Any = "") -> list[Any]:
    """Variables of the controller's environment."""
    found: list[Any] = []
    for term in terms:
        name = str(term).split()[0] if str(term).split() else ""
        value = context.environment.environ.get(name)
        if value is None:
            if isinstance(default, Undefined):
                Missing(f"The environment variable {name!r} is not set.").refuse()
            value = default
        found.append(value)
    return found


def settings(context: LookupContext, terms: list[Any], *, on_missing: str = "error", **_plugin: Any) -> list[Any]:
    """Settings of the program by Ansible's name (``DEFAULT_ROLES_PATH``); ``on_missing`` error, warn or skip."""
    if on_missing not in ("error", "warn", "skip"):
        raise ValueError(f"on_missing is '{on_missing}'; it can be error, warn or skip")
    known = context.environment.settings
    found: list[Any] = []
    for term in terms:
        if term in known:
            found.append(known[term])
        elif on_missing == "error":
            raise KeyError(f"Unable to find setting {term} {did_you_mean(str(term), map(str, known))}".rstrip())
    return found


def host_names(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The hosts that patterns select, in the order of the inventory."""
    pattern = ":".join(str(item) for term in terms for item in (term if isinstance(term, list) else [term]))
    return matching_hosts(pattern, context.evaluation.scope.groups)


def matching_hosts(pattern: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Hosts of a pattern: names and wildcards of hosts or groups, or ``~regex``; ``:`` or ``,`` joins, ``!`` excludes, ``&`` intersects."""
    everything = list(dict.fromkeys(host for members in groups.values() for host in members))
    parts = [part.strip() for part in re.split(r"[:,]", pattern) if part.strip()]
    plain_parts = [part for part in parts if part[0] not in "!&"]
    selected = {host for part in plain_parts for host in _members(part, groups, everything)} if plain_parts else set(everything)
    for part in parts:
        if part[0] == "&":
            selected &= _members(part[1:], groups, everything)
    for part in parts:
        if part[0] == "!":
            selected -= _members(part[1:], groups, everything)
    return [host for host in everything if host in selected]


def _members(part: str, groups: Mapping[str, Sequence[str]], everything: list[str]) -> set[str]:
    fits = re.compile(part[1:]).match if part.startswith("~") else re.compile(fnmatch.translate(part)).match
    members = {host for name, hosts in groups.items() if fits(name) for host in hosts}
    return members | {host for host in everything if fits(host)}


LOOKUPS: dict[str, Lookup] = {
    "config": settings,
    "env": environment,
    "inventory_hostnames": host_names,
    "varnames": names,
    "vars": variables,
}
