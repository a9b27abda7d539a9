"""Playbooks, imports and roles as the model holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import InputError
from provisioner.playbook.model import Block, Task, walk
from provisioner.playbook.roles import Sources

from .project import Project, outline


def tasks(folder: Path, text: str, **options: Any) -> tuple[Project, tuple[Any, ...]]:
    """The entries of a play with these tasks."""
    body = "\n".join("    " + line for line in text.strip("\n").splitlines())
    project = Project(folder, {"site.yml": f"- hosts: all\n  tasks:\n{body}\n"}, **options)
    return project, project.load().plays[0].tasks


def one(folder: Path, text: str) -> Task:
    """The only task of a play, without problems."""
    project, found = tasks(folder, text)
    assert project.problems == []
    assert len(found) == 1
    assert isinstance(found[0], Task)
    return found[0]


def test_every_keyword_of_a_task(tmp_path: Path) -> None:
    task = one(
        tmp_path,
        """
- name: "Do {{ it }}"
  ansible.builtin.command: echo hi chdir=/tmp
  args: {creates: /x}
  when: [a, b is defined]
  loop: "{{ things }}"
  loop_control: {loop_var: thing, index_var: n, label: "{{ thing }}", pause: 1, extended: true, break_when: thing == 3}
  register: out
  until: out.rc == 0
  retries: 3
  delay: 1.5
  changed_when: false
  failed_when: [out.rc > 1, "'x' in out.stdout"]
  become: yes
  become_user: root
  environment: {A: b}
  vars: {x: 1}
  tags: a, b
  delegate_to: localhost
  delegate_facts: no
  run_once: true
  ignore_errors: "{{ maybe }}"
  ignore_unreachable: true
  no_log: true
  check_mode: false
  diff: true
  throttle: 2
  timeout: 30
  async: 60
  poll: 0
  any_errors_fatal: true
  module_defaults: {ansible.builtin.copy: {mode: "0600"}}
  connection: local
  remote_user: me
  port: 22
  debugger: never
  collections: [a.b]
