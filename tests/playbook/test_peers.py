"""The order, names and tags of all tasks of a project, as stock Ansible lists them and as we load them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from provisioner.playbook.model import Block, Entry, Play

from .project import Project

FILES = {
    "site.yml": """\
        - name: first
          hosts: localhost
          gather_facts: false
          tags: play
          vars: {which: more}
          pre_tasks:
            - name: before
              command: x
              tags: [always, pre]
          roles:
            - base
            - {role: app, tags: [used, again], when: true}
            - role: base
              tags: never
          tasks:
            - import_tasks: "{{ which }}.yml"
              tags: imported
            - name: named import
              ansible.builtin.import_tasks: {file: more.yml}
              when: false
            - include_tasks: more.yml
              tags: dynamic
            - import_role: {name: app, tasks_from: other}
              tags: by_import
            - block:
                - name: in block
                  command: x
                - block: [debug: msg=x]
                  tags: deep
                  rescue: [command: y]
              always:
                - name: in always
                  shell: "echo $HOME"
              tags: "a, b"
            - local_action: command z
            - action: copy dest=/x content=y
          post_tasks:
            - meta: flush_handlers
            - include_role: {name: base}
        - import_playbook: second.yml
          tags: outer
        """,
    "second.yml": "- hosts: all\n  gather_facts: no\n  tasks:\n    - set_fact: a=1\n      tags: inner\n",
    "more.yml": "- command: one\n  tags: own\n- import_tasks: sub/last.yml\n",
    "sub/last.yml": "- name: last\n  ping:\n",
    "roles/base/tasks/main.yml": "- name: base task\n  command: x\n",
    "roles/app/tasks/main.yml": "- command: app\n- import_tasks: extra.yml\n  tags: extra\n",
    "roles/app/tasks/extra.yml": "- name: extra task\n  command: x\n",
    "roles/app/tasks/other.yml": "- name: other task\n  command: x\n",
    "roles/app/meta/main.yml": "dependencies:\n  - {role: base, tags: dep, when: true}\n",
}


def stock(folder: Path) -> list[str]:
    """What ``ansible-playbook --list-tasks`` prints, a line a task."""
    path = os.pathsep.join(filter(None, (os.environ.get("PEERS_BIN"), os.environ.get("PATH"))))
    program = shutil.which("ansible-playbook", path=path)
    if program is None:
        pytest.skip("no ansible-playbook here")
    found = subprocess.run([program, "site.yml", "--list-tasks"], cwd=folder, capture_output=True, text=True, check=True)
    return [
        f"{match[1]} {match[2]}" for match in re.finditer(r"^ +(.+?)\tTAGS: (\[.*\])$", found.stdout, re.MULTILINE) if " (" not in match[1]
    ]


def ours(play: Play) -> Iterator[str]:
    """The same from the model."""
    bodies = tuple(role.body for role in play.roles)
    yield from _listed((*play.pre_tasks, *bodies, *play.tasks, *play.post_tasks), play.directives.tags)


def _listed(entries: Iterable[Entry], tags: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        inner = tags + entry.directives.tags
        if isinstance(entry, Block):
            yield from _listed(entry.tasks, inner)  # stock lists neither rescue nor always
        else:
            name = f"{entry.role.name} : {entry.label}" if entry.role and entry.name else entry.label
            yield f"{name} [{', '.join(sorted(set(inner)))}]"


@pytest.mark.peers
def test_lists_of_tasks(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES)
    playbook = project.load()
    assert [problem for problem in project.problems if "warning" not in problem] == []
    wanted = [line for line in stock(tmp_path) if " never" not in line and "[never" not in line]
    found = [line for play in playbook.plays for line in ours(play) if " never" not in line and "[never" not in line]
    assert found == wanted
