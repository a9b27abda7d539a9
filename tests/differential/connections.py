"""The two connections of the language cases, as settings that both tools read from the environment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tests.transport import sshd

CONNECTIONS = ("local", "ssh")

_CLIENT = """\
Host *
  HostName 127.0.0.1
  Port {port}
  User root
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  CheckHostIP no
  HostKeyAlias [127.0.0.1]:{port}
  LogLevel ERROR
"""


@contextlib.contextmanager
def settings_of(connection: str) -> Iterator[Mapping[str, str]]:
    """Settings by which every host of any inventory is this machine: without a connection, or over a real sshd."""
    if connection == "local":
        yield {"ANSIBLE_TRANSPORT": "local", "ANSIBLE_SSH_ARGS": "-F /dev/null", "ANSIBLE_TIMEOUT": "60"}
        return
    with contextlib.contextmanager(sshd.running)() as server:
        config = server.folder / "client"
        config.write_text(_CLIENT.format(port=server.port, folder=server.folder))
        arguments = f"-F {config} -o ControlMaster=auto -o ControlPersist=60s"
        yield {"ANSIBLE_TRANSPORT": "ssh", "ANSIBLE_SSH_ARGS": arguments, "ANSIBLE_TIMEOUT": "60"}
