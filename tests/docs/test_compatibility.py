"""docs/compatibility.md tells the truth: its lists are those of the code, and no name that ansible-core documents is missing."""

from __future__ import annotations

import ast
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


PACKAGE = Path(__file__).parents[2] / "provisioner"


def section(title: str, page: str) -> dict[str, str]:
    """Name → supported, differs or not."""
    body = re.split(r"^## ", page.split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]
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


def written(*folders: str) -> set[str]:
    """All texts in the code of these files and folders: a variable that has no place there is not brought by anything."""
    files = [file for folder in folders for file in ([PACKAGE / folder] if folder.endswith(".py") else (PACKAGE / folder).rglob("*.py"))]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def differences(title: str, page: str) -> set[str]:
    """Names that are promised and not there, or there and not told, or documented by Ansible and not told."""
    listed = section(title, page)
    promised = {name for name, status in listed.items() if status != "not"}
    missing = set(ANSIBLE[TITLES[title]]) - set(listed)
    if title != "Magic variables":
        return missing | (promised ^ known(TITLES[title]))
    unknown = promised - written("engine", "templating", "node/modules/setup.py", "node/facts")
    untold = {name for name in written("engine/magic.py") if name.startswith("ansible_")} - set(listed)
    return missing | unknown | untold


@pytest.mark.parametrize("title", TITLES)
def test_the_page_tells_the_truth(title: str) -> None:
    assert differences(title, PAGE.read_text()) == set()


@pytest.mark.parametrize("title", TITLES)
def test_a_promise_without_code_is_found(title: str) -> None:
    page = PAGE.read_text()
    start = page.index("Supported:", page.index(f"\n## {title}\n"))
    assert differences(title, page[:start] + "Supported: `no_such_name`," + page[start + len("Supported:") :]) == {"no_such_name"}


@pytest.mark.parametrize("title", TITLES)
def test_what_is_there_and_not_told_is_found(title: str) -> None:
    page = PAGE.read_text()
    start = page.index(f"\n## {title}\n")
    name = next(name for name, status in section(title, page).items() if status == "supported" and f"`{name}`" in page[start:])
    assert differences(title, page[:start] + page[start:].replace(f"`{name}`", "", 1)) == {name}
