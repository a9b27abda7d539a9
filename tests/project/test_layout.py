"""How the project of an inventory and its playbooks are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import UsageError
from provisioner.project.layout import check_inventories, find_playbooks, is_playbook


def test_the_nearest_project_wins(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        (folder / "playbooks").mkdir(parents=True)
        (folder / "playbooks" / "site.yml").write_text("- hosts: all\n")
    inventory = tmp_path / "inner" / "inventory" / "prod.yml"
    inventory.parent.mkdir()
    inventory.write_text("all: {}\n")
    assert find_playbooks([], [str(inventory)]) == [tmp_path / "inner" / "playbooks" / "site.yml"]


def test_a_host_list_belongs_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no playbook was named"):
        find_playbooks([], ["h1,"])
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "site.yml").write_text("- hosts: all\n")
    assert find_playbooks([], ["h1,"]) == [Path("playbooks/site.yml")]


@pytest.mark.parametrize(
    ("text", "expected"), [("# c\n---\n- hosts: all\n", True), ("all:\n  hosts:\n    - a\n", False), ("", False), ("-\n  hosts: x\n", True)]
)
def test_playbooks_are_told_from_inventories(tmp_path: Path, text: str, expected: bool) -> None:
    file = tmp_path / "x.yml"
    file.write_text(text)
    assert is_playbook(file) is expected


def test_a_playbook_in_the_place_of_an_inventory(tmp_path: Path) -> None:
    file = tmp_path / "site.yml"
    file.write_text("- hosts: all\n")
    with pytest.raises(UsageError, match="is a playbook, and an inventory is wanted first"):
        check_inventories([str(file)])
    with pytest.raises(UsageError, match="inventory gpu01 does not exist") as caught:
        check_inventories(["gpu01"])
    assert caught.value.help == "a single host is written with a comma: gpu01,"


def test_a_playbook_that_does_not_exist_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text("")
    with pytest.raises(UsageError, match="does not exist") as caught:
        find_playbooks([str(tmp_path / "sit.yml")], [])
    assert "site.yml" in caught.value.help
