"""What Ansible's own integration tests ask of the language, in our words: one test for each kind of fault they found."""

from __future__ import annotations

from tests.engine.fakes import Project, Ran


def statuses(ran: Ran) -> list[str]:
    return [step.status for step in ran.steps]


def test_add_host_takes_a_mapping_from_a_variable_and_no_bare_word(one: Project) -> None:
    ran = one.play(
        """
    - add_host: "{{ data }}"
    - {debug: {msg: "{{ hostvars.new.word }}"}}
    - {add_host: {name: "10.0.0.9:2222"}, register: port}
    - {assert: {that: port.add_host.host_vars.ansible_ssh_port == 2222}}
    - {add_host: bare, ignore_errors: true}
""",
        head="  vars: {data: {name: new, word: hello}}\n",
    )
    assert statuses(ran) == ["changed", "ok", "changed", "ok", "failed"]


def test_assert_takes_its_arguments_and_conditions_from_variables_of_people_only(one: Project) -> None:
    ran = one.play(
        """
    - assert: "{{ arguments }}"
    - {assert: {that: "{{ checks }}"}}
    - {assert: {that: "{{ '1 == 1' }}"}, ignore_errors: true, register: text}
    - {assert: {that: "{{ ['1 == 1'] }}"}, ignore_errors: true, register: listed}
    - assert: {that: ["'untrusted' in text.msg", "'untrusted' in listed.msg"]}
""",
        head="  vars: {arguments: {that: 1 == 1}, checks: [1 == 1, 2 == 2]}\n",
    )
    assert statuses(ran) == ["ok", "ok", "failed", "failed", "ok"]


def test_attempts_are_seen_by_failed_when_and_outlive_the_last_retry(one: Project) -> None:
    ran = one.play(
        """
    - {command: x, register: r, until: false, retries: 2, delay: 0, failed_when: r.attempts > 5, changed_when: false}
    - {assert: {that: r.attempts == 2}}
"""
    )
    assert statuses(ran) == ["ok", "ok"]


def test_false_condition_is_the_condition_as_written(one: Project) -> None:
    ran = one.play("\n    - {debug: {}, when: false, register: r}\n    - {assert: {that: r.false_condition == false}}\n")
    assert statuses(ran) == ["skipped", "ok"]


def test_omit_stands_for_nothing_in_environment_and_serial(one: Project) -> None:
    ran = one.play(
        "\n    - {command: x, environment: ['{{ omit }}', {A: '{{ omit }}', B: b}], check_mode: '{{ omit }}'}\n",
        head="  serial: '{{ none_such | default(omit) }}'\n",
    )
    assert statuses(ran) == ["changed"]


def test_names_that_templates_give_are_checked(one: Project) -> None:
    ran = one.play(
        """
    - {set_fact: {"{{ 'true' }}": 1}, ignore_errors: true, register: word}
    - {set_fact: {"{{ 1 }}": 1}, ignore_errors: true, register: number}
    - assert:
        that:
          - word.msg is search("Invalid variable name 'true'")
          - number.msg is search("Invalid variable name '1' of type 'int'")
"""
    )
    assert statuses(ran) == ["failed", "failed", "ok"]


def test_include_vars_reads_folders_in_order_and_says_why_not(one: Project) -> None:
    one.write("vars/all/a.yml", "x: 1\n")
    one.write("vars/env/dev/b.yml", "x: 2\n")
    one.write("vars/env/a.yml", "x: 3\n")
    one.write("vars/top.yml", "x: 4\n")
    ran = one.play(
        """
    - {include_vars: {dir: vars}, register: r}
    - {debug: {msg: "{{ r.ansible_included_var_files | map('basename') | join(' ') }} {{ x }}"}}
    - {include_vars: {file: "{{ [] }}"}, ignore_errors: true, register: lost}
    - {assert: {that: "'Could not find file' in lost.message"}}
"""
    )
    assert ran.steps[1].msg == "top.yml a.yml a.yml b.yml 2"
    assert statuses(ran)[2:] == ["failed", "ok"]


def test_lookups_find_files_beside_the_tasks_of_a_role(one: Project) -> None:
    one.write("roles/r/tasks/main.yml", "- include_tasks: \"{{ lookup('first_found', ['none.yml', 'inner.yml']) }}\"\n")
    one.write("roles/r/tasks/inner.yml", "- {name: inner, debug: {}}\n")
    ran = one.play("\n    - {import_role: {name: r}}\n")
    assert [step.task for step in ran.steps if step.task == "inner"] == ["inner"]


