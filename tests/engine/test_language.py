"""Roles, includes, blocks, tags, variables, accounts: what playbooks are made of."""

from __future__ import annotations

import pytest

from provisioner.errors import InputError
from provisioner.events import Warned
from tests.engine.fakes import Project, Ran


def said(ran: Ran, task: str = "say") -> list[str]:
    """The messages of a task, or of all tasks of that name."""
    return [step.msg for step in ran.steps if step.task == task]


def test_blocks(one: Project) -> None:
    ran = one.play(
        """
    - block:
        - {command: "false"}
        - {command: not reached}
      rescue:
        - {command: rescue}
        - {command: "false again"}
      always:
        - {command: always}
    - {command: not reached either}
"""
    )
    assert one.fleet["h1"].commands == ["false", "rescue", "false again", "always"]
    assert ran.outcome.exit_code == 2
    assert ran.outcome.document["hosts"]["h1"] | {"ok": 0, "changed": 0} == {
        "ok": 0, "changed": 0, "failed": 1, "skipped": 0, "unreachable": 0, "unknown": 0, "rescued": 1, "ignored": 0,
    }  # fmt: skip


def test_conditions_and_variables_of_blocks_reach_the_tasks(one: Project) -> None:
    ran = one.play(
        """
    - when: go
      vars: {word: inner}
      block:
        - {name: say, debug: {msg: "{{ word }}"}}
        - {name: say, debug: {msg: no}, when: word == 'outer'}
    - {name: say, debug: {msg: "{{ word }}"}}
""",
        head="  vars: {word: outer, go: true}\n",
    )
    assert said(ran) == ["inner", "", "outer"]


def test_roles_bring_variables_and_run_once(one: Project) -> None:
    one.write("roles/base/tasks/main.yml", "- {name: say, debug: {msg: 'base {{ size }} {{ role_name }}'}}\n")
    one.write("roles/base/defaults/main.yml", "size: small\n")
    one.write("roles/app/meta/main.yml", "dependencies: [base]\n")
    one.write("roles/app/defaults/main.yml", "num: 80\nname: app\n")
    one.write("roles/app/vars/main.yml", "fixed: role\n")
    one.write(
        "roles/app/tasks/main.yml",
        "- {name: say, debug: {msg: '{{ name }} {{ num }} {{ fixed }} {{ role_path | basename }}'}}\n",
    )
    one.write(
        "site.yml",
        """
- hosts: nodes
  gather_facts: false
  vars: {fixed: play, size: big}
  roles:
    - base
    - {role: app, num: 81}
    - {role: app, num: 82}
    - app
    - app
  tasks:
    - {name: say, debug: {msg: "{{ num }} {{ fixed }}"}}
""",
    )
    ran = one.run()
    assert said(ran) == ["base big base", "app 81 role app", "app 82 role app", "app 80 role app", "80 role"]


def test_include_tasks_with_loops_and_variables(one: Project) -> None:
    one.write("inc.yml", "- {name: say, debug: {msg: '{{ outer }} {{ word }}'}}\n- {include_tasks: deeper.yml}\n")
    one.write("deeper.yml", "- {name: deep, debug: {msg: '{{ outer }}'}}\n")
    ran = one.play(
        """
    - include_tasks: "{{ file }}.yml"
      vars: {word: given}
      loop: [1, 2]
      loop_control: {loop_var: outer}
      when: outer != 3
    - {include_tasks: none.yml, when: false}
""",
        head="  vars: {file: inc, word: play}\n",
    )
    assert said(ran) == ["1 given", "2 given"]
    assert said(ran, "deep") == ["1", "2"]


def test_inner_loop_keeps_the_outer_item(one: Project) -> None:
    one.write("inc.yml", "- {name: inner, debug: {msg: '{{ item }}'}, loop: [a, b]}\n- {name: say, debug: {msg: '{{ item }}'}}\n")
    ran = one.play("    - {include_tasks: inc.yml, loop: [1, 2]}\n")
    assert said(ran) == ["1", "2"]
    warned = ran.events_of(Warned)
    assert len(warned) == 1
    assert "site.yml:4" in warned[0].diagnostic.message
    assert "inc.yml" in str(warned[0].diagnostic.span)


def test_include_role(one: Project) -> None:
    one.write("roles/r/defaults/main.yml", "d: default\n")
    one.write("roles/r/tasks/main.yml", "- {name: say, debug: {msg: 'main {{ d }}'}, changed_when: true, notify: h}\n")
    one.write("roles/r/tasks/other.yml", "- {name: say, debug: {msg: 'other {{ d }}'}}\n")
    one.write("roles/r/handlers/main.yml", "- {name: h, command: handler}\n")
    ran = one.play(
        """
    - {include_role: {name: r}, vars: {d: mine}}
    - {include_role: {name: "{{ 'r' }}", tasks_from: other, public: true}}
    - {name: after, debug: {msg: "{{ d }}"}}
"""
    )
    assert said(ran) == ["main mine", "other default"]
    assert said(ran, "after") == ["default"]
    assert one.fleet["h1"].commands == ["handler"]


