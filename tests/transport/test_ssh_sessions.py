"""Agents over a real sshd: what a node may do to a start, trouble on the way, ways through others, big things."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.ports import Become, Reply, Step
from provisioner.transport.connect import Connector
from tests.transport.sshd import NOPASSWD, PASSWORD, PLAIN, Sshd, ended, refusal, user_of

# -- what a node may do to a start -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shell(sshd: Sshd) -> Iterator[Any]:
    """Gives the user another login shell for the length of a test."""
    yield lambda path: subprocess.run(["usermod", "--shell", path, sshd.user], check=True)
    subprocess.run(["usermod", "--shell", "/bin/sh", sshd.user], check=True)
    for name in (".bashrc", ".cshrc", ".ssh/rc"):
        (sshd.home / name).unlink(missing_ok=True)


@pytest.mark.parametrize("path", ["/bin/bash", "/bin/dash", "/bin/csh", "/usr/bin/fish", "/bin/zsh"])
def test_any_login_shell(sshd: Sshd, connect: Connector, shell: Any, path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"no {path} here")
    shell(path)
    sshd.sudoers(NOPASSWD.format(sshd.user))
    assert user_of(connect, sshd.target(become=True)) == "root"
    assert connect.raw(sshd.target(), "echo 'a  b' \"$0\"; exit 4").stdout == b"a  b /bin/sh\n"


def test_login_scripts_that_talk(sshd: Sshd, connect: Connector, shell: Any) -> None:
    shell("/bin/bash")
    (sshd.home / ".bashrc").write_text(
        "echo PVN1 welcome; echo no newline at the end >&2; head -c 100000 /dev/zero; printf '\\377\\nPVN1 x ok\\n'\n"
    )
    (sshd.folder / "issue").write_bytes(b"Gr\xfc\xdfe\n")
    sshd.options = [f"Banner {sshd.folder}/issue"]
    sshd.start(*sshd.options)
    agent = connect(sshd.target(), "plan")
    assert agent.execute("echo fine").stdout == b"fine\n"
    agent.close()


def test_an_account_without_a_shell(sshd: Sshd, connect: Connector, shell: Any) -> None:
    shell("/usr/sbin/nologin")
    error = refusal(connect, sshd.target())
    assert error.message == "logged in, but no agent could be started"
    assert "This account is currently not available" in error.why


def test_a_login_script_that_waits(sshd: Sshd, connect: Connector, shell: Any) -> None:
    shell("/bin/bash")
    (sshd.home / ".bashrc").write_text("echo 'Choose a project:'; sleep 60\n")
    started = time.monotonic()
    error = refusal(connect, sshd.target(timeout=0.5))
    assert "no agent started within 1.5 s" in error.message
    assert "Choose a project:" in error.why
    assert time.monotonic() - started < 5


def fake_python(folder: Path, version: str) -> str:
    """A Python that says it is of another version."""
    folder.mkdir(mode=0o755)
    tool = folder / "python3"
    numbers = tuple(int(part) for part in version.split("."))
    lines = ["#!/usr/bin/python3", "import os, sys", f"sys.version_info = {numbers!r}", f"sys.executable = {str(tool)!r}"]
    tool.write_text("\n".join([*lines, "sys.argv = ['-c', *sys.argv[4:]]", "exec(sys.argv[1])"]) + "\n")
    tool.chmod(0o755)
    return str(tool)


def test_no_python(sshd: Sshd, connect: Connector, shell: Any) -> None:
    shell("/bin/bash")
    (sshd.home / ".bashrc").write_text("PATH=/nowhere\n")
    error = refusal(connect, sshd.target())
    assert error.message == "there is no Python on the node"
    assert "apt-get install -y python3" in error.help
    assert connect.raw(sshd.target(), "echo works without").stdout == b"works without\n"


def test_an_old_python(sshd: Sshd, connect: Connector, shell: Any, tmp_path: Path) -> None:
    tool = fake_python(sshd.folder / "old", "3.6.8")
    shell("/bin/bash")
    (sshd.home / ".bashrc").write_text(f"PATH={sshd.folder}/old:/nowhere\n")
    error = refusal(connect, sshd.target())
    assert error.message == f"the node's Python is too old: {tool} is 3.6.8"
    (sshd.home / ".bashrc").write_text(f"PATH={sshd.folder}/old:{sshd.folder}/new:/nowhere\n")
    newer = sshd.folder / "new"
    newer.mkdir(mode=0o755)
    (newer / "python3.9").symlink_to("/usr/bin/python3")
    assert user_of(connect, sshd.target()) == sshd.user


def test_a_python_that_is_named(sshd: Sshd, connect: Connector) -> None:
    assert user_of(connect, sshd.target(python="/usr/bin/python3")) == sshd.user
    assert user_of(connect, sshd.target(python="/usr/bin/env python3")) == sshd.user
    assert (
        refusal(connect, sshd.target(python="/opt/py/bin/python")).message == "The module interpreter '/opt/py/bin/python' was not found."
    )


# -- trouble on the way ----------------------------------------------------------------------------------------------------------------


def test_nobody_listens(sshd: Sshd, connect: Connector) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert refusal(connect, sshd.target(port=port)).message == f"127.0.0.1 port {port} refuses connections"


def test_a_name_that_does_not_exist(sshd: Sshd, connect: Connector) -> None:
    error = refusal(connect, sshd.target(address="no-such-host.invalid"))
    assert error.message == "the name no-such-host.invalid cannot be resolved"
    assert "ansible_host" in error.help


def test_a_host_that_does_not_answer(sshd: Sshd, connect: Connector) -> None:
    with socket.socket() as full:
        # A queue for connections that nobody takes: the next one waits as behind a firewall that drops.
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
            fillers.append(filler)
        started = time.monotonic()
        error = refusal(connect, sshd.target(port=full.getsockname()[1], timeout=1.0))
        assert error.message == f"no answer from 127.0.0.1 port {full.getsockname()[1]} within 1 s"
        assert time.monotonic() - started < 3
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize(("says", "message"), [(b"", "says nothing"), (b"220 mail ready\r\n" * 300, "does not speak ssh")])
def test_something_else_listens(sshd: Sshd, connect: Connector, says: bytes, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            peer, _ = other.accept()
            peer.sendall(says)
            time.sleep(3)
            peer.close()

        threading.Thread(target=answer, daemon=True).start()
        assert message in refusal(connect, sshd.target(port=other.getsockname()[1], timeout=1.0)).message


def test_a_server_that_turns_away_is_tried_again(sshd: Sshd, connect: Connector) -> None:
    with socket.create_server(("127.0.0.1", 0)) as front:
        turned_away = []

        def serve() -> None:
            for attempt in range(3):
                peer, _ = front.accept()
                if attempt < 2:
                    turned_away.append(attempt)
                    peer.close()
                    continue
                back = socket.create_connection(("127.0.0.1", sshd.port))
                for a, b in ((peer, back), (back, peer)):
                    threading.Thread(target=_pump, args=(a, b), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        port = front.getsockname()[1]
        sshd.known_hosts.write_text(f"[127.0.0.1]:{port} {sshd.host_key}\n")
        assert user_of(connect, sshd.target(port=port)) == sshd.user
        assert turned_away == [0, 1]


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one of the two has been closed


def test_a_server_that_hangs_is_given_up(sshd: Sshd, connect: Connector) -> None:
    agent = connect(sshd.target(args=f"{PLAIN} -o ServerAliveInterval=1 -o ServerAliveCountMax=2"), "plan")
    sessions = sshd.sessions()
    for pid in sessions:
        os.kill(pid, signal.SIGSTOP)
    started = time.monotonic()
    try:
        with pytest.raises(HostUnreachable, match="does not answer since"):
            agent.execute("sleep 60")
        assert time.monotonic() - started < 6
    finally:
        for pid in sessions:
            os.kill(pid, signal.SIGCONT)


def test_a_lost_connection_says_what_was_running(sshd: Sshd, connect: Connector) -> None:
    agent = connect(sshd.target(), "plan")

    def cut() -> None:
        for pid in sshd.sessions():
            os.kill(pid, signal.SIGKILL)

    threading.Timer(0.3, cut).start()
    with pytest.raises(HostUnreachable, match="connection was lost while running probe"):
        agent.run([Step(1, "probe", {"do": "sleep", "text": "30"})], lambda reply: None)


def test_closing_from_another_thread_ends_a_wait_at_once(sshd: Sshd, connect: Connector) -> None:
    agent = connect(sshd.target(), "plan")
    threading.Timer(0.3, agent.close).start()
    started = time.monotonic()
    with pytest.raises(HostUnreachable, match="closed by this run"):
        agent.execute("sleep 66.25")
    assert time.monotonic() - started < 1.5
    assert ended("sleep 66.25")


def test_no_thread_is_left(sshd: Sshd, connect: Connector) -> None:
    before = threading.active_count()
    for _ in range(3):
        connect(sshd.target(), "plan").close()
    refusal(connect, sshd.target(python="/no/python"))
    deadline = time.monotonic() + 3
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() == before


# -- ways ------------------------------------------------------------------------------------------------------------------------------


def test_through_a_jump_host(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host bastion\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.user}\n  IdentityFile {sshd.key}\n"
        f"  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    assert user_of(connect, sshd.target(args=f"-F {config} -o IdentityAgent=none -J bastion")) == sshd.user
    error = refusal(connect, sshd.target(port=1, args=f"-F {config} -o IdentityAgent=none -J bastion"))
    assert "the jump host cannot reach 127.0.0.1 port 1" in error.message
    sshd.known_hosts.write_text("")
    assert refusal(connect, sshd.target(args=f"-F {config} -J bastion")).message == "jump host bastion: the host key is not known"


RELAY = """\
import os, socket, sys, threading

