"""docs/compatibility.md tells the truth: its lists are those of the code, and no name that ansible-core documents is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from provisioner.playbook.keywords import KEYWORDS
from provisioner.schema.registry import Registry
from provisioner.templating.environment import Environment

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
ANSIBLE: Mapping[str, list[str]] = json.loads((Path(__file__).parent / "ansible_names.json").read_text())
TITLES = {
    "Keywords": "keyword",
    "Filters": "filter",
    "Tests": "test",
    "Lookups": "lookup",
    "Magic variables": "magic",
    "Modules of ansible.builtin": "module",
}
_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<status>differs|not) \| (?P<why>.+) \|$", re.M)


def section(title: str) -> dict[str, str]:
    """Name → supported, differs or not."""
    body = re.split(r"^## ", PAGE.read_text().split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    listed = body.partition("Supported:")[2].partition("\n\n")[0]
    found = dict.fromkeys(re.findall(r"`([^`]+)`", listed), "supported")
    for row in _ROW.finditer(body):
        assert row["name"] not in found, f"{row['name']} is listed twice"
        found[row["name"]] = row["status"]
    return found


def known(kind: str) -> set[str]:
    """The names that the code knows."""
    environment = Environment()
    if kind == "keyword":
        return set(KEYWORDS)
    if kind == "filter":
        return {name for name in environment.engine.filters if "." not in name}
    if kind == "test":
        return {name for name in environment.engine.tests if name.isidentifier()}
    if kind == "lookup":
        return {name for name in environment.lookups if "." not in name}
    registry = Registry()
    return {name for name in ANSIBLE["module"] if registry.find(name) is not None}


@pytest.mark.parametrize("title", TITLES)
def test_every_documented_name_is_listed(title: str) -> None:
    assert set(ANSIBLE[TITLES[title]]) - set(section(title)) == set()


@pytest.mark.parametrize("title", [title for title in TITLES if title != "Magic variables"])
def test_the_lists_are_those_of_the_code(title: str) -> None:
    listed = section(title)
    assert {name for name, status in listed.items() if status != "not"} == known(TITLES[title])
