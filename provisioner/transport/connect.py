"""``Connector``: what the command line gives the engine to reach hosts. Importing it is cheap; Fabric comes with the first ssh host."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace

from provisioner.errors import HostUnreachable
from provisioner.ports import Executed, Mode, Target
from provisioner.transport import container, handshake, local
from provisioner.transport.bootstrap import Start, shell_of, start_of
from provisioner.transport.client import Client, SourceOf, Terms, hello
from provisioner.transport.packing import payload
from provisioner.transport.streams import Feeder, Stream

CONNECTIONS = ("ssh", "local", "docker", "podman")
ALIASES = {
    "smart": "ssh",
    "paramiko": "ssh",
    "paramiko_ssh": "ssh",
    "community.docker.docker": "docker",
    "containers.podman.podman": "podman",
}
START = 3.0
"""An agent may take this many times the connection's time-out to start: a slow disk has to find Python first."""
Planned = Callable[[str | None], Start]


class Connector:
    """Implements ``ports.Connect``; safe to call from many threads.

    source_of: the sources of a module by name. who: shown to another run that finds the node locked. cache: whether nodes may keep
    compiled code. lock_wait: seconds to wait for another run on the same node. silence: seconds after which a node that gives no
    sign of life is given up.
    """

    def __init__(
        self, source_of: SourceOf, *, who: str = "", lock_wait: float = 10.0, cache: bool = True, silence: float | None = None
    ) -> None:
        me = f"{local.login()}@{socket.gethostname()} (pid {os.getpid()})"
        self._terms = Terms(source_of, who or me, lock_wait, cache, **({} if silence is None else {"silence": silence}))

    def __call__(self, target: Target, mode: Mode) -> Client:
        """Start the target's agent and wait for its greeting."""
        target = _plain(target)
        nonce = os.urandom(8).hex()
        stream, start = _open(target, lambda login: start_of(target, login, nonce))
        feeder = Feeder(stream)
        try:
            first = payload().data + hello(mode, self._terms, stream.login)
            try:
                came = handshake.begin(feeder, start, target, first, target.timeout * START)
            except HostUnreachable as error:
                raise _engine_error(target, feeder.errors) or error from None
            return Client(feeder, self._terms, came)
        except BaseException:
            stream.close()
            raise

    def raw(self, target: Target, command: str, timeout: float | None = None) -> Executed:
        """Run a shell command without an agent, for nodes that have no Python yet."""
        target = _plain(target)
        nonce = os.urandom(8).hex()
        stream, start = _open(target, lambda login: shell_of(target, login, nonce, command))
        try:
            end = handshake.run_raw(stream, start, target, timeout, target.timeout * START)
            other = _engine_error(target, end.stderr) if end.rc and not end.stdout else None
            if other is not None:
                raise other
            return end
        finally:
            stream.close()


def _plain(target: Target) -> Target:
    """The target with its connection under our name for it."""
    return replace(target, connection=ALIASES.get(target.connection, target.connection))


def _engine_error(target: Target, words: bytes) -> HostUnreachable | None:
    """What a container's engine said instead of running anything."""
    return container.explain(words.decode("utf-8", "replace"), target) if target.connection in ("docker", "podman") else None


def _open(target: Target, plan: Planned) -> tuple[Stream, Start]:
    """Start what ``plan`` makes for the user that the connection logs in as."""
    if target.connection == "ssh":
        from provisioner.transport import ssh

        connection = ssh.Connection(target)
        try:
            start = plan(connection.settings.user)
            return connection.start(start.line), start
        except BaseException:
            connection.close()
            raise
    if target.connection == "local":
        start = plan(local.login())
        return local.open_stream(start), start
    if target.connection in ("docker", "podman"):
        start = plan(target.user)
        return container.open_stream(target, start), start
    raise HostUnreachable(f"connection {target.connection!r} is not supported", help=f"use one of {', '.join(CONNECTIONS)}")
