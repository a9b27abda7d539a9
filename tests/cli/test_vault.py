"""``provision vault`` as a person uses it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from provisioner.cli.main import run
from provisioner.inventory.varsfiles import read_document
from provisioner.vault import Vault, load_passwords


class Streams:
    """Standard input and output that take bytes, as the real ones do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str = "") -> None:
        self.out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))
        monkeypatch.setattr(sys, "stdout", self.out)

    @property
    def text(self) -> str:
        buffer = self.out.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pw").write_text("one\n")
    (tmp_path / "other").write_text("two\n")
    (tmp_path / "a.yml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def vault(*arguments: str, code: int = 0) -> None:
    assert run(["vault", *arguments]) == code


def test_a_file_through_its_life(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "a.yml"
    vault("encrypt", "a.yml", "--vault-id", "prod@pw")
    assert file.read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;prod\n")
    monkeypatch.setenv("EDITOR", "sed -i s/1/2/")
    vault("edit", "a.yml", "--vault-id", "prod@pw")
    vault("rekey", "a.yml", "--vault-id", "prod@pw", "--new-vault-id", "next@other")
    assert file.read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;next\n")
    streams = Streams(monkeypatch)
    vault("view", "a.yml", "--vault-password-file", "other")
    assert streams.text == "a: 2\n"
    vault("decrypt", "a.yml", "--vault-password-file", "other")
    assert file.read_text() == "a: 2\n"


def test_streams(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealing = Streams(monkeypatch, "hello\n")
    vault("encrypt", "--vault-id", "pw")
    opening = Streams(monkeypatch, sealing.text)
    vault("decrypt", "--vault-id", "pw")
    assert opening.text == "hello\n"


def test_strings_for_a_variables_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams(monkeypatch, "piped")
    vault("encrypt-string", "--vault-id", "dev@pw", "-n", "x", "one", "-", "--stdin-name", "y")
    (folder / "vars.yml").write_text(streams.text)
    data = read_document(folder / "vars.yml", Vault(load_passwords(["dev@pw"]))).data
    assert {name: str(value) for name, value in data.items()} == {"x": "one", "y": "piped"}


def test_create_uses_the_editor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "write").write_text("#!/bin/sh\necho 'fresh: 1' > \"$1\"\n")
    (folder / "write").chmod(0o755)
    monkeypatch.setenv("EDITOR", "./write")
    vault("create", "new.yml", "--vault-id", "pw")
    assert Vault(load_passwords(["pw"])).read(folder / "new.yml") == b"fresh: 1\n"


def test_settings_name_the_password(folder: Path) -> None:
    (folder / "ansible.cfg").write_text("[defaults]\nvault_identity_list = dev@pw, prod@other\nvault_encrypt_identity = prod\n")
    vault("encrypt", "a.yml")
    assert (folder / "a.yml").read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;prod\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["view", "a.yml", "--vault-id", "pw"], "a.yml is not encrypted"),
        (["encrypt", "none", "--vault-id", "pw"], "cannot read none"),
        (["encrypt", "a.yml", "--vault-id", "nowhere"], "vault password file nowhere does not exist"),
        (["encrypt", "a.yml", "--vault-id", "a@pw", "--vault-id", "b@other"], "several vault passwords are given (a, b)"),
        (["encrypt", "a.yml", "--vault-id", "a@pw", "--encrypt-vault-id", "c"], "no password for vault id 'c'"),
        (["encrypt", "a.yml"], "no vault password is given"),
        (["rekey", "--vault-id", "pw"], "name at least one FILE"),
        (["encrypt-string", "--vault-id", "pw", "-n", "a", "-n", "b", "x"], "more --name than texts"),
    ],
)
def test_mistakes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    vault(*arguments, code=1)
    assert words in capsys.readouterr().err
    assert (folder / "a.yml").read_text() == "a: 1\n"


def test_rekey_changes_nothing_when_one_file_does_not_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.yml").write_text("b: 1\n")
    vault("encrypt", "a.yml", "--vault-id", "pw")
    vault("encrypt", "b.yml", "--vault-id", "other")
    before = (folder / "a.yml").read_bytes()
    vault("rekey", "a.yml", "b.yml", "--vault-id", "prod@pw", "--new-vault-password-file", "other", code=1)
    assert (folder / "a.yml").read_bytes() == before
    assert "b.yml:1: error: none of the vault passwords (prod) fits" in capsys.readouterr().err
