"""What is said about wrong playbooks before any connection is made: all of it, with its place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from provisioner.diagnostics import Diagnostic, Span

from .project import Project

# files (or the tasks of one play as text) → problems as "line: message"
TASKS: list[tuple[str, list[str]]] = [
    ("- command: x\n  whne: y", ["4: unknown keyword 'whne' in a task"]),
    ("- comand: x", ["3: unknown module 'comand'"]),
    ("- command: x\n  shell: y", ["4: two actions in one task: command and shell"]),
    ("- name: x", ["3: this task has no action"]),
    ("- foo: x\n  brr: y", ["3: 'foo' is neither a module nor a keyword of tasks", "4: 'brr' is neither a module nor a keyword of tasks"]),
    ("- command: x\n  hosts: y", ["4: keyword 'hosts' cannot stand in a task"]),
    ("- command: x\n  sudo: yes", ["4: keyword 'sudo' does not exist any more"]),
    ("- command: x\n  listen: y", ["4: keyword 'listen' cannot stand in a task"]),
    ("- block: []\n  register: x", ["4: keyword 'register' cannot stand in a block"]),
    ("- rescue: [command: x]", ["3: rescue and always need a block"]),
    ("- 5", ["3: not a task: 5"]),
    ("- command: x\n  become: maybe", ["4: become takes a boolean, not 'maybe'"]),
    ("- command: x\n  retries: many", ["4: retries takes a whole number, not 'many'"]),
    ("- command: x\n  register: a b", ["4: register: Invalid variable name 'a b'"]),
    ("- command: x\n  register: '{{ a }}'", ["4: register: Invalid variable name '{{ a }}'"]),
    ("- command: x\n  vars: {a-b: 1}", ["4: 'a-b' is no variable name"]),
    ("- command: x\n  vars: [1]", ["4: vars takes a mapping of names to values, not a list"]),
    ("- command: x\n  tags: {a: b}", ["4: tags takes a list of words, not {'a': 'b'}"]),
    ("- command: x\n  when: {a: b}", ["4: when takes expressions, not a mapping"]),
    ("- command: x\n  when: '{{ a }}'", ["4: warning: when is an expression already and needs no {{ }}"]),
    ("- command: x\n  when: a ==", ["4: syntax error in expression: unexpected 'end of print statement'"]),
    ("- command: x\n  loop: abc", ["4: loop takes a list, not 'abc'"]),
    ("- command: x\n  with_items:", ["4: with_items has no value"]),
    ("- command: x\n  loop: [1]\n  with_items: [1]", ["5: two loops in one task: loop and with_items"]),
    ("- command: x\n  loop_control: {lop_var: y}", ["4: unknown keyword 'lop_var' in loop_control"]),
    ("- command: x\n  args: 5", ["4: args takes a mapping or a template, not 5"]),
    ("- command: [x]", ["3: command takes a mapping or a text, not a list"]),
    ("- command: echo 'x", ["3: arguments of command: a ' quote is not closed"]),
    ("- copy: {dest: /x, contnt: y, src: /etc/hosts}", ["3: copy: unsupported option 'contnt'"]),
    ("- copy: {content: y}", ["3: copy: missing required arguments: dest"]),
    ("- file: {path: /x, state: dir}", ["3: file: state must be one of: absent, directory, file, hard, link, touch, got: dir"]),
    ("- file: {path: /x, state: '{{ s }}', mode: '{{ m }}', recurse: '{{ r }}'}", []),
    ("- file: {path: /x, recurse: perhaps}", ["3: file: recurse takes a boolean, not 'perhaps'"]),
    ("- file: {path: /x, mode: 644}", ["3: file: mode 644 is the number 644 = octal 1204; write '0644'"]),
    ("- file: {path: /x, mode: 0644}", []),
    ("- gadget: [x]", ["3: gadget takes a mapping or a text, not a list"]),
    ("- gadget: free form", ["3: gadget: takes no free-form text ('free form')", "3: gadget: missing required arguments: name"]),
    ("- gadget: {name: '{{ a }}', count: '{{ 1 + }}'}", ["3: syntax error in template: unexpected 'end of print statement'"]),
    ("- copy: {src: gone.conf, dest: /x}", ["3: copy: there is no file 'gone.conf'"]),
    ("- copy: {src: gone.conf, dest: /x}\n  when: a", ["3: warning: copy: there is no file 'gone.conf'"]),
    ("- copy: {src: gone.conf, dest: /x, remote_src: true}", []),
    ("- import_tasks: gone.yml", ["3: there is no file of tasks 'gone.yml'"]),
    ("- import_tasks: gone.yml\n  when: a", ["3: there is no file of tasks 'gone.yml'"]),
    ("- include_tasks: gone.yml", ["3: there is no file of tasks 'gone.yml'"]),
    ("- include_tasks: gone.yml\n  when: a", ["3: warning: there is no file of tasks 'gone.yml'"]),
    ("- import_tasks: '{{ late }}.yml'", ["3: the name '{{ late }}.yml' is not known before the run"]),
    ("- import_tasks: site.yml", ["site.yml imports itself"]),
    ("- import_tasks: x.yml\n  loop: [1]", ["4: loop cannot be used with import_tasks", "3: there is no file of tasks 'x.yml'"]),
    (
        "- import_tasks: '{{ late }}.yml'\n  until: x",
        ["4: warning: until does nothing at import_tasks", "3: the name '{{ late }}.yml' is not known before the run"],
    ),
    ("- include_tasks: '{{ x }}.yml'\n  become: true", ["4: become cannot be used with include_tasks"]),
    ("- include_role: {name: '{{ x }}'}\n  notify: x", ["4: notify cannot be used with include_role"]),
    ("- include: '{{ x }}.yml'\n  become: true", ["3: warning: include is gone"]),
    ("- include_tasks: {flie: x.yml, file: '{{ y }}'}", ["3: include_tasks: unsupported option 'flie'"]),
    ("- import_role: {name: nope}", ["3: there is no role 'nope'"]),
    ("- include_role: {name: nope}\n  when: a", ["3: warning: there is no role 'nope'"]),
    ("- command: x\n  notify: nothing", ["4: no handler is called 'nothing'"]),
    ("- command: x\n  notify: '{{ a }}'", []),
    ("- yum_repository: {name: x}", ["3: module 'yum_repository' is not supported"]),
    ("- yum_repository: {name: x}\n  when: a", ["3: warning: module 'yum_repository' is not supported"]),
    ("- some.where.else: {name: x}\n  ignore_errors: true", ["3: warning: module 'some.where.else' is not supported"]),
    ("- fetch: {src: /x, dest: y, mode: '0600'}\n- raw: x\n  args: {creates: /y}", [
        "3: warning: fetch: unsupported option 'mode'", "5: warning: raw: unsupported option 'creates'"
    ]),
    ("- service: {daemon_reload: true}\n- package: {update_cache: true}\n- service: {name: x, scope: user, force: true}", []),
    ("- service: {state: started}", ["3: service: state also needs: name"]),
    ("- uri: {url: x, user: a, password: b}\n- get_url: {url: x, dest: /y, username: a, password: b}", []),
    ("- file: {pth: /x, path: y}\n  ignore_errors: true", ["3: warning: file: unsupported option 'pth'"]),
    ("- block: [file: {}]\n  rescue: [command: x]", ["3: warning: file: missing required arguments: path"]),
    ("- block: [file: {}]\n  module_defaults: {file: {path: /x}}", []),
    (
        "- block: [file: {path: /x}]\n  module_defaults: {group/a.b.x: {path: /x}}",
        ["4: there is no group/a.b.x"],
    ),
    ("- block: [file: {path: /x}]\n  module_defaults: {group/aws: {region: x}}", []),
    ("- command: a\n  command: b", ["4: warning: key 'command' is given twice: first in line 3, again in line 4"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), TASKS)
def test_tasks(tmp_path: Path, text: str, wanted: list[str]) -> None:
    body = "\n".join("    " + line for line in text.splitlines())
    project = Project(tmp_path, {"site.yml": f"- hosts: all\n  tasks:\n{body}\n"})
    project.load()
    if wanted == ["site.yml imports itself"]:
        assert [item.partition(": ")[2] for item in project.problems] == ["site.yml imports itself"]
        return
    assert project.problems == wanted


PLAYS: list[tuple[str, list[str]]] = [
    ("", ["0: an empty playbook"]),
    ("[]", ["0: a playbook without plays"]),
    ("hosts: all", ["1: not a playbook: a mapping"]),
    ("- 5", ["1: not a play: 5"]),
    ("- tasks: []", ["1: a play without hosts"]),
    ("- hosts: []", ["1: a play without hosts"]),
    ("- hosts: [{a: b}]", ["1: hosts takes names, not {'a': 'b'}"]),
    ("- hosts: all\n  gather_fact: no", ["2: unknown keyword 'gather_fact' in a play"]),
    ("- hosts: all\n  when: x", ["2: keyword 'when' cannot stand in a play"]),
    ("- hosts: all\n  tasks: x", ["2: tasks must be a list, not a text"]),
    ("- hosts: all\n  roles: x", ["2: roles must be a list, not a text"]),
    ("- hosts: all\n  roles: [{a: b}]", ["2: not a role"]),
    ("- hosts: all\n  roles: [gone]", ["2: there is no role 'gone'"]),
    ("- hosts: all\n  roles: ['{{ late }}']", ["2: the name '{{ late }}' is not known before the run"]),
    ("- hosts: all\n  serial: [1, many]", ["2: serial takes numbers or percentages, not 'many'"]),
    ("- hosts: all\n  order: random", ["2: order knows no 'random'"]),
    ("- hosts: all\n  strategy: mitogen_linear", ["2: strategy knows no 'mitogen_linear'"]),
    ("- hosts: all\n  max_fail_percentage: x", ["2: max_fail_percentage takes a percentage, not 'x'"]),
    ("- hosts: all\n  vars_prompt: [{nme: x}]", ["2: a prompt needs the name of its variable"]),
    ("- hosts: all\n  vars_files: [gone.yml]", ["2: there is no file of variables 'gone.yml'"]),
    ("- hosts: all\n  vars_files: [[gone.yml, gone2.yml]]", ["2: there is no file of variables 'gone.yml'"]),
    ("- hosts: all\n  vars_files: ['{{ x }}.yml', [gone.yml, '{{ x }}']]", []),
    ("- hosts: all\n  vars_files: {a: b}", ["2: vars_files takes file names, not {'a': 'b'}"]),
    ("- hosts: all\n  handlers: [{name: h, import_role: {name: r}}]", ["2: import_role cannot be a handler"]),
    ("- hosts: all\n  handlers: [{name: h, command: x, listen: {a: b}}]", ["2: listen takes texts, not {'a': 'b'}"]),
    ("- import_playbook: gone.yml", ["1: there is no playbook 'gone.yml'"]),
    ("- import_playbook: site.yml", ["1: site.yml imports itself"]),
    ("- import_playbook: x.yml\n  hosts: all", ["2: keyword 'hosts' cannot stand in import_playbook", "1: there is no playbook 'x.yml'"]),
    (
        "- import_playbook: gone.yml\n  become: true",
        ["2: warning: become does nothing at import_playbook", "1: there is no playbook 'gone.yml'"],
    ),
    ("- include: gone.yml", ["1: warning: include is gone", "1: there is no playbook 'gone.yml'"]),
    ("- hosts: {{ x }}", ["1: a value starts with {{ and is not quoted"]),
]


@pytest.mark.parametrize(("text", "wanted"), PLAYS)
def test_plays(tmp_path: Path, text: str, wanted: list[str]) -> None:
    project = Project(tmp_path, {"site.yml": text + "\n"})
    project.load()
    assert project.problems == wanted


def test_everything_is_reported_together(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": "- hosts: all\n  roles: [r]\n  tasks:\n    - comand: x\n    - import_tasks: t.yml\n- hosts: b\n  taks: []\n",
            "t.yml": "- file: {pth: /x, path: /y}\n",
            "roles/r/tasks/main.yml": "- command: x\n  notify: gone\n- copy: {src: gone, dest: /x}\n",
        },
    )
    project.load()
    assert project.problems == [
        "roles/r/tasks/main.yml:3: copy: there is no file 'gone'",
        "4: unknown module 'comand'",
        "t.yml:1: file: unsupported option 'pth'",
        "roles/r/tasks/main.yml:2: no handler is called 'gone'",
        "7: unknown keyword 'taks' in a play",
    ]


def test_modes_in_loops(tmp_path: Path) -> None:
    site = """\
        - hosts: all
          tasks:
            - copy: {dest: "/m{{ i }}", content: x, mode: "{{ item.m }}"}
              loop:
                - {m: 0400}
                - {m: "0400"}
                - {m: 2775}
                - {m: 644}
                - {m: "u=rw,g=r"}
              loop_control: {index_var: i}
            - copy: {dest: /x, content: x, mode: "{{ permission }}"}
              with_items: [0600, 600]
              loop_control: {loop_var: permission}
        """
    project = Project(tmp_path, {"site.yml": site})
    project.load()
    assert project.problems == [
        "7: copy: mode 2775 is the number 2775 = octal 5327; write '02775'",
        "8: copy: mode 644 is the number 644 = octal 1204; write '0644'",
        "12: copy: mode 600 is the number 600 = octal 1130; write '0600'",
    ]


def test_inner_loops_that_hide_the_outer_item(tmp_path: Path) -> None:
    """Bug case L05."""
    project = Project(
        tmp_path,
        {
            "site.yml": "- hosts: all\n  tasks:\n    - include_tasks: inc.yml\n      loop: [1, 2]\n",
            "inc.yml": "- command: echo {{ item }}\n  loop: [a, b]\n- command: echo {{ item }}\n",
        },
    )
    project.load()
    assert project.problems == ["inc.yml:2: warning: the loop here hides 'item' of the loop at site.yml:3:7"]


@pytest.mark.parametrize(
    ("notify", "known"),
    [
        ("restart web", True),
        ("restart it", True),
        ("topic", True),
        ("r : in role", True),
        ("in role", True),
        ("from include", True),
        ("play : restart web", False),
        ("restrat web", False),
        ("a file of handlers", False),
    ],
)
def test_names_of_handlers(tmp_path: Path, notify: str, known: bool) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": f"""\
                - hosts: all
                  tasks:
                    - command: x
                      notify: "{notify}"
                    - include_role: {{name: r}}
                  handlers:
                    - name: "restart {{{{ service_name if false else 'web' }}}}"
                      command: x
                    - block:
                        - {{name: other, command: x, listen: topic}}
                    - name: a file of handlers
                      import_tasks: h.yml
                """,
            "h.yml": "- name: from include\n  command: x\n",
            "roles/r/tasks/main.yml": "[]\n",
            "roles/r/handlers/main.yml": "- name: in role\n  command: x\n",
        },
    )
    project.load()
    assert project.problems == ([] if known else [f"4: no handler is called '{notify}'"])


def test_template_files_are_checked_once(tmp_path: Path) -> None:
    seen: list[str] = []

    def check_file(text: str, path: str) -> Diagnostic | None:
        seen.append(path)
        return Diagnostic("unexpected end", Span(path, 1)) if "{{" in text else None

    task = "    - template: {src: %s, dest: /x}\n"
    site = "- hosts: all\n  tasks:\n" + task % "a.j2" + task % "a.j2" + task % "b.j2" + task % "a.j2"
    files = {"site.yml": site, "templates/a.j2": "{{ x", "templates/b.j2": "text", "c.j2": "{{"}
    project = Project(tmp_path, files, check_file=check_file)
    project.load()
    assert project.problems == ["templates/a.j2:1: unexpected end"]
    assert [Path(path).name for path in seen] == ["a.j2", "b.j2"]


def test_circles_of_roles(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "site.yml": "- hosts: all\n  roles: [a]\n",
            "roles/a/meta/main.yml": "dependencies: [b]\n",
            "roles/b/meta/main.yml": "dependencies: [a]\n",
        },
    )
    project.load()
    assert project.problems == ["roles/b/meta/main.yml:1: role 'a' needs itself"]


def test_no_problem_is_hidden_in_a_template_that_may_be_omitted(tmp_path: Path) -> None:
    text = "- hosts: all\n  tasks:\n    - gadget: {name: x, key: '{{ a | default(omit) }}', key_file: '{{ b | default(omit) }}'}\n"
    project = Project(tmp_path, {"site.yml": text})
    project.load()
    assert project.problems == []


def test_ten_thousand_tasks_load_within_the_budget(tmp_path: Path) -> None:
    task = "    - name: t {0}\n      copy: {{dest: /x/{0}, content: x, mode: '0644'}}\n      when: a and b{0}\n      tags: [a]\n"
    command = "    - command: echo {{{{ item }}}} chdir=/tmp creates=/x{0}\n      loop: [1, 2]\n      register: r{0}\n"
    body = "".join(task.format(number) + command.format(number) for number in range(5000))
    project = Project(tmp_path, {}, check_template=None)
    (tmp_path / "site.yml").write_text(f"- hosts: all\n  tasks:\n{body}")
    start = time.process_time()
    playbook = project.load()
    spent = time.process_time() - start
    assert len(playbook.plays[0].tasks) == 10_000
    assert project.problems == []
    assert spent < 2.0
