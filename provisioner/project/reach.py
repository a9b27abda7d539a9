"""What the inventory says of how hosts are reached, held against what can be meant before any connection.

Only values as they are written can be judged: what is a template, or encrypted, shows in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostic, Diagnostics, Span, did_you_mean
from provisioner.engine.options import BECOME_METHODS
from provisioner.engine.targets import CONNECTIONS
from provisioner.engine.truth import NO, YES
from provisioner.inventory import Inventory

Complaint = tuple[str, str]
"""What is wrong with a value, and what to do about it."""

_PORTS = range(1, 65536)
_METHODS = [prefix + name for prefix in ("", "ansible.builtin.", "community.general.") for name in BECOME_METHODS]


def check_hosts(
    inventory: Inventory, hosts: Iterable[str], overridden: Iterable[str] = (), playbook: Path | str | None = None
) -> Diagnostics:
    """A problem for each definition that counts for one of these hosts and cannot be meant; ``overridden`` ones do not count."""
    found = Diagnostics()
    checks = {name: check for name, check in _CHECKS.items() if name not in set(overridden)}
    for host in hosts:
        for name, (value, span, origin) in _winners(inventory, host, checks, playbook).items():
            complaint = checks[name](value)
            if complaint is not None:
                message, help_ = complaint
                found.add(Diagnostic(f"{name}: {message}", span or Span(origin), help=help_, hosts=(host,), code="connection-variable"))
    return found


def _winners(
    inventory: Inventory, host: str, names: Iterable[str], playbook: Path | str | None
) -> Mapping[str, tuple[Any, Span | None, str]]:
    """The value of each variable that the inventory gives the host, with its place."""
    winners = {}
    for source in inventory.variables(host, playbook):
        for name in names:
            if name in source.values:
                winners[name] = (source.values[name], source.spans.get(name), source.origin or source.subject)
    return winners


def _is_written(value: Any) -> bool:
    """Whether the value is what it will be: no template, not encrypted, not left empty."""
    if isinstance(value, str):
        return bool(value.strip()) and "{{" not in value and "{%" not in value
    return isinstance(value, (int, float))


def _port(value: Any) -> Complaint | None:
    if not _is_written(value):
        return None
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal():
        return f"{text!r} is not a port number", "write a number, such as 22"
    if int(text) not in _PORTS:
        return f"{text} is not a port number", f"ports go from {_PORTS[0]} to {_PORTS[-1]}"
    return None


def _seconds(value: Any) -> Complaint | None:
    if not _is_written(value):
        return None
    try:
        fine = float(value) > 0 and not isinstance(value, bool)
    except ValueError:
        fine = False
    return None if fine else (f"{str(value)!r} is not a number of seconds", "write a number, such as 10")


def _truth(value: Any) -> Complaint | None:
    if not _is_written(value) or isinstance(value, (bool, int, float)) or str(value).strip().lower() in YES | NO:
        return None
    return f"{value!r} is neither yes nor no", did_you_mean(str(value).lower(), ("yes", "no", "true", "false")) or "write true or false"


def _checking(value: Any) -> Complaint | None:
    return None if str(value) == "accept-new" else _truth(value)


def _one_of(known: Iterable[str], shown: Iterable[str]) -> Callable[[Any], Complaint | None]:
    names = frozenset(known)
    use = f"use one of {', '.join(sorted(shown))}"

    def check(value: Any) -> Complaint | None:
        if not _is_written(value) or str(value) in names:
            return None
        return f"{str(value)!r} is not known", f"{did_you_mean(str(value), names)} {use}".strip()

    return check


_CHECKS: Mapping[str, Callable[[Any], Complaint | None]] = {
    "ansible_port": _port,
    "ansible_ssh_port": _port,
    "ansible_connection": _one_of(CONNECTIONS, set(CONNECTIONS.values())),
    "ansible_become_method": _one_of(_METHODS, BECOME_METHODS),
    "ansible_become": _truth,
    "ansible_timeout": _seconds,
    "ansible_ssh_timeout": _seconds,
    "ansible_host_key_checking": _checking,
    "ansible_ssh_host_key_checking": _checking,
}
