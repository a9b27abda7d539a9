"""Settings of ansible.cfg and the environment, with the place each came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner import config
from provisioner.errors import InputError
from provisioner.inventory import Options


def load(folder: Path, text: str | None = None, **environment: str) -> config.Config:
    if text is not None:
        (folder / "ansible.cfg").write_text(text)
    return config.load({"HOME": str(folder / "home"), **environment}, folder)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("[defaults]\ninventory = a.ini, sub/b.yml", "inventory", ("{}/a.ini", "{}/sub/b.yml")),
        ("[defaults]\nroles_path = roles:/abs", "roles_path", ("{}/roles", "/abs")),
        ("[defaults]\ncollections_paths = c", "collections_path", ("{}/c",)),
        ("[defaults]\nprivate_key_file = keys/id", "private_key_file", "{}/keys/id"),
        ("[defaults]\nremote_user = joe # no comment", "remote_user", "joe # no comment"),
        ("[defaults]\nforks = 3   ; comment", "forks", 3),
        ("[defaults]\nhost_key_checking = no", "host_key_checking", False),
        ("[ssh_connection]\nhost_key_checking = True", "host_key_checking", True),
        ('[ssh_connection]\nssh_common_args = "-J bastion"', "ssh_common_args", "-J bastion"),
        ("[privilege_escalation]\nbecome = yes", "become", True),
        ("[defaults]\ngathering = smart", "gathering", "smart"),
        ("[defaults]\nvault_identity_list = dev@pw, prod@prompt", "vault_identity_list", ("dev@{}/pw", "prod@prompt")),
        ("[inventory]\nenable_plugins = yaml, ini", "enable_plugins", ("yaml", "ini")),
        ("[tags]\nskip = slow,docs", "skip_tags", ("slow", "docs")),
    ],
)
def test_values_of_a_file(tmp_path: Path, text: str, name: str, value: Any) -> None:
    (tmp_path / "pw").touch()
    found = load(tmp_path, text)

    def placed(item: Any) -> Any:
        return item.replace("{}", str(tmp_path)) if isinstance(item, str) else item

    assert getattr(found, name) == (tuple(map(placed, value)) if isinstance(value, tuple) else placed(value))
    assert found.origin(name) == f"{tmp_path}/ansible.cfg:2"
    assert not found.notes


def test_environment_wins_and_is_named(tmp_path: Path) -> None:
    found = load(tmp_path, "[defaults]\nforks = 3\ntimeout = 5\n", ANSIBLE_FORKS="7", ANSIBLE_ROLES_PATH="r:~/x")
    assert (found.forks, found.origin("forks")) == (7, "$ANSIBLE_FORKS")
    assert (found.timeout, found.origin("timeout")) == (5, f"{tmp_path}/ansible.cfg:3")
    assert (found.become, found.origin("become")) == (False, "default")
    assert found.roles_path[0] == f"{tmp_path}/r"


def test_which_file_is_read(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (home / ".ansible.cfg").write_text("[defaults]\nforks = 1\n")
    assert load(tmp_path).file == home / ".ansible.cfg"
    assert load(tmp_path, "[defaults]\nforks = 2\n").forks == 2
    (other / "ansible.cfg").write_text("[defaults]\nforks = 3\n")
    assert load(tmp_path, ANSIBLE_CONFIG=str(other)).forks == 3
    assert load(tmp_path, ANSIBLE_CONFIG="other/ansible.cfg").forks == 3
    missing = load(tmp_path, ANSIBLE_CONFIG="none.cfg")
    assert missing.forks == 2
    assert "does not exist" in missing.notes.items[0].message


def test_a_folder_that_anybody_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    found = load(shared, "[defaults]\nforks = 2\n")
    assert found.forks is None
    assert "anybody may write" in found.notes.items[0].message


def test_settings_without_meaning_are_noted(tmp_path: Path) -> None:
    found = load(
        tmp_path, "[defaults]\nstdout_callback = yaml\nfroks = 3\n[ssh_connection]\npipelining = True\n[paramiko_connection]\nx = 1\n"
    )
    notes = [item.render(source=False) for item in found.notes]
    assert [note.splitlines()[0].partition("warning: ")[2] for note in notes] == [
        "setting stdout_callback does nothing here",
        "setting froks has no meaning here",
        "setting pipelining does nothing here",
    ]
    assert "did you mean 'forks'" in notes[1]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("[defaults]\nforks = many\n", "setting forks = 'many': it must be a whole number", 2),
        ("[defaults]\nx = 1\nhost_key_checking = maybe\n", "must be yes or no", 3),
        ("[defaults]\ngathering = smrat\n", "did you mean 'smart'?", 2),
        ("forks = 3\n", "is not an INI file", 1),
        ("[defaults]\nforks 3\n", "is not an INI file", 2),
        ("[defaults]\nforks = 3\nforks = 4\n", "is not an INI file", 3),
    ],
)
def test_bad_values(tmp_path: Path, text: str, message: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    error = caught.value.diagnostics.errors[0]
    assert message in error.message
    assert error.span is not None
    assert error.span.line == line


def test_all_bad_values_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, "[defaults]\nforks = x\n", ANSIBLE_TIMEOUT="y")
    assert len(caught.value.diagnostics) == 2


def test_inventory_options(tmp_path: Path) -> None:
    plain = Options.of(load(tmp_path))
    assert plain == Options()
    text = "[defaults]\nhash_behaviour = merge\nforce_valid_group_names = always\n[inventory]\nignore_extensions = .x\nignore_patterns = ^a"
    assert Options.of(load(tmp_path, text)) == Options(
        ignore_extensions=(".x",), ignore_patterns=("^a",), group_names="always", merge_hashes=True
    )


def test_settings_by_the_names_of_ansible(tmp_path: Path) -> None:
    names = config.by_ansible_name(load(tmp_path, "[defaults]\nforks = 3\nroles_path = roles"))
    assert names["DEFAULT_FORKS"] == names["FORKS"] == 3
    assert names["DEFAULT_ROLES_PATH"] == [str(tmp_path / "roles")]
    assert names["ALLOW_BROKEN_CONDITIONALS"] is True
