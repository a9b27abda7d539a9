"""Agents over a real sshd: whether to trust the host, how to log in, how to become somebody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner.ports import Become
from provisioner.transport.connect import Connector
from tests.transport.sshd import NOPASSWD, PASSWORD, PLAIN, Sshd, make_key, refusal, user_of

BY_PASSWORD: dict[str, Any] = {"private_key_file": None, "args": f"{PLAIN} -o IdentityFile=none"}


# -- host keys -------------------------------------------------------------------------------------------------------------------------


def test_a_known_host(sshd: Sshd, connect: Connector) -> None:
    assert user_of(connect, sshd.target()) == sshd.user


def test_an_unknown_host_is_refused_with_the_command_to_accept_it(sshd: Sshd, connect: Connector) -> None:
    sshd.known_hosts.write_text("")
    error = refusal(connect, sshd.target())
    assert error.message == "the host key is not known"
    command = error.help.partition(": ")[2].partition(";")[0]
    assert command == f"ssh-keyscan -t ed25519 -p {sshd.port} 127.0.0.1 >> {sshd.known_hosts}"
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)
    assert user_of(connect, sshd.target()) == sshd.user


def test_a_changed_host_key_is_refused_loudly(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    sshd.trust(" ".join((tmp_path / "other.pub").read_text().split()[:2]))
    for policy in ("yes", "accept-new"):
        error = refusal(connect, sshd.target(host_key_checking=policy))
        assert "HOST KEY HAS CHANGED" in error.message
        assert f"{sshd.known_hosts}:1" in error.why
        assert error.why.count("SHA256:") == 2
        assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}' -f {sshd.known_hosts}" in error.help


def test_a_revoked_host_key(sshd: Sshd, connect: Connector) -> None:
    sshd.known_hosts.write_text(f"[127.0.0.1]:{sshd.port} {sshd.host_key}\n@revoked * {sshd.host_key}\n")
    assert refusal(connect, sshd.target()).message == "the host key is revoked"


def test_accept_new_notes_the_key_and_holds_to_it(sshd: Sshd, connect: Connector) -> None:
    sshd.known_hosts.write_text("no line end")
    assert user_of(connect, sshd.target(host_key_checking="accept-new")) == sshd.user
    assert sshd.known_hosts.read_text() == f"no line end\n[127.0.0.1]:{sshd.port} {sshd.host_key}\n"
    assert user_of(connect, sshd.target()) == sshd.user


def test_no_checking(sshd: Sshd, connect: Connector) -> None:
    sshd.known_hosts.write_text("")
    assert user_of(connect, sshd.target(args=f"{PLAIN} -o StrictHostKeyChecking=no")) == sshd.user
    assert sshd.known_hosts.read_text() == ""


# -- logins ----------------------------------------------------------------------------------------------------------------------------


def test_a_password(sshd: Sshd, connect: Connector) -> None:
    assert user_of(connect, sshd.target(**BY_PASSWORD, password=PASSWORD)) == sshd.user


def test_a_wrong_password_says_what_was_tried(sshd: Sshd, connect: Connector) -> None:
    error = refusal(connect, sshd.target(**BY_PASSWORD, password="wrong"))
    assert error.message == f"the server refused to let {sshd.user} log in (it accepts publickey, password, keyboard-interactive)"
    assert "password was refused" in error.why
    assert "wrong" not in error.why


def test_nothing_to_log_in_with(sshd: Sshd, connect: Connector) -> None:
    assert "nothing to try" in refusal(connect, sshd.target(**BY_PASSWORD)).why


def test_a_wrong_key_is_named_with_its_fingerprint(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    error = refusal(connect, sshd.target(private_key_file=str(tmp_path / "other")))
    shown = subprocess.run(["ssh-keygen", "-lf", tmp_path / "other.pub"], capture_output=True, text=True, check=True).stdout.split()[1]
    assert f"key {tmp_path}/other ({shown}) was refused" in error.why


def test_a_key_that_does_not_exist_or_is_none(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert f"key {tmp_path}/absent does not exist" in refusal(connect, sshd.target(private_key_file=f"{tmp_path}/absent")).why
    assert f"key {tmp_path}/text is no private key" in refusal(connect, sshd.target(private_key_file=f"{tmp_path}/text")).why


def test_too_many_keys(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    names = [f"key{number}" for number in range(7)]
    for name in names:
        make_key(tmp_path / name)
    args = " ".join([PLAIN, *(f"-i {tmp_path}/{name}" for name in names)])
    error = refusal(connect, sshd.target(private_key_file=None, args=args))
    assert "closed the connection while" in error.message
    assert "MaxAuthTries" in error.why


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """The socket of an ssh-agent without keys."""
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    while not path.exists():
        time.sleep(0.01)
    yield path
    process.terminate()
    process.wait()


def test_a_locked_key_and_an_agent_that_holds_it(sshd: Sshd, connect: Connector, tmp_path: Path, agent: Path) -> None:
    locked = tmp_path / "locked"
    shutil.copy(sshd.key, locked)
    shutil.copy(f"{sshd.key}.pub", f"{locked}.pub")
    subprocess.run(["ssh-keygen", "-q", "-p", "-f", locked, "-N", "secret"], check=True, stdout=subprocess.DEVNULL)
    args = f"-F /dev/null -o IdentityAgent={agent}"
    error = refusal(connect, sshd.target(private_key_file=str(locked), args=args))
    assert f"key {locked} has a passphrase and is in no agent (ssh-add {locked})" in error.why
    subprocess.run(["ssh-add", "-q", sshd.key], check=True, env={**os.environ, "SSH_AUTH_SOCK": str(agent)}, stderr=subprocess.DEVNULL)
    assert user_of(connect, sshd.target(private_key_file=str(locked), args=args)) == sshd.user
    assert user_of(connect, sshd.target(private_key_file=None, args=f"{args} -o IdentityFile=none")) == sshd.user


def test_a_key_and_a_password(sshd: Sshd, connect: Connector) -> None:
    sshd.options = ["AuthenticationMethods publickey,password"]
    sshd.start(*sshd.options)
    assert "also wants password" in refusal(connect, sshd.target()).message
    assert user_of(connect, sshd.target(password=PASSWORD)) == sshd.user


# -- becoming --------------------------------------------------------------------------------------------------------------------------


def test_sudo_without_a_password(sshd: Sshd, connect: Connector) -> None:
    sshd.sudoers(NOPASSWD.format(sshd.user))
    assert user_of(connect, sshd.target(become=True)) == "root"
    assert user_of(connect, sshd.target(become=Become(user="nobody"))) == "nobody"


def test_sudo_with_a_password(sshd: Sshd, connect: Connector) -> None:
    sshd.sudoers(f"{sshd.user} ALL=(ALL) ALL")
    assert user_of(connect, sshd.target(become=Become(password=PASSWORD))) == "root"
    error = refusal(connect, sshd.target(become=True))
    assert error.message == "sudo needs a password to become root"
    assert "-K" in error.help


def test_a_password_sudo_does_not_ask_for(sshd: Sshd, connect: Connector) -> None:
    sshd.sudoers(NOPASSWD.format(sshd.user))
    assert user_of(connect, sshd.target(become=Become(password="whatever"))) == "root"


def test_a_wrong_sudo_password_is_tried_once(sshd: Sshd, connect: Connector, tmp_path: Path) -> None:
    log = tmp_path / "sudo.log"
    sshd.sudoers(f"Defaults:{sshd.user} logfile={log}, passwd_tries=3\n{sshd.user} ALL=(ALL) ALL")
    started = time.monotonic()
    error = refusal(connect, sshd.target(become=Become(password="wrong")))
    assert error.message == "the sudo password is wrong"
    assert time.monotonic() - started < 6
    time.sleep(0.3)
    assert "3 incorrect" not in log.read_text()


def test_sudo_is_not_allowed(sshd: Sshd, connect: Connector) -> None:
    error = refusal(connect, sshd.target(become=Become(password=PASSWORD)))
    assert error.message == f"{sshd.user} may not become root with sudo"


def test_su(sshd: Sshd, connect: Connector) -> None:
    other = subprocess.run(["useradd", f"{sshd.user}x", "--shell", "/bin/sh"], check=True)
    assert other.returncode == 0
    try:
        subprocess.run(["chpasswd"], input=f"{sshd.user}x:{PASSWORD}".encode(), check=True)
        su = Become(method="su", user=f"{sshd.user}x", password=PASSWORD)
        assert user_of(connect, sshd.target(become=su)) == f"{sshd.user}x"
        assert refusal(connect, sshd.target(become=Become("su", su.user, "wrong"))).message == "the su password is wrong"
        assert refusal(connect, sshd.target(become=Become("su", su.user))).message == f"su to {su.user} needs a password"
    finally:
        subprocess.run(["userdel", f"{sshd.user}x"], check=True)


def test_methods_that_cannot_work(sshd: Sshd, connect: Connector) -> None:
    assert "'dzdo' is not supported" in refusal(connect, sshd.target(become=Become("dzdo"))).message
    assert "cannot be given a password" in refusal(connect, sshd.target(become=Become("doas", password="x"))).message
    assert refusal(connect, sshd.target(become=Become(exe="sudo-not-here"))).message == "there is no sudo on the node"


def test_a_sudo_that_wants_a_terminal(sshd: Sshd, connect: Connector) -> None:
    sshd.sudoers(f"Defaults:{sshd.user} requiretty\n{NOPASSWD.format(sshd.user)}")
    assert refusal(connect, sshd.target(become=True)).message == "sudo wants a terminal"


def test_each_connection_has_a_configuration_of_its_own() -> None:
    """Fabric writes into it while a connection is made; one that others shared was empty for them at that moment, and crashed a run."""
    from provisioner.transport.ssh import _fabric_config

    first, second = _fabric_config(), _fabric_config()
    first.inline_ssh_env = False
    assert second.inline_ssh_env
