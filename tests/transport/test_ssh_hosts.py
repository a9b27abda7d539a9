"""Host keys in ``known_hosts`` files."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.ports import Target
from provisioner.transport import ssh_hosts
from provisioner.transport.ssh import choose
from provisioner.transport.ssh_config import Settings, resolve

KEY, OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIA", "AAAAC3NzaC1lZDI1NTE5AAAAIB"


class Key:
    """A host key as a server offers it."""

    def __init__(self, text: str = KEY, kind: str = "ssh-ed25519") -> None:
        self.text = text
        self.kind = kind

    def get_name(self) -> str:
        return self.kind

    def get_base64(self) -> str:
        return self.text


def settings(file: Path, **changes: Any) -> Settings:
    args = f"-F /dev/null -o UserKnownHostsFile={file} -o GlobalKnownHostsFile=none"
    return replace(resolve(Target("gpu01.lan", ssh_args=args)), **changes)


def judge(found: Settings, key: Key | None = None) -> str:
    """Empty when the key is trusted, else the message."""
    try:
        ssh_hosts.Policy(found, ssh_hosts.entries_of(found)).missing_host_key(None, "", key or Key())  # type: ignore[arg-type]
    except HostUnreachable as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("line", "port", "trusted"),
    [
        ("gpu01.lan", 22, True),
        ("GPU01.lan,10.0.0.1", 22, True),
        ("*.lan", 22, True),
        ("gpu0?.lan", 22, True),
        ("*.lan,!gpu01.lan", 22, False),
        ("gpu02.lan", 22, False),
        ("[gpu01.lan]:2222", 2222, True),
        ("[*.lan]:2222", 2222, True),
        ("gpu01.lan", 2222, True),
        ("[gpu01.lan]:2222", 22, False),
        ("# gpu01.lan", 22, False),
    ],
)
def test_names(tmp_path: Path, line: str, port: int, trusted: bool) -> None:
    file = tmp_path / "known"
    file.write_text(f"\n# comment\nshort line\n{line} ssh-ed25519 {KEY} somebody\n")
    assert (judge(settings(file, port=port)) == "") is trusted


def test_hashed_names_as_ssh_keygen_writes_them(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "host"], check=True)
    kind, text = (tmp_path / "host.pub").read_text().split()[:2]
    file = tmp_path / "known"
    file.write_text(f"[gpu01.lan]:2222 {kind} {text}\n")
    subprocess.run(["ssh-keygen", "-H", "-f", file], check=True, capture_output=True)
    assert "gpu01" not in file.read_text()
    assert judge(settings(file, port=2222), Key(text, kind)) == ""
    assert judge(settings(file, address="web"), Key(text, kind)) == "the host key is not known"


def test_accepted_keys_are_found_by_ssh_keygen(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "host"], check=True)
    kind, text = (tmp_path / "host.pub").read_text().split()[:2]
    for hashed in (False, True):
        file = tmp_path / f"known{hashed}" / "file"
        found = settings(file, checking="accept-new", hash_names=hashed, port=2222)
        assert judge(found, Key(text, kind)) == ""
        shown = subprocess.run(["ssh-keygen", "-F", "[gpu01.lan]:2222", "-f", file], capture_output=True, text=True, check=True).stdout
        assert text in shown
        assert ("gpu01" in file.read_text()) is not hashed
        assert judge(replace(found, checking="yes"), Key(text, kind)) == ""


def test_an_alias_names_the_key(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"rack7 ssh-ed25519 {KEY}\n")
    assert judge(settings(file, key_name="rack7", port=2222)) == ""


def test_another_type_is_unknown_and_the_same_type_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"gpu01.lan ssh-rsa {OTHER}\n")
    assert judge(settings(file)) == "the host key is not known"
    file.write_text(f"gpu01.lan ssh-rsa {OTHER}\ngpu01.lan ssh-ed25519 {OTHER}\n")
    assert "HAS CHANGED" in judge(settings(file))
    assert judge(settings(file, checking="no")) == ""


def test_known_types_are_asked_for_first(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"gpu01.lan ssh-rsa {KEY}\n")
    offered = ("ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256")
    assert ssh_hosts.preferred(ssh_hosts.entries_of(settings(file)), offered)[:2] == ("rsa-sha2-512", "rsa-sha2-256")


def test_certificates_are_not_taken_for_keys(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"@cert-authority *.lan ssh-ed25519 {KEY}\n")
    found = settings(file)
    with pytest.raises(HostUnreachable) as caught:
        ssh_hosts.Policy(found, ssh_hosts.entries_of(found)).missing_host_key(None, "", Key())  # type: ignore[arg-type]
    assert "certificates cannot be checked" in caught.value.why


def test_many_hosts_are_looked_up_quickly(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text("".join(f"gpu{number} ssh-ed25519 {KEY}\n" for number in range(10_000)))
    assert all(judge(settings(file, address=f"gpu{number}")) == "" for number in range(0, 10_000, 100))


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [("b,a", ("b", "a")), ("+c", ("a", "b", "c")), ("-b", ("a", "c")), ("^c", ("c", "a", "b")), ("x,c", ("c",))],
)
def test_algorithm_lists(wanted: str, chosen: tuple[str, ...]) -> None:
    assert choose("Ciphers", wanted, ("a", "b", "c")) == chosen
    with pytest.raises(HostUnreachable, match="none of the Ciphers x,y is supported"):
        choose("Ciphers", "x,y", ("a", "b", "c"))
