"""Reference pages and the editor schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from provisioner.node.declare import Module
from provisioner.playbook import yaml
from provisioner.schema import docs
from provisioner.schema.jsonschema import playbook_schema, tasks_schema
from provisioner.schema.registry import Registry

LIBRARY = Path(__file__).parent / "library"


@pytest.fixture(name="modules", scope="module")
def _modules() -> list[Module]:
    known = Registry([LIBRARY])
    return [info.module for name in ("gadget", "talk", "command", "import_tasks") if (info := known.find(name)) is not None]


def test_markdown_page(modules: list[Module]) -> None:
    page = docs.markdown(modules[0])
    assert page.startswith("# gadget\n\nKeep a gadget.\n\nFull name: `ansible.builtin.gadget`; also `widget`\n")
    assert "| `name` **required** | str |  | What it is called. Also called gadget, title. |" in page
    assert "| `state` | str | `present` | What it must be. One of present, absent, linked. |" in page
    assert "- `state` = linked needs `src`." in page
    assert "- It is imaginary." in page
    assert "```yaml\n- gadget:\n    name: x\n```" in page


def test_terminal_page(modules: list[Module]) -> None:
    page = docs.text(modules[0])
    assert "  name (str, required)\n      What it is called." in page
    assert "  password (str)\n      A secret. Never shown." in page
    assert "  line (str, also as free-form text)" in docs.text(modules[1])


def test_every_built_in_module_has_a_page() -> None:
    modules = [info.module for info in Registry().modules()]
    for module in modules:
        assert module.summary
        assert module.summary in docs.markdown(module)
        assert docs.text(module, 80)
    assert "| [copy](copy.md) |" in docs.index(modules)


PLAYBOOKS: list[tuple[str, bool]] = [
    ("- hosts: all\n  tasks:\n    - gadget: {name: x, force: yes, count: '{{ n }}'}\n      when: a is defined\n", True),
    ("- hosts: all\n  become: '{{ b }}'\n  roles: [a, {role: b, port: 5, tags: x}]\n", True),
    ("- import_playbook: x.yml\n", True),
    ("- hosts: all\n  tasks:\n    - block:\n        - command: uptime\n      rescue:\n        - widget: {name: y}\n", True),
    ("- hosts: all\n  handlers:\n    - name: h\n      command: x\n      listen: t\n", True),
    ("- hosts: all\n  tasks:\n    - gadget: {nme: x}\n", False),
    ("- hosts: all\n  tasks:\n    - gadgt: {name: x}\n", False),
    ("- hosts: all\n  taks: []\n", False),
    ("- hosts: all\n  tasks:\n    - gadget: {name: x, state: lost}\n", False),
]


@pytest.mark.parametrize(("text", "right"), PLAYBOOKS)
def test_editor_schema(modules: list[Module], text: str, right: bool) -> None:
    schema: dict[str, Any] = playbook_schema(modules)
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(yaml.load(text).data))
    assert (not errors) is right


def test_editor_schema_of_task_files(modules: list[Module]) -> None:
    validator = jsonschema.Draft202012Validator(tasks_schema(modules))
    assert validator.is_valid(yaml.load("- command: uptime\n- gadget: {name: x}\n").data)
    assert not validator.is_valid(yaml.load("- comand: uptime\n").data)