def test_missing_include_is_a_failed_task(one: Project) -> None:
    ran = one.play(
        """
    - block: [{name: inc, include_tasks: "{{ 'nothing.yml' }}"}]
      rescue: [{name: say, debug: {msg: rescued}}]
"""
    )
    assert said(ran) == ["rescued"]
    assert "nothing.yml" in ran.of("inc").msg


@pytest.mark.parametrize(
    ("tags", "skip", "expected"),
    [
        ("all", "", "plain web block always"),
        ("web", "", "web always"),
        ("tagged", "", "web block always"),
        ("untagged", "", "plain always"),
        ("all", "web", "plain block always"),
        ("never", "", "never always"),
        ("danger", "", "never always"),
        ("all", "always", "plain web block"),
        ("blk", "", "block always"),
    ],
)
def test_tags(one: Project, tags: str, skip: str, expected: str) -> None:
    one.play(
        """
    - {command: plain}
    - {command: web, tags: web}
    - {tags: blk, block: [{command: block}]}
    - {command: never, tags: [never, danger]}
    - {command: always, tags: always}
""",
        tags=frozenset(tags.split(",")),
        skip_tags=frozenset(filter(None, [skip])),
    )
    assert " ".join(one.fleet["h1"].commands) == expected


def test_start_at_task(one: Project) -> None:
    one.play("    - {name: a, command: a}\n    - {name: the b, command: b}\n    - {name: c, command: c}\n", start_at_task="the*")
    assert one.fleet["h1"].commands == ["b", "c"]


def test_precedence(one: Project) -> None:
    one.inventory.add_host("h1", [], {"v": "host", "w": "host", "x": "host", "y": "host", "z": "host"})
    one.write("vars.yml", "w: file\nx: file\ny: file\nz: file\n")
    ran = one.play(
        """
    - set_fact: {y: fact, z: fact}
    - name: say
      debug: {msg: "{{ v }} {{ w }} {{ x }} {{ y }} {{ z }}"}
      vars: {x: task, y: task, z: task}
""",
        head="  vars_files: [vars.yml]\n  vars: {v: play, w: play}\n",
        extra_vars={"z": "extra"},
    )
    assert said(ran) == ["play file task fact extra"]


def test_vars_files_named_by_facts(one: Project) -> None:
    one.fleet["h1"].facts["os_family"] = "Debian"
    one.write("vars/Debian.yml", "pkg: apt\n")
    one.write(
        "site.yml",
        "- hosts: nodes\n  vars_files: [['{{ ansible_os_family }}.yml', default.yml]]\n  tasks: [{name: say, debug: {msg: '{{ pkg }}'}}]\n",
    )
    assert said(one.run()) == ["apt"]


def test_include_vars_and_cacheable_facts(one: Project) -> None:
    one.write("vars/more.yml", "a: 1\n")
    one.write("vars/d/1.yml", "b: 1\nc: 1\n")
    one.write("vars/d/2.yml", "c: 2\n")
    ran = one.play(
        """
    - {include_vars: more.yml}
    - {include_vars: {dir: vars/d, name: got}}
    - {set_fact: {f: x, cacheable: true}}
    - {name: say, debug: {msg: "{{ a }} {{ got.b }}{{ got.c }} {{ ansible_facts.f }}"}}
"""
    )
    assert said(ran) == ["1 12 x"]


def test_magic(three: Project) -> None:
    ran = three.play(
        """
    - name: say
      debug:
        msg: >-
          {{ inventory_hostname }} {{ groups.nodes | length }} {{ group_names }} {{ ansible_play_batch | length }}
          {{ ansible_play_hosts_all | length }} {{ playbook_dir | basename == 'nowhere' }} {{ ansible_check_mode }}
          {{ ansible_version.full is version('2.12', '>=') }} {{ ansible_play_name }} {{ ansible_run_tags }} {{ hostvars | length }}
""",
        head="  name: the play\n",
    )
    assert said(ran)[0] == "h1 3 ['nodes'] 3 3 False False True the play ['all'] 3"


def test_accounts(one: Project) -> None:
    one.play(
        """
    - {command: login}
    - {command: root, become: true}
    - {command: svc, become: true, become_user: "{{ 'svc' }}"}
""",
        remote_user="ann",
        become_password="pw",
    )
    assert len(one.fleet.targets) == 1
    target = one.fleet.targets[0]
    assert (target.user, target.become and target.become.user, target.become and target.become.password) == ("ann", "root", "pw")
    assert [step.user for step in one.fleet["h1"].steps] == ["ann", None, "svc"]


def test_every_way_of_sending_uses_the_same_agent(one: Project) -> None:
    one.play(
        """
    - {command: a}
    - {command: b, become: true, until: true}
    - {command: "{{ item }}", become: true, loop: [c, d], loop_control: {pause: 0}, when: item != 'c'}
    - {raw: e, become: true}
""",
        remote_user="ann",
    )
    assert len(one.fleet.targets) == 1
    assert [(step.params["cmd"], step.user) for step in one.fleet["h1"].steps] == [("a", "ann"), ("b", None), ("d", None)]


