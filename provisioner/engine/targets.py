"""Where a host's agent is started and how: from its ``ansible_*`` variables, keywords and the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from provisioner.engine.expressions import Scope
from provisioner.engine.options import Options
from provisioner.engine.settings import BecomeSettings
from provisioner.engine.truth import as_bool, as_number
from provisioner.errors import InputError
from provisioner.playbook.model import Directives
from provisioner.ports import Become, Target

CONNECTIONS = {
    "ssh": "ssh",
    "smart": "ssh",
    "paramiko": "ssh",
    "paramiko_ssh": "ssh",
    "openssh": "ssh",
    "local": "local",
    "docker": "docker",
}
CONNECTIONS.update({"podman": "podman", "community.docker.docker": "docker", "community.docker.docker_api": "docker"})
CONNECTIONS.update({"containers.podman.podman": "podman", "ansible.builtin.ssh": "ssh", "ansible.builtin.local": "local"})
CONNECTIONS.update({"ansible.builtin.paramiko_ssh": "ssh", "ansible.netcommon.libssh": "ssh"})
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECTION_VARIABLES = (
    "ansible_connection",
    "ansible_host",
    "ansible_ssh_host",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_password",
    "ansible_ssh_password",
    "ansible_ssh_pass",
    "ansible_private_key_file",
    "ansible_ssh_private_key_file",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_ssh_args",
    "ansible_host_key_checking",
    "ansible_ssh_host_key_checking",
    "ansible_timeout",
    "ansible_ssh_timeout",
    "ansible_python_interpreter",
    "ansible_docker_container",
    "ansible_docker_host",
    "ansible_podman_container",
)
"""Names that never come from facts, and that decide about a connection."""


class Targets:
    """Targets of one host; built anew only when what they depend on has changed."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[tuple[Any, ...], Target] = {}

    def of(self, host: str, scope: Scope, directives: Directives, *, delegated: bool = False) -> Target:
        """The target for a task, without ``become``. For delegated tasks the scope is that of the other host."""
        written = scope.written(CONNECTION_VARIABLES)
        keywords = (
            (None, directives.remote_user, directives.port)
            if delegated
            else (directives.connection, directives.remote_user, directives.port)
        )
        key = (host, *map(repr, sorted(written.items())), *map(repr, keywords))
        if any(isinstance(value, str) and "{" in value for value in (*written.values(), *keywords)):
            return self._build(host, scope, keywords)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._build(host, scope, keywords)
        return known

    def _build(self, host: str, scope: Scope, keywords: tuple[Any, ...]) -> Target:
        options = self._options
        connection, remote_user, port = (scope.render(value) if isinstance(value, str) else value for value in keywords)

        def pick(default: Any, *names: str) -> Any:
            for name in names:
                value = scope.lookup(name, None)
                if value not in (None, "") and value is not scope.omit:
                    return value
            return default

        kind = _connection(pick(connection or _default_connection(host, options), "ansible_connection"))
        address = str(pick(host, "ansible_host", "ansible_ssh_host"))
        container = pick(address, "ansible_docker_container", "ansible_podman_container") if kind in ("docker", "podman") else None
        number = pick(port if port is not None else options.port, "ansible_port", "ansible_ssh_port")
        python = pick(options.python, "ansible_python_interpreter")
        checking = pick(options.host_key_checking, "ansible_ssh_host_key_checking", "ansible_host_key_checking")
        more = [str(pick("", name)) for name in ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")]
        return Target(
            host=host,
            connection=kind,
            address=address,
            port=None if number is None else int(as_number(number, "ansible_port")),
            user=_text(pick(remote_user or options.remote_user, "ansible_user", "ansible_ssh_user")),
            password=_text(pick(options.password, "ansible_password", "ansible_ssh_password", "ansible_ssh_pass")),
            private_key_file=_text(pick(options.private_key_file, "ansible_ssh_private_key_file", "ansible_private_key_file")),
            ssh_args=" ".join(filter(None, [options.ssh_args, *more])),
            host_key_checking=_checking(checking),
            timeout=as_number(pick(options.connect_timeout, "ansible_ssh_timeout", "ansible_timeout"), "ansible_timeout"),
            python=None if str(python).startswith("auto") or python is None else str(python),
            container=container,
        )


def elevated(target: Target, settings: BecomeSettings, wanted: bool) -> Target:
    """The target with an agent that runs as root, when that is wanted and the login user is not root already."""
    if (
        not wanted
        or target.user == "root"
        or (target.connection in ("local", "docker", "podman") and target.user is None and _is_root(target))
    ):
        return target
    return replace(target, become=_become(settings, "root"))


def directly(target: Target, settings: BecomeSettings) -> Target:
    """The target with an agent that runs as the account itself that a step wants."""
    if not settings.wanted or settings.user == target.user:
        return target
    return replace(target, become=_become(settings, settings.user))


def _become(settings: BecomeSettings, user: str) -> Become:
    return Become(settings.method, user, settings.password, settings.flags, settings.exe)


def _is_root(target: Target) -> bool:
    """Local agents are what we are; containers are entered as root unless a user is named."""
    return target.connection != "local" or os.geteuid() == 0


def _default_connection(host: str, options: Options) -> str:
    return "local" if host in LOOPBACK and options.connection == "ssh" else options.connection


def _connection(name: Any) -> str:
    kind = CONNECTIONS.get(str(name))
    if kind is None:
        raise InputError.of(f"connection {name!r} is not known", help=f"use one of {', '.join(sorted(set(CONNECTIONS.values())))}")
    return kind


def _checking(value: Any) -> str:
    if str(value) in ("yes", "no", "accept-new"):
        return str(value)
    return "yes" if as_bool(value, "ansible_host_key_checking") else "no"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def may_become(values: Mapping[str, Any] | Directives) -> bool:
    """Whether a place says ``become`` in any form but a literal no."""
    value = values.become if isinstance(values, Directives) else values.get("ansible_become")
    if value is None or isinstance(value, bool):
        return bool(value)
    return "{" in str(value) or as_bool(value, "become")
