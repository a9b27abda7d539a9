"""testinfra over our own connection: its commands run through a started agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from provisioner.ports import Agent

DEADLINE = 120.0
_PATH = 'PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"; export PATH; '
_SYSTEMCTL = re.compile(r"systemctl (is-enabled|is-active) ")
_NO_SUCH_UNIT = {"is-enabled": 1, "is-active": 3}


class Answer(CommandResult):  # type: ignore[misc]  # testinfra ships no types
    """What a command answered, in the words of a person who reads why a test failed."""

    def __repr__(self) -> str:
        said = [f"{name} {text.strip()!r}" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text.strip()]
        command = self.command.decode("utf-8", "replace")
        return f"({command} → exit status {self.exit_status}{''.join(f', {each}' for each in said)})"


class AgentBackend(BaseBackend):  # type: ignore[misc]  # testinfra ships no types
    """A testinfra backend for one host; the agent is started by the first command and runs as whom the inventory says."""

    NAME = "provision"

    def __init__(self, hostname: str, agent: Callable[[], Agent], deadline: float = DEADLINE) -> None:
        super().__init__(hostname)
        self._agent = agent
        self._deadline = deadline

    def run(self, command: str, *args: str, **_options: Any) -> CommandResult:
        """Run a shell command; ``TimeoutError`` when it does not end in time, ``HostUnreachable`` when the node is gone."""
        line = self.get_command(command, *args)
        done = self._agent().execute(_PATH + line, timeout=self._deadline)
        if done.timed_out:
            raise TimeoutError(f"no end after {self._deadline:.0f} s: {line}")
        return Answer(self, self._exit_status(line, done.rc), self.encode(line), done.stdout, done.stderr)

    @staticmethod
    def _exit_status(line: str, rc: int) -> int:
        """systemctl says 4 of a unit that does not exist since version 250; testinfra knows the older numbers only."""
        asked = _SYSTEMCTL.match(line)
        return _NO_SUCH_UNIT[asked.group(1)] if asked and rc == 4 else rc

    def get_sudo_command(self, command: str, sudo_user: str | None) -> str:
        """What ``with host.sudo(user)`` makes of a command: root needs no sudo for it, anybody else must not be asked for a password."""
        if self._agent().info.uid == 0:
            if sudo_user in (None, "root"):
                return str(self.quote("/bin/sh -c %s", command))
            return str(self.quote("runuser -u %s -- /bin/sh -c %s", sudo_user, command))
        return str(self.quote("sudo -n -u %s /bin/sh -c %s", sudo_user or "root", command))

    def get_encoding(self) -> str:
        """Nodes speak UTF-8; asking each of them would cost a command."""
        return "utf-8"

    def decode(self, data: bytes) -> str:
        """Text of any bytes: what is no UTF-8 survives as lone surrogates."""
        return data.decode("utf-8", "surrogateescape")

    def encode(self, data: str) -> bytes:
        """The opposite of ``decode``."""
        return data.encode("utf-8", "surrogateescape")


def make_host(name: str, agent: Callable[[], Agent]) -> Host:
    """A testinfra ``Host`` for a node."""
    backend = AgentBackend(name, agent)
    host = Host(backend)
    backend.set_host(host)
    return host
