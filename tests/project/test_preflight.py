"""What is held against playbooks and inventory before any connection, and the files a plan rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.engine.options import Options
from provisioner.project import preflight
from provisioner.project.definitions import roles_of
from provisioner.project.inputs import input_files
from provisioner.project.session import Session

INVENTORY = "gpu: {hosts: {gpu01: {}, gpu02: {}}}\nweb: {hosts: {web01: {}}}\n"
TAGGED = """
- hosts: gpu
  tags: [play]
  tasks:
    - {name: pin the branch, debug: {msg: a}, tags: [driver, "a,b"]}
    - block:
        - {name: inside, debug: {msg: b}}
      tags: block
  handlers:
    - {name: restart, debug: {msg: c}, tags: handler}
"""


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)

    def open_(playbook: str, **files: str) -> Session:
        for name, text in {"inventory.yml": INVENTORY, "playbooks/site.yml": playbook, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Session.open(["inventory.yml"])

    return open_


def problems(session: Session, **choices: Any) -> list[str]:
    found = preflight.check(session.read(), session.inventory, Options(**choices))
    return [f"{item.severity}: {item.message}" for item in found]


@pytest.mark.parametrize("tag", ["play", "driver", "a", "b", "block", "handler", "all", "tagged", "never"])
def test_tags_that_exist(opened: Any, tag: str) -> None:
    session = opened(TAGGED)
    assert problems(session, tags=frozenset({tag})) == []
    assert problems(session, skip_tags=frozenset({tag})) == []


def test_tags_that_do_not(opened: Any) -> None:
    session = opened(TAGGED)
    found = preflight.check(session.read(), session.inventory, Options(tags=frozenset({"drvier"})))
    (problem,) = found.errors
    assert problem.help == "did you mean 'driver'?"
    assert problems(session, skip_tags=frozenset({"nothing"})) == ["error: --skip-tags nothing: no task has this tag"]


def test_what_an_include_may_bring_is_only_doubtful(opened: Any) -> None:
    session = opened('- hosts: gpu\n  tasks:\n    - include_tasks: "{{ which }}.yml"\n')
    assert problems(session, tags=frozenset({"late"})) == ["warning: --tags late: no task has this tag"]
    assert problems(session, start_at_task="later") == ["warning: --start-at-task later: no task has this name"]


@pytest.mark.parametrize("name", ["pin the branch", "inside", "pin*"])
def test_tasks_to_start_at(opened: Any, name: str) -> None:
    assert problems(opened(TAGGED), start_at_task=name) == []


def test_a_task_to_start_at_that_does_not_exist(opened: Any) -> None:
    session = opened(TAGGED)
    (problem,) = preflight.check(session.read(), session.inventory, Options(start_at_task="the branch")).errors
    assert problem.help == "did you mean 'pin the branch'?"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("gpu01", []),
        ("gpu*:!gpu02", []),
        ("gpu01,h9", ["error: --limit: no host or group is called 'h9'"]),
        ("gpu01:!h9", ["error: --limit: no host or group is called 'h9'"]),
        ("web", ["error: --limit web leaves no host of these plays"]),
    ],
)
def test_limits(opened: Any, limit: str, expected: list[str]) -> None:
    assert problems(opened(TAGGED), limit=limit) == expected


MAKES = "- hosts: gpu\n  tasks:\n    - add_host: {name: new, groups: fresh}\n"
GROUPS = "- hosts: gpu\n  tasks:\n    - group_by: {key: 'os_{{ x }}'}\n"


def test_groups_that_the_run_makes_are_not_missing(opened: Any) -> None:
    assert problems(opened(MAKES + "- hosts: fresh\n  tasks: []\n")) == []
    assert problems(opened(GROUPS + "- hosts: os_debian\n  tasks: []\n")) == []
    assert problems(opened(MAKES + "- hosts: fersh\n  tasks: []\n")) == ["error: no host or group is called 'fersh'"]


def test_hosts_that_only_the_run_knows(opened: Any) -> None:
    assert problems(opened('- hosts: "{{ target }}"\n  tasks: []\n')) == []


ROLE = {
    "playbooks/roles/a/tasks/main.yml": "- debug: {msg: a}\n",
    "playbooks/roles/a/templates/x.j2": "x",
    "playbooks/roles/a/tests/test_a.py": "",
    "playbooks/roles/a/meta/main.yml": "dependencies: [b]\n",
    "playbooks/roles/b/tasks/main.yml": "- debug: {msg: b}\n",
    "playbooks/roles/unused/tasks/main.yml": "- debug: {msg: c}\n",
    "playbooks/files/y": "y",
    "group_vars/all.yml": "z: 1\n",
    "host_vars/gpu01/main.yml": "z: 2\n",
    "playbooks/group_vars/.hidden.yml": "z: 3\n",
}


def test_the_files_a_plan_rests_on(opened: Any, tmp_path: Path) -> None:
    session = opened("- hosts: gpu\n  roles: [a]\n", **ROLE)
    playbooks = session.read()
    assert [role.name for role in roles_of(playbooks[0].plays[0])] == ["b", "a"]
    found = {str(path.relative_to(tmp_path)) for path in input_files(session, playbooks)}
    assert found == {
        "inventory.yml",
        "playbooks/site.yml",
        "playbooks/roles/a/tasks/main.yml",
        "playbooks/roles/a/templates/x.j2",
        "playbooks/roles/a/meta/main.yml",
        "playbooks/roles/b/tasks/main.yml",
        "playbooks/files/y",
        "group_vars/all.yml",
        "host_vars/gpu01/main.yml",
    }
