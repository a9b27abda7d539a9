"""What we encrypt, ansible-vault reads, and the other way round."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from provisioner.inventory.varsfiles import read_document
from provisioner.vault import Password, Vault, load_passwords
from tests.inventory.stock import program

pytestmark = pytest.mark.peers

PLAIN = "größe: 1\nlist: [a, b]\n"


def stock(*arguments: str, folder: Path, text: str | None = None) -> str:
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [program("ansible-vault"), *arguments], input=text, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pw").write_text("correct horse\n")
    return tmp_path


@pytest.mark.parametrize("vault_id", ["default", "prod"])
def test_stock_reads_ours(folder: Path, vault_id: str) -> None:
    (folder / "a.yml").write_text(Vault([Password(vault_id, b"correct horse")]).seal(PLAIN.encode()))
    assert stock("view", "a.yml", "--vault-id", f"{vault_id}@pw", folder=folder).rstrip("\n") == PLAIN.rstrip("\n")


@pytest.mark.parametrize("vault_id", ["default", "prod"])
def test_we_read_what_stock_wrote(folder: Path, vault_id: str) -> None:
    file = folder / "a.yml"
    file.write_text(PLAIN)
    stock("encrypt", "a.yml", "--vault-id", f"{vault_id}@pw", folder=folder)
    vault = Vault(load_passwords([f"{vault_id}@{folder}/pw"]))
    assert vault.read(file).decode() == PLAIN
    file.write_text(stock("encrypt_string", "--vault-id", f"{vault_id}@pw", "--stdin-name", "x", folder=folder, text="two\nlines"))
    assert str(read_document(file, vault).data["x"]) == "two\nlines"