""",
    )
    assert (task.action, task.written, task.name) == ("command", "ansible.builtin.command", "Do {{ it }}")
    assert task.args == {"_raw_params": "echo hi", "chdir": "/tmp", "creates": "/x"}
    assert task.loop is not None
    assert (task.loop.terms, task.loop.lookup, task.loop.control.loop_var, task.loop.control.break_when) == (
        "{{ things }}", None, "thing", ("thing == 3",),
    )  # fmt: skip
    assert (task.register, task.until, task.retries, task.delay, task.async_, task.poll) == ("out", ("out.rc == 0",), 3, 1.5, 60, 0)
    assert (task.changed_when, task.failed_when) == ((False,), ("out.rc > 1", "'x' in out.stdout"))
    shared = task.directives
    assert (shared.when, shared.tags, shared.become, shared.delegate_facts) == (("a", "b is defined"), ("a", "b"), True, False)
    assert (shared.ignore_errors, shared.vars, shared.environment) == ("{{ maybe }}", {"x": 1}, ({"A": "b"},))
    assert shared.module_defaults == ({"copy": {"mode": "0600"}},)


@pytest.mark.parametrize(
    ("text", "action", "args"),
    [
        ("- copy: {dest: /x, content: y}", "copy", {"dest": "/x", "content": "y"}),
        ("- copy: dest=/x content='y z'", "copy", {"dest": "/x", "content": "y z"}),
        ("- copy: dest=/x\n  args: {content: y, dest: /z}", "copy", {"dest": "/x", "content": "y"}),
        ("- command: uptime", "command", {"_raw_params": "uptime"}),
        ("- action: copy dest=/x content=y", "copy", {"dest": "/x", "content": "y"}),
        ("- action: {module: copy, dest: /x, content: y}", "copy", {"dest": "/x", "content": "y"}),
        ("- action: {module: copy dest=/x, content: y}", "copy", {"dest": "/x", "content": "y"}),
        ("- local_action: command uptime chdir=/", "command", {"_raw_params": "uptime", "chdir": "/"}),
        ("- ansible.legacy.command: uptime", "command", {"_raw_params": "uptime"}),
        ("- gadget: name=x", "gadget", {"name": "x"}),
        ("- include: x.yml", "include_tasks", {"_raw_params": "x.yml"}),
        ('- action: "{{ manager }} name=x state=present"', "{{ manager }}", {"name": "x", "state": "present"}),
    ],
)
def test_forms_of_actions(tmp_path: Path, text: str, action: str, args: dict[str, Any]) -> None:
    (tmp_path / "x.yml").write_text("[]\n")
    (tmp_path / "site.yml").touch()
    _, found = tasks(tmp_path, text)
    assert (found[0].action, dict(found[0].args)) == (action, args)
    assert found[0].directives.delegate_to == ("localhost" if "local_action" in text else None)


@pytest.mark.parametrize("text", ['- copy: "{{ options }}"', '- copy:\n  args: "{{ options }}"'])
def test_arguments_as_one_template(tmp_path: Path, text: str) -> None:
    task = one(tmp_path, text)
    assert (task.args_template, dict(task.args)) == ("{{ options }}", {})


def test_places(tmp_path: Path) -> None:
    task = one(tmp_path, "- copy:\n    dest: /x\n    content: y\n  args:\n    mode: '0644'\n  when: a\n")
    assert [task.span_of(*keys).line for keys in (("copy",), ("args", "dest"), ("args", "mode"), ("when",), ("args", "nothing"))] == [
        3,
        4,
        7,
        8,
        6,
    ]
    assert task.span.line == 3
    assert str(task.span_of("args", "content")).endswith("site.yml:5:9")
    assert set(task.spans) == {"copy", "args", "when", "args.dest", "args.content", "args.mode"}


def test_blocks_push_notify_down(tmp_path: Path) -> None:
    project, found = tasks(
        tmp_path,
        """
- name: b
  block:
    - command: one
      notify: t
    - block: [command: two]
  rescue: [command: three]
  always: [command: four]
  when: x
  notify: [h]
