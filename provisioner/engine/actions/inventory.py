"""``add_host`` and ``group_by``: the inventory grows during the run."""

from __future__ import annotations

from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.errors import InputError
from provisioner.inventory.addresses import split_port
from provisioner.values import Unknown, UnknownValueError, UnsafeText, map_texts

_OWN = ("name", "hostname", "host", "groups", "group", "groupname", "_raw_params")


def add_host(call: Call) -> Outcome:
    """Add a host to the inventory, or variables and groups to a host."""
    name = call.given("name", "hostname", "host")
    if isinstance(name, Unknown):
        raise UnknownValueError(name)
    if not name:
        raise InputError.of("add_host needs a name", call.task.span_of("args"))
    host, port = split_port(str(name))
    groups = _names(call.given("groups", "group", "groupname", default=[]))
    variables = {key: value for key, value in call.written.items() if key not in _OWN}
    if port is not None:
        variables["ansible_ssh_port"] = port
    # They are rendered already: marks of templates in them are data.
    changed = call.run.inventory.add_host(host, groups, map_texts(variables, UnsafeText), origin=str(call.task.span))
    call.run.inventory_changed()
    result: dict[str, Any] = {"host_name": host, "groups": groups, "host_vars": variables}
    outcome = Outcome.ok(add_host=result)
    outcome.result["changed"] = changed
    return outcome


def group_by(call: Call) -> Outcome:
    """Put the host into a group named after a value."""
    key = call.given("key", "_raw_params")
    if isinstance(key, Unknown):
        raise UnknownValueError(key)
    if not key:
        raise InputError.of("group_by needs a key", call.task.span_of("args"))
    group = str(key).replace(" ", "-")
    parents = [parent.replace(" ", "-") for parent in _names(call.given("parents", default=["all"]))]
    inventory, host = call.run.inventory, call.walk.host.name
    changed = inventory.add_group(group, parents)
    if host in inventory.hosts:
        changed |= inventory.add_to_group(host, group)
    call.run.inventory_changed()
    outcome = Outcome.ok(add_group=group, parent_groups=parents)
    outcome.result["changed"] = changed
    return outcome


def _names(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(item).strip() for item in value]
    return [part.strip() for part in str(value).split(",") if part.strip()]
