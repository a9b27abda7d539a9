"""What ssh's own files and options mean for a host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.ports import Target
from provisioner.transport import ssh_config
from provisioner.transport.ssh_config import Settings, parse_arguments, resolve, resolve_hop


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a system folder of the test's own."""
    (tmp_path / ".ssh").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(ssh_config, "SYSTEM_FILE", tmp_path / "etc" / "ssh_config")
    monkeypatch.setattr(ssh_config, "_configs", {})
    return tmp_path


def config(files: Path, text: str, name: str = "config") -> None:
    (files / ".ssh" / name).write_text(text)


def of(host: str = "gpu01", **changes: Any) -> Settings:
    return resolve(Target(host, **changes))


def test_defaults(files: Path) -> None:
    found = of(user="ops")
    assert (found.address, found.port, found.user) == ("gpu01", 22, "ops")
    assert found.keys == tuple(f"{files}/.ssh/{name}" for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
    assert found.known_hosts[0] == files / ".ssh/known_hosts"
    assert (found.checking, found.jump, found.command, found.agent, found.explicit_keys) == ("yes", (), None, None, False)


def test_the_users_file(files: Path) -> None:
    config(
        files,
        "Host gpu*\n  HostName %h.lan\n  Port 2222\n  User ops\n  IdentityFile ~/.ssh/gpu\n  ConnectTimeout 3\nHost *\n  User other\n",
    )
    found = of()
    assert (found.alias, found.address, found.port, found.user) == ("gpu01", "gpu01.lan", 2222, "ops")
    assert (found.keys, found.explicit_keys, found.timeout) == ((f"{files}/.ssh/gpu",), True, 3.0)
    assert of("web").user == "other"


def test_the_alias_is_ansible_host_when_there_is_one(files: Path) -> None:
    config(files, "Host 10.0.0.7\n  User ops\n")
    assert of("gpu01", address="10.0.0.7").user == "ops"


def test_no_file_at_all(files: Path) -> None:
    config(files, "Host *\n  User ops\n")
    assert of(user=None, ssh_args="-F none").user != "ops"


def test_the_inventory_wins_then_options_then_files(files: Path) -> None:
    config(files, "Host *\n  Port 1\n  User config\n  IdentityFile ~/config\n  StrictHostKeyChecking no\n  ConnectTimeout 9\n")
    found = of(port=3, private_key_file="/keys/mine", ssh_args="-p 2 -o User=option -o ConnectTimeout=4")
    assert (found.port, found.user, found.timeout, found.checking) == (3, "option", 4.0, "no")
    assert found.keys == ("/keys/mine", f"{files}/config")
    assert of(host_key_checking="accept-new").checking == "accept-new"
    assert of(host_key_checking="no", ssh_args="-o StrictHostKeyChecking=yes").checking == "yes"


def test_the_systems_file_comes_last(files: Path) -> None:
    (files / "etc").mkdir()
    (files / "etc/ssh_config").write_text("User system\nPort 7\n")
    config(files, "Host other\n  Port 8\n")
    assert (of().user, of().port, of("other").port) == ("system", 7, 8)


def test_includes_keep_to_their_block(files: Path) -> None:
    (files / ".ssh/conf.d").mkdir()
    config(files, "Host gpu*\n  Include conf.d/*\n  Port 5\nHost *\n  User last\n")
    config(files, "User inner\nHost gpu02\n  Port 6\n", "conf.d/a")
    assert (of("gpu01").user, of("gpu01").port) == ("inner", 5)
    assert of("gpu02").port == 6
    assert of("web").user == "last"
    config(files, "Include config\n")
    ssh_config._configs.clear()
    with pytest.raises(HostUnreachable, match="nest deeper"):
        of()


def test_match_blocks(files: Path) -> None:
    config(files, "Match host gpu* user ops\n  Port 9\n")
    assert of(user="ops").port == 9
    assert of("web", user="ops").port == 22


def test_jump_hosts_and_commands(files: Path) -> None:
    config(files, "Host in*\n  ProxyJump ops@a:2200,b\nHost direct\n  ProxyJump none\nHost *\n  ProxyCommand relay %h %p %r\n")
    assert (of("inner").jump, of("inner").command) == (("ops@a:2200", "b"), None)
    assert (of("direct").jump, of("direct").command) == ((), None)
    assert of("web", port=44, user="me").command == "relay web 44 me"
    assert of("web", ssh_args="-J c").jump == ("c",)
    assert of("inner", ssh_args="-o ProxyCommand=none").command is None


def test_a_jump_host_has_settings_of_its_own(files: Path) -> None:
    config(files, "Host a\n  HostName a.lan\n  User jumper\n")
    target = Target("gpu01", port=99, user="ops", ssh_args="-o UserKnownHostsFile=/x", host_key_checking="accept-new")
    hop = resolve_hop("a", target)
    assert (hop.address, hop.port, hop.user, hop.checking) == ("a.lan", 22, "jumper", "accept-new")
    hop = resolve_hop("me@[::1]:2200", target)
    assert (hop.address, hop.port, hop.user) == ("::1", 2200, "me")
    with pytest.raises(HostUnreachable, match="not \\[user@\\]host"):
        resolve_hop("a:b:c", target)


def test_options_in_all_their_spellings() -> None:
    text = (
        "-o Port=1 -oUser=a -o 'IdentityFile /a b' -o'ProxyCommand = ssh -W %h:%p x' -4 -C -vvv -i/key -J x -F none -o ControlPersist=60s"
    )
    lines, file = parse_arguments(text)
    assert lines == [
        "Port 1",
        "User a",
        "IdentityFile /a b",
        "ProxyCommand ssh -W %h:%p x",
        "AddressFamily inet",
        "IdentityFile /key",
        "ProxyJump x",
        "ControlPersist 60s",
    ]
    assert file == "none"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-w 1", "'-w' is not supported"),
        ("host", "'host' is not supported"),
        ("-o", "-o needs a value"),
        ("-o Port", "-o 'Port' is not OPTION=VALUE"),
        ("-o LocalForward=1", "the ssh option LocalForward is not supported"),
        ("-o Prot=1", "the ssh option Prot is not supported"),
        ("-o 'Port", "cannot be read: No closing quotation"),
        ("-o Port=ssh", "Port needs a number, not 'ssh'"),
        ("-o StrictHostKeyChecking=maybe", "StrictHostKeyChecking 'maybe' is not one of"),
        ("-F /no/such/file", "cannot read /no/such/file"),
    ],
)
def test_options_that_cannot_be_honoured_are_named(files: Path, text: str, message: str) -> None:
    with pytest.raises(HostUnreachable) as caught:
        of(ssh_args=text)
    assert message in caught.value.message
    if "Prot=" in text:
        assert "did you mean 'port'" in caught.value.help


def test_a_broken_file_is_named(files: Path) -> None:
    config(files, "Host *\n  Port\n")
    with pytest.raises(HostUnreachable, match=r"\.ssh/config.*Unparsable"):
        of()


def test_methods_and_agents(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    assert of().agent == "/run/agent"
    assert of(ssh_args="-o IdentityAgent=none").agent is None
    assert of(ssh_args="-o IdentityAgent=~/a").agent == f"{files}/a"
    assert of(ssh_args="-o PubkeyAuthentication=no").methods == ("password", "keyboard-interactive")
    assert of(ssh_args="-o PreferredAuthentications=password,publickey").methods == ("password", "publickey")


def test_files_are_read_once_for_many_hosts(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config(files, "Host *\n  Port 3\n")
    reads: list[Path] = []
    read = ssh_config._read

    def counted(path: Path, *rest: Any) -> Iterator[str]:
        reads.append(path)
        return read(path, *rest)

    monkeypatch.setattr(ssh_config, "_read", counted)
    for number in range(50):
        assert of(f"gpu{number}").port == 3
    assert len(reads) == 2
