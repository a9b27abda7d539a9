"""Files on disk: replaced whole, with their mode, and never left plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import InputError, UsageError
from provisioner.vault import Password, Vault, files

VAULT = Vault([Password("prod", b"pw")])


def sealed(path: Path, text: str, mode: int = 0o640) -> Path:
    path.write_text(VAULT.seal(text.encode()))
    path.chmod(mode)
    return path


def append(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.write_text(path.read_text() + "more\n")


def test_edit_keeps_id_and_mode(tmp_path: Path) -> None:
    file = sealed(tmp_path / "a.yml", "some\n")
    seen: list[Path] = []

    def editor(path: Path) -> None:
        seen.append(path)
        append(path)

    assert files.edit(file, VAULT, editor)
    assert files.decrypted(file, VAULT) == b"some\nmore\n"
    assert file.read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;prod\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert not seen[0].exists()
    assert seen[0].suffix == ".yml"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.yml"]


def test_an_edit_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    file = sealed(tmp_path / "a.yml", "some\n")
    before = file.read_bytes()
    assert not files.edit(file, VAULT, lambda path: None)
    assert file.read_bytes() == before


def test_a_failed_edit_leaves_the_file_and_no_plain_copy(tmp_path: Path) -> None:
    file = sealed(tmp_path / "a.yml", "some\n")
    before, seen = file.read_bytes(), []

    def fail(path: Path) -> None:
        seen.append(path)
        raise UsageError("the editor failed")

    with pytest.raises(UsageError):
        files.edit(file, VAULT, fail)
    assert file.read_bytes() == before
    assert not seen[0].parent.exists()


def test_rekey_and_create(tmp_path: Path) -> None:
    file = sealed(tmp_path / "a.yml", "some\n")
    files.rekey(file, VAULT, Password("next", b"other"))
    assert files.decrypted(file, Vault([Password("next", b"other")])) == b"some\n"
    with pytest.raises(InputError):
        files.decrypted(file, VAULT)
    fresh = tmp_path / "new.yml"
    files.create(fresh, VAULT, VAULT.sealing(), lambda path: append(path))
    assert files.decrypted(fresh, VAULT) == b"more\n"
    assert fresh.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists already"):
        files.create(fresh, VAULT, VAULT.sealing(), append)


def test_links_are_followed(tmp_path: Path) -> None:
    file = sealed(tmp_path / "a.yml", "some\n")
    link = tmp_path / "link"
    link.symlink_to(file)
    files.write(link, b"x")
    assert link.is_symlink()
    assert file.read_bytes() == b"x"


def test_wrong_kind_of_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    with pytest.raises(UsageError, match="is not encrypted"):
        files.read_vaulted(plain)
    with pytest.raises(UsageError, match="is encrypted already"):
        files.read_plain(sealed(tmp_path / "a", "x"))
    with pytest.raises(UsageError, match="cannot read"):
        files.read_plain(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot write"):
        files.write(tmp_path / "none" / "x", b"")