there = socket.create_connection((sys.argv[1], int(sys.argv[2])))
threading.Thread(target=lambda: [os.write(1, piece) for piece in iter(lambda: there.recv(65536), b"")], daemon=True).start()
for piece in iter(lambda: os.read(0, 65536), b""):
    there.sendall(piece)
"""


def test_through_a_command(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY)
    args = f"{PLAIN} -o 'ProxyCommand={sys.executable} {relay} %h %p'"
    assert user_of(connect, sshd.target(args=args)) == sshd.user
    error = refusal(connect, sshd.target(args=f"{PLAIN} -o ProxyCommand=false"))
    assert error.message == "the ProxyCommand gives no connection"


# -- big things ------------------------------------------------------------------------------------------------------------------------


def test_big_and_binary_output_on_both_streams(sshd: Sshd, connect: Connector) -> None:
    agent = connect(sshd.target(), "plan")
    end = agent.execute("head -c 52428800 /dev/urandom | tee /dev/stderr | sha256sum", timeout=60)
    agent.close()
    assert hashlib.sha256(end.stderr).hexdigest().encode() == end.stdout.split()[0]


def test_raw_drains_both_streams(sshd: Sshd, connect: Connector) -> None:
    end = connect.raw(sshd.target(), "head -c 10485760 /dev/zero >&2; head -c 10485760 /dev/zero; exit 6")
    assert (end.rc, len(end.stdout), len(end.stderr)) == (6, 10 << 20, 10 << 20)


def test_raw_over_its_time(sshd: Sshd, connect: Connector) -> None:
    started = time.monotonic()
    end = connect.raw(sshd.target(), "echo started; sleep 65.25", 0.5)
    assert (end.timed_out, end.stdout) == (True, b"started\n")
    assert time.monotonic() - started < 3
    assert ended("sleep 65.25")


def test_raw_with_sudo(sshd: Sshd, connect: Connector) -> None:
    sshd.sudoers(f"{sshd.user} ALL=(ALL) ALL")
    assert connect.raw(sshd.target(become=Become(password=PASSWORD)), "id -un").stdout == b"root\n"
    with pytest.raises(HostUnreachable, match="the sudo password is wrong"):
        connect.raw(sshd.target(become=Become(password="wrong")), "id -un")


def test_a_big_content(sshd: Sshd, connect: Connector) -> None:
    data = os.urandom(20 << 20)
    digest = hashlib.sha256(data).hexdigest()
    agent = connect(sshd.target(), "plan")
    replies: list[Reply] = []
    params = {"do": "content", "content": {"$content": digest, "size": len(data)}}
    agent.run([Step(1, "probe", params)], replies.append, contents={digest: lambda: data})
    agent.close()
    assert replies[0].result["digest"] == digest


def test_an_agent_that_is_killed(sshd: Sshd, connect: Connector) -> None:
    agent = connect(sshd.target(), "plan")
    replies: list[Reply] = []
    agent.run([Step(1, "probe", {})], replies.append)
    threading.Timer(0.2, os.kill, (replies[0].result["pid"], signal.SIGKILL)).start()
    with pytest.raises(HostUnreachable, match="lost while running probe"):
        agent.run([Step(1, "probe", {"do": "sleep", "text": "30"})], lambda reply: None)


def test_a_controller_that_is_killed_leaves_nothing(sshd: Sshd, tmp_path: Path) -> None:
    sshd.sudoers(NOPASSWD.format(sshd.user))
    script = tmp_path / "controller.py"
    script.write_text(
        "import sys; from provisioner.ports import *; from provisioner.transport.connect import Connector\n"
        f"agent = Connector(lambda module: {{}})({sshd.target(become=True)!r}, 'plan')\n"
        "print(agent.execute('echo $PPID').stdout.decode(), end='', flush=True); agent.execute('sleep 67.25 & sleep 67.25')\n"
    )
    controller = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    assert controller.stdout is not None
    pid = int(controller.stdout.readline())
    time.sleep(0.3)
    controller.kill()
    controller.communicate()
    assert ended("sleep 67.25")
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
