"""Foreign modules of every kind, run on this machine through the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.conftest import real_core
from tests.cli.conftest import Project, Said

TOUCHES = """
import os
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({"path": {}, "env": {"default": "NONE"}}, supports_check_mode=True)
there = os.path.exists(module.params["path"])
if not there and not module.check_mode:
    open(module.params["path"], "w").close()
module.exit_json(
    changed=not there,
    diff={"before": "", "after": "touched\\n", "after_header": module.params["path"]},
    env=os.environ.get(module.params["env"]),
    argv=len(__import__("sys").argv),
)
"""
IMPORT = "from ansible.module_utils.basic import AnsibleModule\n"
SULLEN = TOUCHES.replace(", supports_check_mode=True", "")


def steps(said: Said) -> dict[str, Any]:
    """Status by task."""
    return {step["task"]: step["status"] for step in said.document["steps"]}


def shown(project: Project, module: str, text: str, tasks: str) -> str:
    """Run tasks with a module of this text in ``library/``; gives what is shown."""
    project.write(f"playbooks/library/{module}", text)
    project.tasks(tasks)
    said = project("apply", "inventory.yml")
    return said.out + said.err


# -- what they are given and give ----------------------------------------------------------------------------------------------------------


def test_modules_of_a_collection(bridged: Project) -> None:
    bridged.tasks(
        """
- my.own.hello: {name: you}
  register: a
- my.own.deep.bye:
  register: b
- old_greeting:
  register: c
- frobnicate:
  register: d
- import_role: {name: my.own.greet}
- assert:
    that:
      - a.msg == "hello you" and a.again == "hello" and a is not changed
      - b.msg == "no hello" and b.main == "__main__" and b.package.endswith(".deep")
      - c.msg == "hello world"
      - d.name == "ansible.builtin.frobnicate"
      - greeted.msg == "hello role"
"""
    )
    said = bridged("apply", "inventory.yml")
    assert said.code == 0, said.out + said.err


def test_a_module_of_the_library_with_its_own_module_utils(bridged: Project) -> None:
    bridged.write("playbooks/module_utils/mine.py", "WORD = 'mine'\n")
    bridged.write(
        "playbooks/roles/r/library/of_role.py",
        "from ansible.module_utils.theirs import WORD\nfrom ansible.module_utils.basic import *\n"
        "AnsibleModule({}).exit_json(word=WORD, ansible_facts={'role_fact': 1})\n",
    )
    bridged.write("playbooks/roles/r/module_utils/theirs.py", "WORD = 'theirs'\n")
    bridged.write("playbooks/roles/r/tasks/main.yml", "- of_role:\n  register: b\n")
    text = f"from ansible.module_utils import mine\n{IMPORT}AnsibleModule({{}}).exit_json(word=mine.WORD)\n"
    out = shown(
        bridged,
        "own.py",
        text,
        """
- own:
  register: a
- import_role: {name: r}
- assert: {that: [a.word == "mine", b.word == "theirs", role_fact == 1, ansible_facts.role_fact == 1]}
""",
    )
    assert "tasks: 3 ok" in out, out


def test_check_and_diff_and_environment_are_passed_on(bridged: Project) -> None:
    bridged.write("playbooks/library/touches.py", TOUCHES)
    bridged.tasks(
        """
- name: make it
  touches: {path: W/made, env: COLOUR}
  environment: {COLOUR: red}
  register: r
- name: look
  touches: {path: W/never}
  check_mode: true
  register: tried
