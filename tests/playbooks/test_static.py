"""What can be told of playbooks/ without a node: nothing is misspelt, and each role's argument specification is that of its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.fleet import ROOT
from tests.playbooks.commands import provision
from tests.playbooks.story import SITE

ROLES = sorted(path for path in (ROOT / "playbooks/roles").iterdir() if path.is_dir())
SPECIFIED = [path for path in ROLES if (path / "meta/argument_specs.yml").exists()]
TYPES: dict[str, type | tuple[type, ...]] = {"str": str, "bool": bool, "int": int, "list": list, "dict": dict, "path": str}


def read(role: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((role / name).read_text())
    return data


def test_lint_finds_nothing(tmp_path: Path) -> None:
    said = provision(tmp_path, "lint", SITE)
    assert said.code == 0, said.all
    assert "0 errors, 0 warnings" in said.out


def test_all_roles_but_the_shared_one_check_their_arguments() -> None:
    assert {role.name for role in ROLES} - {role.name for role in SPECIFIED} == {"nvidia_common"}


@pytest.mark.parametrize("role", SPECIFIED, ids=lambda role: role.name)
def test_arguments_are_the_defaults(role: Path) -> None:
    options = read(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    defaults = read(role, "defaults/main.yml")
    shared = read(ROOT / "playbooks/roles/nvidia_common", "defaults/main.yml")
    assert set(defaults) - set(options) == set(), "not in argument_specs"
    assert set(options) - set(defaults) - set(shared) == set(), "in argument_specs alone"
    for name, option in options.items():
        value = {**shared, **defaults}[name]
        assert option["description"], name
        if isinstance(value, str) and "{{" in value:
            continue
        assert isinstance(value, TYPES[option["type"]]), name
        if "default" in option:
            assert option["default"] == value, name
        if "choices" in option:
            assert value in option["choices"], name


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_says_what_it_is_and_is_tested(role: Path) -> None:
    assert read(role, "meta/main.yml")["galaxy_info"]["description"]
    assert role.name == "nvidia_common" or list((role / "tests").glob("test_*.py"))
    assert f"`{role.name}`" in (ROOT / "docs/playbooks.md").read_text()