def test_a_failure_that_always_clears_does_not_end_the_play(one: Project) -> None:
    ran = one.play(
        """
    - block: [{fail: {}}]
      always: [{meta: clear_host_errors}]
    - {name: after, debug: {}}
"""
    )
    assert [(step.task, step.status) for step in ran.steps] == [("fail", "failed"), ("after", "ok")]
    assert ran.outcome.exit_code == 0


def test_what_stands_behind_an_end_may_be_wrong(one: Project) -> None:
    one.write("wrong.yml", "no tasks\n")
    ran = one.play("\n    - {fail: {}}\n    - {include_tasks: wrong.yml}\n")
    assert statuses(ran) == ["failed"]


def test_a_role_may_include_itself(one: Project) -> None:
    one.write("roles/r/tasks/main.yml", "- {include_role: {name: r, tasks_from: more}}\n")
    one.write("roles/r/tasks/more.yml", "- {name: more, debug: {}}\n- {include_role: {name: r}, when: false}\n")
    ran = one.play("\n    - {include_role: {name: r}}\n")
    assert [step.task for step in ran.steps if step.action == "debug"] == ["more"]


def test_apply_makes_all_tasks_inside_notify(one: Project) -> None:
    one.write("more.yml", "- {command: x}\n")
    ran = one.play(
        "\n    - {include_tasks: {file: more.yml, apply: {notify: hello}}}\n", head="  handlers: [{name: hello, debug: {msg: heard}}]\n"
    )
    assert ran.steps[-1].msg == "heard"


def test_results_say_what_conditions_and_failures_were(one: Project) -> None:
    ran = one.play(
        """
    - {command: x, changed_when: nope, ignore_errors: true, register: changed}
    - {command: x, failed_when: nope, ignore_errors: true, register: failed}
    - {fail: {}, failed_when: false, register: kept}
    - {fail: {}, ignore_errors: true, register: lost}
    - assert:
        that:
          - changed.changed_when_result is search('nope')
          - failed.failed_when_result is search('nope')
          - kept.failed_when_suppressed_exception is defined and kept.exception is undefined
          - lost.exception is defined
"""
    )
    assert statuses(ran)[-1] == "ok"


def test_assert_takes_its_arguments_from_a_written_loop(one: Project) -> None:
    ran = one.play("\n    - {assert: '{{ item }}', loop: [{that: 1 == 1}, {that: [item is mapping]}]}\n")
    assert statuses(ran) == ["ok", "ok"]


def test_set_fact_wins_over_a_result_that_was_registered_before(one: Project) -> None:
    ran = one.play(
        """
    - {command: x, register: word}
    - {set_fact: {word: later}}
    - {name: say, debug: {msg: "{{ word }}"}}
"""
    )
    assert ran.steps[-1].msg == "later"


def test_a_handler_that_failed_in_a_block_is_rescued_and_not_run_again(one: Project) -> None:
    ran = one.play(
        """
    - block:
        - {command: x, notify: h}
        - meta: flush_handlers
      rescue: [{name: say, debug: {msg: "{{ ansible_failed_task.name }}"}}]
""",
        head="  handlers: [{name: h, fail: {}}]\n",
    )
    assert [(step.task, step.status) for step in ran.steps] == [("command", "changed"), ("h", "failed"), ("say", "ok")]
    assert ran.steps[-1].msg == "h"
    assert ran.outcome.exit_code == 0


def test_the_first_handler_of_a_name_in_a_list_is_meant_with_all_that_listen(one: Project) -> None:
    ran = one.play(
        "\n    - {command: x, notify: h}\n",
        head="  handlers:\n    - {name: h, debug: {msg: first}}\n    - {name: h, debug: {msg: second}}\n"
        "    - {name: other, listen: h, debug: {msg: listens}}\n",
    )
    assert [step.msg for step in ran.steps[1:]] == ["first", "listens"]


def test_results_of_tasks_that_are_not_sound_say_so_and_people_read_the_reason(one: Project) -> None:
    ran = one.play(
        """
    - {name: bad, debug: {msg: "{{ nope }}"}, ignore_errors: true, register: a}
    - {name: bad when, debug: , when: nope, ignore_errors: true, register: b}
    - {name: asked, fail: {msg: x}, ignore_errors: true, register: c}
    - {assert: {that: [a.msg is match('Task failed:'), b.msg is match('Task failed:'), c.msg == 'x']}}
"""
    )
    assert statuses(ran)[-1] == "ok"
    assert (ran.of("bad").msg, ran.of("asked").msg) == ("'nope' is undefined", "x")