- assert: {that: [r.env == "red", r.argv == 1, tried is changed]}
"""
    )
    said = bridged("apply", "inventory.yml", "--diff")
    assert said.code == 0, said.out + said.err
    assert "+touched" in said.out
    assert bridged.path("made").exists()
    assert not bridged.path("never").exists()
    assert steps(bridged("apply", "inventory.yml", "--format", "json"))["make it"] == "ok"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json_module", '#!/bin/sh\n# WANT_JSON\nprintf \'{"changed": true, "given": %s}\' "$(cat $1)"\n'),
        ("old_module.sh", '#!/bin/sh\n. $1\nprintf \'{"changed": true, "given": {"a": "%s"}}\' "$a"\n'),
        (
            "whole_module",
            "#!/usr/bin/python3\nimport json\nARGS = '''<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>'''\nprint('words', 'before')\n"
            "print(json.dumps({'given': json.loads(ARGS)}))\n",
        ),
    ],
)
def test_programs_of_other_kinds_need_no_installation(project: Project, name: str, text: str) -> None:
    out = shown(project, name, text, f"- {name.partition('.')[0]}: {{a: b c}}\n  register: r\n- assert: {{that: r.given.a == 'b c'}}\n")
    assert "2 ok" in out, out


def test_words_around_the_result_are_tolerated(bridged: Project) -> None:
    text = f"{IMPORT}import atexit\nprint('hello')\natexit.register(print, 'bye')\nAnsibleModule({{}}).exit_json(x=1)\n"
    out = shown(bridged, "chatty.py", text, "- chatty:\n  register: r\n- assert: {that: r.x == 1}\n")
    assert "junk after the JSON data: bye" in out, out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{IMPORT}raise ValueError('broken inside')\n",
            "module bad broke off: ValueError: broken inside",
        ),
        (IMPORT, "module bad broke off: it ended with exit status 0 and printed no JSON"),
        (f"{IMPORT}import nowhere_at_all\n", "No module named 'nowhere_at_all'"),
        (IMPORT + "AnsibleModule({}).fail_json(msg='no luck', rc=7)\n", "no luck"),
        (
            IMPORT + "AnsibleModule({}).fail_json(exception={'event': {'msg': 'one', 'chain': {'event': {'msg': 'two'}}}})\n",
            "module bad broke off: one: two",
        ),
        ("#!/no/such/interpreter\n# WANT_JSON\n", "module bad cannot be started"),
    ],
)
def test_a_module_that_fails(bridged: Project, text: str, said: str) -> None:
    out = shown(bridged, "bad.py" if "ansible" in text else "bad", text, "- bad:\n")
    assert said in out, out
    assert "Traceback" not in out


def test_nothing_is_left_behind(bridged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    bridged.tasks("- my.own.hello:\n")
    bridged.write("inventory.yml", "all: {hosts: {here: {ansible_connection: local, ansible_remote_tmp: W/tmp}}}\n")
    assert bridged("apply", "inventory.yml").code == 0
    assert os.listdir(bridged.path("tmp")) == []


# -- plans ---------------------------------------------------------------------------------------------------------------------------------


def test_a_plan_takes_no_module_at_its_word(bridged: Project) -> None:
    bridged.write("playbooks/library/touches.py", TOUCHES)
    bridged.write("playbooks/library/sullen.py", SULLEN)
    bridged.write("playbooks/library/probe_info.py", TOUCHES)
    bridged.write("there", "")
    bridged.tasks(
        """
- name: nothing to do
  touches: {path: W/there}
  register: known
- name: would change
  touches: {path: W/new}
  register: guess
- name: cannot say
  sullen: {path: W/other}
- name: after others
  touches: {path: W/there}
  register: blind
- name: uses what is known
  debug: {msg: "{{ known.changed }}"}
- name: uses a guess
  debug: {msg: "{{ guess.changed }}"}
"""
    )
    said = bridged("plan", "inventory.yml", "--format", "json")
    found = steps(said)
    assert found == {
        "nothing to do": "ok",
        "would change": "maybe",
        "cannot say": "deferred",
        "after others": "maybe",
        "uses what is known": "ok",
        "uses a guess": "ok",
    }
    reasons = {step["task"]: step.get("reason", "") for step in said.document["steps"]}
    assert reasons["would change"] == "the word of touches alone"
    assert "running sullen, which cannot say what it would do" in reasons["cannot say"]
    assert not bridged.path("new").exists()
    assert not bridged.path("other").exists()


def test_a_saved_plan_with_a_foreign_module_is_applied(bridged: Project) -> None:
    bridged.write("playbooks/library/touches.py", TOUCHES)
    bridged.tasks("- touches: {path: W/new}\n- copy: {dest: W/file, content: x}\n")
    assert bridged("plan", "inventory.yml", "-o", "plan.json").code == 0
    said = bridged("apply", "plan.json")
    assert said.code == 0, said.out + said.err
    assert bridged.path("new").exists()


def test_information_leaves_no_doubt_behind(bridged: Project) -> None:
    bridged.write("playbooks/library/probe_info.py", TOUCHES)
    bridged.tasks(
        """
