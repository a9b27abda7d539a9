"""Lookups that depend on folders, the environment, or on whether anything may be created."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from provisioner.diagnostics import Diagnostic
from provisioner.errors import InputError
from provisioner.templating import Environment
from provisioner.values import Unknown
from tests.templating.build import templar


def test_files_are_looked_for_nearest_first(tmp_path: Path) -> None:
    role = tmp_path / "roles" / "r"
    for folder, name in [(role / "files", "a"), (tmp_path / "files", "a"), (tmp_path / "files", "b"), (tmp_path, "c")]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{folder.relative_to(tmp_path)}\n")
    subject = templar(search_paths=(role, tmp_path))
    assert subject.render("{{ lookup('file', 'a', 'b', 'c') }}") == "roles/r/files,files,."
    assert subject.render("{{ lookup('first_found', ['x', 'b']) }}") == str(tmp_path / "files" / "b")
    assert subject.render("{{ q('fileglob', '*') }}") == [str(role / "files" / "a")]
    with pytest.raises(InputError, match=r"file 'x' not found: No such file or directory, looked in .*roles/r/files, .*roles/r, .*files, "):
        subject.render("{{ lookup('file', 'x') }}")


def test_commands_run_in_the_folder_of_the_playbook(tmp_path: Path) -> None:
    assert templar(search_paths=(tmp_path / "roles", tmp_path)).render("{{ lookup('pipe', 'pwd') }}") == str(tmp_path)


def test_environment_and_settings() -> None:
    environment = Environment(environ={"A": "1"}, settings={"DEFAULT_ROLES_PATH": ["roles"]})
    subject = templar(environment=environment)
    assert subject.render("{{ lookup('env', 'A') }}{{ lookup('env', 'B') }}{{ lookup('env', 'B', default='d') }}") == "1d"
    assert subject.render("{{ lookup('config', 'DEFAULT_ROLES_PATH') }}") == ["roles"]
    assert subject.render("{{ lookup('config', 'NOPE', on_missing='skip') }}") == []
    with pytest.raises(InputError, match="The environment variable 'B' is not set"):
        subject.render("{{ lookup('env', 'B', default=undef()) }}")


def test_files_are_read_through_the_vault() -> None:
    environment = Environment(environ={}, read_bytes=lambda path: b"opened\n")
    assert (
        templar(environment=environment).render("{{ lookup('file', '/etc/hosts') }} {{ lookup('unvault', '/etc/hosts') }}")
        == "opened opened\n"
    )


def test_errors_ignored_and_warned() -> None:
    warnings: list[Diagnostic] = []
    subject = templar(warnings=warnings)
    assert subject.render("{{ lookup('file', '/nonexistent', errors='ignore') }}") is None
    assert subject.render("{{ q('file', '/nonexistent', errors='warn') }}") == []
    assert "lookup plugin 'file' failed and gives nothing" in warnings[0].message
    with pytest.raises(InputError, match="errors is 'maybe'"):
        subject.render("{{ lookup('file', '/nonexistent', errors='maybe') }}")


def test_a_password_is_made_once(tmp_path: Path) -> None:
    subject = templar(search_paths=(tmp_path,))
    first = subject.render("{{ lookup('password', 'secrets/db length=12 chars=digits') }}")
    assert re.fullmatch(r"\d{12}", first)
    assert subject.render("{{ lookup('password', 'secrets/db length=30') }}") == first
    file = tmp_path / "secrets" / "db"
    assert file.read_text() == f"{first}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    hashed = subject.render("{{ lookup('password', 'secrets/db encrypt=sha256_crypt') }}")
    assert hashed.startswith("$5$")
    assert subject.render("{{ lookup('password', 'secrets/db encrypt=sha256_crypt') }}") == hashed
    assert re.fullmatch(rf"{first} salt=\S+\n", file.read_text())
    assert sorted(path.name for path in file.parent.iterdir()) == ["db"]


def test_a_plan_makes_no_password(tmp_path: Path) -> None:
    subject = templar(search_paths=(tmp_path,), read_only=True)
    value = subject.render("user:{{ lookup('password', 'db') }}")
    assert isinstance(value, Unknown)
    assert "makes the password in" in value.because
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "db").write_text("given\n")
    assert subject.render("{{ lookup('password', 'db') }}") == "given"


def test_loops() -> None:
    subject = templar({"l": [1]})
    assert subject.lookup("items", ["a", ["b", ["c"]]]) == ["a", "b", ["c"]]
    assert subject.lookup("dict", [{"a": 1}]) == [{"key": "a", "value": 1}]
    assert subject.lookup("community.general.flattened", [[1, [2]], 3]) == [1, 2, 3]
    assert isinstance(subject.lookup("items", [Unknown("x")]), Unknown)
    with pytest.raises(InputError, match="the lookup plugin 'itmes' was not found"):
        subject.lookup("itmes", [])
    with pytest.raises(InputError, match="lookup plugin 'dict' failed"):
        subject.lookup("dict", ["x"])


def test_hosts_of_patterns() -> None:
    subject = templar()
    assert subject.render("{{ q('inventory_hostnames', 'all') }}") == ["gpu01.rack", "gpu02"]
    assert (
        subject.render("{{ q('inventory_hostnames', 'all:!gpus') }} {{ q('inventory_hostnames', 'all:&gpu*.rack') }}")
        == "['gpu02'] ['gpu01.rack']"
    )
