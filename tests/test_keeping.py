"""What is kept between processes is believed only if nobody else can have written it."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.keeping import kept, signature


def test_only_what_is_ours_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept("x", "a", lambda: b"made") == b"made"
    assert kept("x", "a", lambda: b"again") == b"made"
    assert kept("x", "b", lambda: b"other") == b"other"
    for file in (tmp_path / "provision").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o620)
    assert kept("x", "a", lambda: b"again") == b"again"
    for file in (tmp_path / "provision").iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert kept("x", "a", lambda: b"third") == b"third"


def test_a_home_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept("x", "a", lambda: b"made") == b"made"


def test_a_signature_changes_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    before = signature([file])
    assert signature([file]) == before
    file.write_text("longer")
    assert signature([file]) != before
