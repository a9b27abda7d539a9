"""A private sshd on 127.0.0.1 with a throw-away user, for tests that must not be fooled by a fake."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.ports import Become, Mode, Target
from provisioner.transport.connect import Connector

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
PASSWORD = "correct horse"
PLAIN = "-F /dev/null -o IdentityAgent=none"
"""Options that keep a person's own ssh files and agent out of a test."""
NOPASSWD = "{} ALL=(ALL) NOPASSWD: ALL"


@dataclass
class Sshd:
    """A running server. ``user`` may log in with ``key`` or ``PASSWORD``; it has no sudo rule until ``sudoers`` writes one."""

    folder: Path
    port: int
    user: str
    home: Path
    process: subprocess.Popen[bytes] | None = None
    options: list[str] = field(default_factory=list)

    @property
    def key(self) -> Path:
        """The private key that the user's authorized_keys names."""
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        """The file that the targets of this server use."""
        return self.folder / "known_hosts"

    @property
    def host_key(self) -> str:
        """The server's public key: kind and text."""
        return " ".join((self.folder / "host.pub").read_text().split()[:2])

    def start(self, *options: str) -> None:
        """Start the server anew, with more lines of configuration."""
        self.stop()
        config = self.folder / "sshd_config"
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host",
            f"PidFile {self.folder}/pid",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            "StrictModes no",
            "UsePAM no",
            "MaxStartups 100:30:200",
        ]
        config.write_text("\n".join([*options, *lines]) + "\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        self.process = subprocess.Popen([SSHD, "-D", "-f", str(config), "-E", str(self.folder / "log")], start_new_session=True)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        pytest.fail(f"sshd does not start: {(self.folder / 'log').read_text()}")

    def stop(self) -> None:
        """Stop it, with the sessions it has."""
        if self.process is not None:
            for session in self.sessions():
                with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(session, signal.SIGKILL)
            self.process.terminate()
            self.process.wait()
            self.process = None

    def sessions(self) -> list[int]:
        """Process ids of the children of this server."""
        assert self.process is not None
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        children = [int(word) for word in found.stdout.split()]
        below = subprocess.run(["pgrep", "-P", ",".join(map(str, children))], capture_output=True, text=True) if children else None
        return children + ([int(word) for word in below.stdout.split()] if below else [])

    def trust(self, key: str | None = None) -> None:
        """Put the server's key (or another) into the known_hosts file."""
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key or self.host_key}\n")

    def sudoers(self, rule: str) -> None:
        """What the user may do with sudo."""
        path = Path("/etc/sudoers.d") / self.user
        path.write_text(f"{rule}\n")
        path.chmod(0o440)

    def target(self, **changes: Any) -> Target:
        """A target on this server; ``args`` adds to its ssh arguments, ``become`` True means sudo to root."""
        args = changes.pop("args", PLAIN)
        args = f"-o UserKnownHostsFile={self.known_hosts} -o GlobalKnownHostsFile=none {args}"
        if changes.get("become") is True:
            changes["become"] = Become()
        given: dict[str, Any] = {
            "host": "node1",
            "address": "127.0.0.1",
            "port": self.port,
            "user": self.user,
            "private_key_file": str(self.key),
            "ssh_args": args,
            "timeout": 5.0,
        }
        return Target(**{**given, **changes})


def make_key(path: Path, *options: str) -> None:
    """A key pair without a passphrase, unless ``options`` give one."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-f", str(path), *(options or ("-N", ""))], check=True)


def running() -> Iterator[Sshd]:
    """A server with its user, and no trace of either afterwards."""
    if os.geteuid() != 0 or not Path(SSHD).exists() or shutil.which("sudo") is None:
        pytest.skip("needs root, sshd and sudo")
    user = f"pv{secrets.token_hex(3)}"
    folder = Path(tempfile.mkdtemp(prefix="sshd-"))  # pytest's own folders are closed to the user
    folder.chmod(0o755)
    make_key(folder / "host")
    make_key(folder / "key")
    shutil.copy(folder / "key.pub", folder / "authorized_keys")
    (folder / "authorized_keys").chmod(0o644)
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", user], check=True)
    subprocess.run(["chpasswd"], input=f"{user}:{PASSWORD}".encode(), check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Sshd(folder, port, user, Path("/home") / user)
    server.trust()
    try:
        server.start()
        yield server
    finally:
        server.stop()
        (Path("/etc/sudoers.d") / user).unlink(missing_ok=True)
        subprocess.run(["pkill", "-KILL", "-u", user])
        shutil.rmtree(folder)
        subprocess.run(["userdel", "--remove", user], check=True, stderr=subprocess.DEVNULL)


def refusal(connect: Connector, target: Target, mode: Mode = "plan") -> HostUnreachable:
    """The error with which no agent is started."""
    with pytest.raises(HostUnreachable) as caught:
        connect(target, mode).close()
    return caught.value


def user_of(connect: Connector, target: Target) -> str:
    """Whom an agent runs as, once it has been started."""
    agent = connect(target, "plan")
    try:
        return agent.info.user
    finally:
        agent.close()


def ended(text: str) -> bool:
    """Whether nothing whose command line has this text is left, a few seconds later at most."""
    for _ in range(100):
        if subprocess.run(["pgrep", "-f", text], capture_output=True).returncode:
            return True
        time.sleep(0.05)
    return False