- name: first
  copy: {dest: W/file, content: x}
- name: ask
  probe_info: {path: W/there}
- name: second
  copy: {dest: W/file2, content: x}
"""
    )
    assert steps(bridged("plan", "inventory.yml", "--format", "json")) == {"first": "changed", "ask": "maybe", "second": "changed"}


# -- before the run ------------------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_run_is_said_before_anything_is_touched(project: Project) -> None:
    project.write("playbooks/library/own.py", TOUCHES)
    project.tasks("- copy: {dest: W/file, content: x}\n- own: {path: W/x}\n- your.own.thing:\n- my.own.acted:\n  when: never is defined\n")
    said = project("apply", "inventory.yml")
    assert said.code == 1
    assert not project.path("file").exists()
    for text in ("module 'own' is not supported", "pip install 'provisioner[ansible]'", "ansible-galaxy collection install your.own"):
        assert text in said.err, said.err


# -- the real one --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.peers
def test_modules_of_the_real_ansible_core(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = real_core()
    if found is None:
        pytest.skip("ansible-core is not installed (PATH, PROVISION_PEERS)")
    monkeypatch.setenv("ANSIBLE_PATH", found)
    project.write("known", "example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx6kF1Vn4oKpJr3cYqfTq8v0m5d8Zf6C1m0pQvT0b3k\n")
    project.write(
        "playbooks/library/warns.py",
        """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"word": {"no_log": True}, "n": {"type": "int"}}, supports_check_mode=True)
module.warn("careful")
module.deprecate("old", version="9.9", collection_name="my.own")
module.exit_json(changed=True, n=module.params["n"], word=module.params["word"])
""",
    )
    project.tasks(
        """
- warns: {word: geheim, n: "3"}
  register: r
- ansible.builtin.known_hosts: {name: example.org, path: W/known, state: absent}
  register: k
- warns: {m: 1}
  register: wrong
  ignore_errors: true
- assert:
    that:
      - r.n == 3 and r.warnings == ["careful"] and r.deprecations[0].msg == "old" and r.deprecations[0].version == "9.9"
      - r.word == "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" and r.invocation.module_args.word == r.word
      - k is changed
      - wrong is failed and "Unsupported parameters" in wrong.msg
"""
    )
    said = project("apply", "inventory.yml")
    assert said.code == 0, said.out + said.err
    assert "careful" in said.out + said.err
    assert project.path("known").read_text() == ""


# -- plugins of collections ----------------------------------------------------------------------------------------------------------------


def test_filters_and_lookups_of_a_collection_by_their_full_names(bridged: Project) -> None:
    bridged.tasks(
        """
- assert:
    that:
      - "'x' | my.own.loud == 'X!'"
      - lookup('my.own.twice', 'ab') == 'abab'
      - "'loud' is not my.own.quiet"
"""
    )
    said = bridged("apply", "inventory.yml")
    assert said.code == 0, said.out + said.err


def test_a_filter_that_no_collection_has_is_said_before_the_run(bridged: Project) -> None:
    bridged.tasks('- debug: {msg: "{{ 1 | my.own.lout }}"}\n')
    said = bridged("apply", "inventory.yml")
    assert said.code == 1
    assert "No filter named 'my.own.lout'" in said.err
    assert "did you mean 'my.own.loud'" in said.err


def test_defaults_of_an_action_group(bridged: Project) -> None:
    bridged.write(
        "playbooks/site.yml",
        """
- hosts: all
  gather_facts: false
  module_defaults:
    group/my.own.greetings: {name: group}
  tasks:
    - my.own.hello:
      register: r
    - assert: {that: r.msg == "hello group"}
""",
    )
    said = bridged("apply", "inventory.yml")
    assert said.code == 0, said.out + said.err