def test_no_become_means_the_login_user(one: Project) -> None:
    one.play("    - {command: login}\n", remote_user="ann")
    assert one.fleet.targets[0].become is None
    assert one.fleet["h1"].steps[0].user is None


def test_connection_variables(one: Project) -> None:
    one.inventory.add_host(
        "h1",
        [],
        {"ansible_host": "10.0.0.{{ n }}", "n": 7, "ansible_port": "2222", "ansible_user": "ann", "ansible_ssh_common_args": "-o X=1"},
    )
    one.play("    - {command: a}\n", head="  remote_user: bob\n")
    target = one.fleet.targets[0]
    assert (target.address, target.port, target.user, target.ssh_args) == ("10.0.0.7", 2222, "ann", "-o X=1")


def test_raw_needs_no_agent(one: Project) -> None:
    ran = one.play("    - {name: r, raw: which python3, register: r}\n    - {name: say, debug: {msg: '{{ r.stdout }}'}}\n")
    assert one.fleet.raws == [("h1", "which python3")]
    assert one.fleet.targets == []
    assert said(ran) == ["raw output\n"]


def test_later_plays_leave_out_failed_hosts(three: Project) -> None:
    three.fleet["h2"].answers["a"] = {"rc": 1}
    three.write(
        "site.yml",
        "- {hosts: nodes, gather_facts: false, tasks: [{command: a}]}\n- {hosts: nodes, gather_facts: false, tasks: [{command: b}]}\n",
    )
    three.run()
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a", "b"], ["a"], ["a", "b"]]


def test_template_files(one: Project) -> None:
    one.write("templates/x.j2", "{% for i in [1, 2] %}\n{{ i }} {{ name }}\n{% endfor %}\n")
    one.play("    - {template: {src: x.j2, dest: /x}}\n", head="  vars: {name: n}\n")
    assert one.fleet["h1"].files["/x"] == "1 n\n2 n\n"


def test_folders(one: Project) -> None:
    one.write("files/tree/a", "A")
    one.write("files/tree/sub/b", "B")
    one.play("    - {copy: {src: tree, dest: /top, mode: '0600'}}\n    - {copy: {src: tree/, dest: /flat}}\n")
    assert one.fleet["h1"].files == {
        "/top/tree/a": "A", "/top/tree/sub/b": "B", "/flat/a": "A", "/flat/sub/b": "B",
    }  # fmt: skip
    assert len(one.fleet["h1"].batches) == 1


def test_role_files_come_first(one: Project) -> None:
    one.write("files/f", "play")
    one.write("roles/r/files/f", "role")
    one.write("roles/r/tasks/main.yml", "- {copy: {src: f, dest: /f}}\n")
    one.write("site.yml", "- {hosts: nodes, gather_facts: false, roles: [r], tasks: [{copy: {src: f, dest: /g}}]}\n")
    one.run()
    assert one.fleet["h1"].files == {"/f": "role", "/g": "play"}


def test_end_role(one: Project) -> None:
    one.write("roles/r/tasks/main.yml", "- {command: a}\n- {meta: end_role, when: true}\n- {command: b}\n")
    one.write("site.yml", "- {hosts: nodes, gather_facts: false, roles: [r], tasks: [{command: c}]}\n")
    one.run()
    assert one.fleet["h1"].commands == ["a", "c"]


def test_pattern_that_cannot_be_rendered(one: Project) -> None:
    one.write("site.yml", "- {hosts: '{{ nowhere }}', tasks: []}\n")
    with pytest.raises(InputError):
        one.run()


def test_variables_of_the_host_a_task_is_delegated_to(three: Project) -> None:
    three.inventory.add_host("h2", ["nodes"], {"size": 8})
    ran = three.play(
        """
    - {name: say, debug: {msg: "{{ ansible_delegated_vars.h2.size }} {{ ansible_delegated_vars | length }}"}, delegate_to: h2}
    - {name: say, debug: {msg: "{{ ansible_delegated_vars[item] | length > 0 }}"}, delegate_to: "{{ item }}", loop: [h3, elsewhere]}
    - {name: say, debug: {msg: "{{ ansible_delegated_vars is defined }} {{ ansible_config_file }}"}}
""",
        limit="h1",
        config_file="/etc/ansible/ansible.cfg",
    )
    assert said(ran) == ["8 1", "true", "false", "False /etc/ansible/ansible.cfg"]


def test_defaults_of_groups_of_modules(one: Project) -> None:
    one.write(
        "collections/ansible_collections/ns/coll/meta/runtime.yml",
        """
action_groups:
  talk: [say, {metadata: {extend_group: [more, other.coll.gone]}}]
  more: [ansible.builtin.debug, {metadata: {extend_group: talk}}]
""",
    )
    ran = one.play(
        """
    - {name: say, debug: }
    - {name: say, debug: , module_defaults: {group/ns.coll.more: {msg: inner}}}
    - {name: say, debug: , module_defaults: [{debug: {msg: own}, group/ns.coll.talk: {msg: of the group}}]}
    - {name: say, debug: {msg: given}}
""",
        head="  module_defaults: {group/ns.coll.talk: {msg: outer}}\n",
    )
    assert said(ran) == ["outer", "inner", "own", "given"]