""",
    )
    assert outline(found) == [["command one", ["command two"], {"rescue": ["command three"]}, {"always": ["command four"]}]]
    assert [task.notify for task in walk(found)] == [("h", "t"), ("h",), ("h",), ("h",)]
    assert found[0].directives.when == ("x",)
    assert [item for item in project.problems if "handler" not in item] == []


def test_imports_become_blocks(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": """\
                - hosts: all
                  vars: {which: more}
                  tasks:
                    - import_tasks: "tasks/{{ which }}.yml"
                      tags: t
                      when: w
                      vars: {v: 1}
                    - ansible.builtin.import_tasks: {file: tasks/more.yml}
                    - include_tasks: "{{ anything }}.yml"
                """,
            "tasks/more.yml": "- command: one\n- import_tasks: sub/last.yml\n",
            "tasks/sub/last.yml": "- command: last\n",
        },
    )
    play = project.load().plays[0]
    assert project.problems == []
    assert outline(play.tasks) == [["command one", ["command last"]], ["command one", ["command last"]], "include_tasks {{ anything }}.yml"]
    first = play.tasks[0]
    assert isinstance(first, Block)
    assert (first.directives.tags, first.directives.when, first.directives.vars) == (("t",), ("w",), {"v": 1})


def test_playbooks_import_playbooks(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": "- import_playbook: sub/a.yml\n  tags: x\n  vars: {v: 1}\n  when: w\n- import_playbook: '{{ name }}.yml'\n",
            "sub/a.yml": "- hosts: a\n  tags: y\n  vars: {v: 0, u: 2}\n- import_playbook: b.yml\n",
            "sub/b.yml": "- hosts: b\n",
            "c.yml": "- hosts: [c, d]\n  user: root\n",
        },
        extra_vars={"name": "c"},
    )
    playbook = project.load()
    assert project.problems == []
    assert [play.label for play in playbook.plays] == ["a", "b", "c,d"]
    first = playbook.plays[0]
    assert (first.directives.tags, first.directives.when, first.directives.vars) == (("x", "y"), ("w",), {"v": 1, "u": 2})
    assert first.folder == tmp_path / "sub"
    assert playbook.plays[2].directives.remote_user == "root"
    assert [path.name for path in playbook.files] == ["site.yml", "a.yml", "b.yml", "c.yml"]


ROLES = {
    "roles/base/tasks/main.yml": "- command: base\n",
    "roles/base/handlers/main.yml": "- name: base h\n  command: bh\n",
    "roles/app/tasks/main.yml": "- command: app\n  notify: [base h, 'app : app h']\n- import_tasks: extra.yml\n",
    "roles/app/tasks/extra.yml": "- command: extra\n",
    "roles/app/tasks/other.yaml": "- command: other\n",
    "roles/app/handlers/main.yml": "- name: app h\n  command: ah\n",
    "roles/app/defaults/main.yml": "port: 1\nname: app\n",
    "roles/app/vars/main/one.yml": "colour: red\n",
    "roles/app/vars/main/two.yml": "colour: blue\nport: 2\n",
    "roles/app/meta/main.yml": "dependencies:\n  - {role: base, tags: dep, when: d, x: 5}\nallow_duplicates: yes\n",
    "roles/app/meta/argument_specs.yml": "argument_specs:\n  main:\n    short_description: App\n    options:\n      port: {type: int}\n",
}


def test_roles(tmp_path: Path) -> None:
    site = "- hosts: all\n  roles:\n    - {role: app, web_port: 8080, tags: [t], when: w, vars: {v: 1}, become: true}\n"
    project = Project(tmp_path, {"site.yml": site, **ROLES})
    play = project.load().plays[0]
    assert project.problems == []
    (role,) = play.roles
    source = role.source
    assert outline((role.body,)) == [[["command base"], "validate_argument_spec", "command app", ["command extra"]]]
    assert (source.defaults, source.vars, source.params) == ({"port": 1, "name": "app"}, {"colour": "blue", "port": 2}, {"web_port": 8080})
    assert source.origins["port"].endswith("two.yml:2:1")
    assert source.origins["defaults.port"].endswith("defaults/main.yml:1:1")
    assert (source.allow_duplicates, source.dependencies) == (True, ("base",))
    assert (role.body.directives.tags, role.body.directives.when, role.body.directives.become) == (("t",), ("w",), True)
    (base,) = role.dependencies
    assert (base.source.parents, base.source.params, base.body.directives.tags) == (("app",), {"x": 5}, ("dep",))
    assert [item.source.name for item in play.every_role()] == ["base", "app"]
    check = next(task for task in walk(role.body.tasks) if task.implicit)
    assert (check.args["argument_spec"], check.directives.tags) == ({"port": {"type": "int"}}, ("always",))
    assert {task.role.name for task in walk(role.body.tasks) if task.role} == {"app", "base"}


def test_import_role(tmp_path: Path) -> None:
    site = """\
        - hosts: all
          tasks:
            - name: use it
              import_role: {name: "{{ 'app' }}", tasks_from: other.yaml, vars_from: none}
              tags: i
            - import_role: {name: base, allow_duplicates: false}
            - command: x
              notify: base h
        """
    project = Project(tmp_path, {"site.yml": site, **ROLES, "roles/app/vars/none.yml": "{}\n"})
    play = project.load().plays[0]
    assert project.problems == []
    assert outline(play.tasks) == [[["command base"], "command other"], ["command base"], "command x"]
    first, second = play.tasks[:2]
    assert isinstance(first, Block)
    assert isinstance(second, Block)
    assert first.role is not None
    assert second.role is not None
    assert (first.name, first.role.vars, first.role.allow_duplicates, first.directives.tags) == ("use it", {}, True, ("i",))
    assert not second.role.allow_duplicates
    assert first.imported is not None
    assert [item.source.name for item in play.every_role()] == ["base", "app", "base"]


def test_uses_of_a_role_are_told_apart(tmp_path: Path) -> None:
    site = """\
        - hosts: all
          roles: [base, base, {role: base, tags: x}, {role: base, when: w}, {role: base, p: 1}, {role: base, become: true}]
        """
    project = Project(tmp_path, {"site.yml": site, **ROLES})
    keys = [role.source.key for role in project.load().plays[0].roles]
    assert [keys.index(key) for key in keys] == [0, 0, 2, 3, 4, 0]


def test_roles_in_collections(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": "- hosts: all\n  roles: [my.own.thing]\n- hosts: all\n  collections: [my.own]\n  roles: [thing]\n",
            "collections/ansible_collections/my/own/roles/thing/tasks/main.yml": "- command: x\n",
        },
    )
    plays = project.load().plays
    assert project.problems == []
    assert [(play.roles[0].source.name, play.roles[0].source.collection) for play in plays] == [("thing", "my.own")] * 2


def test_play_keywords(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": """\
                - name: P
                  hosts: [a, "{{ b }}"]
                  gather_facts: no
                  gather_subset: [min]
                  serial: [1, "30%", "{{ n }}"]
                  strategy: ansible.builtin.free
                  order: sorted
                  max_fail_percentage: 30
                  force_handlers: true
                  vars_files: [a.yml, [b.yml, c.yml]]
                  vars_prompt: [{name: x, prompt: X, private: no}]
                  pre_tasks: [command: pre]
                  post_tasks: [command: post]
                  handlers:
                    - name: h
                      command: h
                      listen: [t, u]
                """,
            "vars/a.yml": "{}",
            "c.yml": "{}",
        },
    )
    play = project.load().plays[0]
    assert project.problems == []
    assert (play.label, play.hosts, play.gather_facts, play.serial) == ("P", ["a", "{{ b }}"], False, (1, "30%", "{{ n }}"))
    assert play.vars_files == ("a.yml", ("b.yml", "c.yml"))
    assert (outline(play.pre_tasks), outline(play.post_tasks)) == (["command pre"], ["command post"])
    handler = play.handlers[0]
    assert isinstance(handler, Task)
    assert handler.listen == ("t", "u")


# during a run -----------------------------------------------------------------------------------------------------------------------


def test_files_of_tasks_during_a_run(tmp_path: Path) -> None:
    project = Project(tmp_path, {"site.yml": "[]\n", "tasks/a.yml": "- command: a\n", "tasks/bad.yml": "- command: x\n  whne: y\n"})
    near = str(tmp_path / "tasks" / "main.yml")
    entries = project.loader.load_tasks("a.yml", near=near, folder=tmp_path)
    assert outline(entries) == ["command a"]
    assert project.loader.load_tasks("a.yml", near=near, folder=tmp_path)[0] is entries[0]
    with pytest.raises(InputError, match="unknown keyword 'whne'"):
        project.loader.load_tasks("bad.yml", near=near, folder=tmp_path)
    with pytest.raises(InputError, match=r"there is no file of tasks 'c.yml'") as caught:
        project.loader.load_tasks("c.yml", near=near, folder=tmp_path)
    assert str(tmp_path / "tasks" / "c.yml") in caught.value.diagnostics.items[0].why


def test_roles_during_a_run(tmp_path: Path) -> None:
    project = Project(tmp_path, {"site.yml": "[]\n", **ROLES})
    role = project.loader.load_role("app", near=str(tmp_path / "site.yml"), folder=tmp_path, sources=Sources("other"), public=True)
    assert outline(role.body.tasks) == [["command base"], "command other"]
    assert role.source.public
    with pytest.raises(InputError, match="there is no role 'ap'"):
        project.loader.load_role("ap", near=str(tmp_path / "site.yml"), folder=tmp_path)
