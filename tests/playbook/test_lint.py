"""Lint: what goes beyond loading, and walks over trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.playbook.lint import kind_of_file, lint

from .project import Project


def linted(folder: Path, files: dict[str, str], *names: str) -> list[str]:
    """The problems that lint finds in files or folders of a project."""
    project = Project(folder, files)
    lint([folder / name for name in names], project.context)
    return project.problems


REGISTERED: list[tuple[str, bool]] = [
    ("command: x\n  register: r\n- command: y\n  register: r\n  when: a\n- command: echo {{ r.stdout }}", True),
    ("command: x\n  register: r\n- command: y\n  register: r\n  when: a\n- command: echo {{ r.stdout }}\n  when: r is not skipped", False),
    ("command: x\n  register: r\n- command: y\n  register: r\n  when: a\n- command: echo {{ r.stdout }}\n  when: a", False),
    ("command: x\n  register: r\n- command: y\n  register: s\n  when: a\n- command: echo {{ r.stdout }}", False),
    ("command: x\n  register: r\n  when: a\n- command: y\n  register: r\n  when: not a\n- command: echo {{ r.stdout }}", False),
    ("command: x\n  register: r\n- command: y\n  register: r\n  when: a\n- command: z\n  register: r\n- command: echo {{ r.rc }}", False),
]


@pytest.mark.parametrize(("text", "warned"), REGISTERED)
def test_results_of_skipped_tasks(tmp_path: Path, text: str, warned: bool) -> None:
    body = "\n".join("    " + line for line in f"- {text}".splitlines())
    found = linted(tmp_path, {"site.yml": f"- hosts: all\n  tasks:\n{body}\n"}, "site.yml")
    assert found == (["8: warning: 'r' may hold the result of a skipped task"] if warned else [])


def test_reason_names_the_task_that_may_be_skipped(tmp_path: Path) -> None:
    text = "- hosts: all\n  tasks:\n    - command: x\n      register: r\n    - name: again\n      command: y\n      register: r\n"
    project = Project(tmp_path, {"site.yml": text + "      when: no\n    - command: echo {{ r.stdout }}\n"})
    lint([tmp_path / "site.yml"], project.context)
    assert "'again' at " in project.context.diagnostics.items[0].why
    assert "site.yml:5:7" in project.context.diagnostics.items[0].why


TREE = {
    "site.yml": "- hosts: all\n  roles: [good]\n",
    "group_vars/all.yml": "a: 1\na: 2\n",
    "playbooks/other.yml": "- hosts: all\n  tasks:\n    - comand: x\n",
    "roles/good/tasks/main.yml": "- command: x\n",
    "roles/good/tasks/unused.yml": "- command: x\n  whne: y\n",
    "roles/lone/tasks/main.yml": "- command: x\n  notify: [elsewhere, her]\n- gadget: {name: x}\n",
    "roles/lone/handlers/main.yml": "- name: here\n  command: {cdm: x, cmd: y}\n",
    "molecule/default/converge.yml": "- hosts: all\n  nonsense: x\n",
    ".hidden/x.yml": "a: {{ b }}\n",
    "broken.yml": "- hosts: {{ b }}\n",
    "deploy/chart.yaml": "a: {{ b }}\n",
    "group_vars/gpu.yml": "a: {{ b }}\n",
    "requirements.yml": "roles:\n  - name: from.galaxy\n  - src: https://example.com/x/wanted.git\n",
    "playbooks/uses.yml": "- hosts: all\n  roles: [from.galaxy, wanted, unwanted, good]\n",
}


def test_a_whole_tree(tmp_path: Path) -> None:
    assert sorted(linted(tmp_path, TREE, ".")) == sorted(
        [
            "broken.yml:1: a value starts with {{ and is not quoted",
            "group_vars/gpu.yml:1: a value starts with {{ and is not quoted",
            "group_vars/all.yml:2: warning: key 'a' is given twice: first in line 1, again in line 2",
            "playbooks/other.yml:3: unknown module 'comand'",
            "playbooks/uses.yml:2: there is no role 'unwanted'",
            "playbooks/uses.yml:2: warning: there is no role 'from.galaxy'",
            "playbooks/uses.yml:2: warning: there is no role 'wanted'",
            "roles/good/tasks/unused.yml:2: unknown keyword 'whne' in a task",
            "roles/lone/handlers/main.yml:2: command: unsupported option 'cdm'",
            "roles/lone/tasks/main.yml:2: warning: no handler is called 'her'",
        ]
    )


def test_roles_that_stand_beside_each_other_know_each_other(tmp_path: Path) -> None:
    files = {"parts/one/tasks/main.yml": "- include_role: {name: two}\n", "parts/two/tasks/main.yml": "- cmmand: x\n"}
    assert linted(tmp_path, files, ".") == ["parts/two/tasks/main.yml:1: unknown module 'cmmand'"]


def test_names_of_imported_playbooks_that_only_a_run_knows(tmp_path: Path) -> None:
    assert linted(tmp_path, {"site.yml": "- import_playbook: '{{ which }}.yml'\n"}, ".") == [
        "1: warning: the name '{{ which }}.yml' is not known before the run"
    ]


def test_single_files(tmp_path: Path) -> None:
    files = {**TREE, "tasks.yml": "- command: x\n  whne: y\n"}
    assert linted(tmp_path, files, "tasks.yml") == ["tasks.yml:2: unknown keyword 'whne' in a task"]
    assert linted(tmp_path, files, "roles/good/tasks/unused.yml") == ["roles/good/tasks/unused.yml:2: unknown keyword 'whne' in a task"]
    assert linted(tmp_path, files, "gone.yml") == ["gone.yml:0: there is no gone.yml"]
    assert linted(tmp_path, {"text.yml": "just text\n"}, "text.yml") == ["text.yml:1: not a playbook: a text"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([{"hosts": "all"}], "playbook"),
        ([{"import_playbook": "x"}], "playbook"),
        ([{"command": "x"}], "tasks"),
        ({"a": 1}, "variables"),
        ([], "other"),
        (None, "other"),
        (["x"], "other"),
    ],
)
def test_kinds_of_files(data: object, kind: str) -> None:
    assert kind_of_file(data) == kind
