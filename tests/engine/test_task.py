"""The life of a task: when, loop, register, changed_when, failed_when, until, arguments."""

from __future__ import annotations

from tests.engine.fakes import Project


def test_runs_and_registers(one: Project) -> None:
    one.fleet["h1"].answers["uptime"] = {"stdout": "up 3 days"}
    ran = one.play(
        """
    - command: uptime
      register: up
    - name: say
      debug: {msg: "{{ up.stdout }}"}
    - name: not now
      command: "false"
      when: "'weeks' in up.stdout"
"""
    )
    assert ran.outcome.exit_code == 0
    assert ran.shown() == ["h1 command changed", "h1 say ok", "h1 not now skipped"]
    assert ran.of("say").msg == "up 3 days"
    assert ran.outcome.document["hosts"]["h1"] == {
        "ok": 2, "changed": 1, "failed": 0, "skipped": 1, "unreachable": 0, "unknown": 0, "rescued": 0, "ignored": 0,
    }  # fmt: skip


def test_failure_ends_the_host(three: Project) -> None:
    three.fleet["h2"].answers["go"] = {"rc": 3, "stderr": "no"}
    ran = three.play(
        """
    - command: go
    - command: further
"""
    )
    assert ran.outcome.exit_code == 2
    assert three.fleet["h1"].commands == ["go", "further"]
    assert three.fleet["h2"].commands == ["go"]
    assert [step.host for step in ran.steps if step.status == "failed"] == ["h2"]
    # together, in play order
    assert ran.shown()[:3] == ["h1 command changed", "h2 command failed", "h3 command changed"]


def test_loop_shares_one_trip_and_goes_on_after_a_failed_item(one: Project) -> None:
    ran = one.play(
        """
    - name: each
      command: "{{ item }}"
      loop: [one, "false 2", three]
      register: r
      ignore_errors: true
    - debug: {msg: "{{ r.results | map(attribute='rc') | list }} {{ r.failed }} {{ r.msg }}"}
"""
    )
    assert one.fleet["h1"].commands == ["one", "false 2", "three"]
    assert len(one.fleet["h1"].batches) == 2
    assert ran.shown()[:3] == ["h1 each[one] changed", "h1 each[false 2] failed", "h1 each[three] changed"]
    assert ran.steps[-1].msg == "[0, 1, 0] True One or more items failed"
    assert ran.outcome.document["hosts"]["h1"]["ignored"] == 1
    assert ran.outcome.exit_code == 0


def test_loop_names_and_extended(one: Project) -> None:
    ran = one.play(
        """
    - name: each
      debug: {msg: "{{ i }} {{ thing.n }} {{ ansible_loop.last }} {{ ansible_loop.previtem.n | default('-') }}"}
      loop: [{n: a}, {n: b}]
      loop_control: {loop_var: thing, index_var: i, extended: true, label: "{{ thing.n }}"}
"""
    )
    assert [(step.item, step.msg) for step in ran.steps] == [("a", "0 a False -"), ("b", "1 b True a")]


def test_empty_loop_is_skipped(one: Project) -> None:
    ran = one.play(
        """
    - name: none
      command: "{{ item }}"
      loop: []
      register: r
    - debug: {msg: "{{ r is skipped }} {{ r.results }}"}
"""
    )
    assert ran.of("none").status == "skipped"
    assert ran.steps[-1].msg == "True []"


def test_with_items_flattens(one: Project) -> None:
    ran = one.play(
        """
    - debug: {msg: "{{ item }}"}
      with_items: [[1, 2], 3]
    - debug: {msg: "{{ item.key }}={{ item.value }}"}
      with_dict: {a: 1}
"""
    )
    assert [step.msg for step in ran.steps] == ["1", "2", "3", "a=1"]


def test_loop_over_undefined_is_no_mistake_where_the_task_does_not_apply(one: Project) -> None:
    ran = one.play(
        """
    - name: skipped
      command: "{{ item }}"
      loop: "{{ nothing }}"
      when: false
    - name: wrong
      command: "{{ item }}"
      loop: "{{ nothing }}"
"""
    )
    assert ran.of("skipped").status == "skipped"
    assert ran.of("wrong").status == "failed"
    assert "'nothing' is undefined" in ran.of("wrong").msg


def test_changed_when_and_failed_when(one: Project) -> None:
    one.fleet["h1"].answers.update({"a": {"stdout": "same"}, "b": {"rc": 2}, "c": {"stdout": "ERROR"}})
    ran = one.play(
        """
    - {name: a, command: a, register: r, changed_when: "'new' in r.stdout"}
    - {name: b, command: b, register: r, failed_when: "r.rc not in [0, 2]"}
    - {name: never, command: "false", failed_when: false, changed_when: false}
    - {name: c, command: c, register: r, failed_when: "'ERROR' in r.stdout"}
    - {name: d, command: d}
"""
    )
    assert ran.shown() == ["h1 a ok", "h1 b changed", "h1 never ok", "h1 c failed"]
    assert one.fleet["h1"].commands == ["a", "b", "false", "c"]
    assert [step.quiet for step in one.fleet["h1"].steps] == [False, False, True, False]


def test_until_tries_again(one: Project) -> None:
    one.fleet["h1"].answers["up"] = [{"rc": 1}, {"rc": 1}, {"rc": 0, "stdout": "yes"}]
    ran = one.play(
        """
    - {name: wait, command: up, register: r, until: r.rc == 0, retries: 5, delay: 0}
    - debug: {msg: "{{ r.attempts }}"}
    - {name: never, command: "false", register: r, until: r.rc == 0, retries: 2, delay: 0}
"""
    )
    assert ran.of("wait").status == "changed"
    assert ran.of("wait").attempts == 3
    assert ran.steps[1].msg == "3"
    assert ran.of("never").status == "failed"
    assert one.fleet["h1"].commands == ["up"] * 3 + ["false"] * 3


def test_omit_defaults_and_templates_in_arguments(one: Project) -> None:
    one.play(
        """
    - copy: {dest: /a, content: x, mode: "{{ m | default(omit) }}", owner: "{{ who }}"}
      vars: {who: me}
""",
        head="  module_defaults: {copy: {group: staff, owner: nobody}}\n",
    )
    params = one.fleet["h1"].steps[0].params
    assert params["owner"] == "me"
    assert params["group"] == "staff"
    assert "mode" not in params


def test_registered_skip_says_where_it_came_from(one: Project) -> None:
    ran = one.play(
        """
    - {name: first, command: echo hi, register: r}
    - {name: second, command: echo ho, register: r, when: false}
    - {name: use, debug: {msg: "{{ r.stdout }}"}}
"""
    )
    message = ran.of("use").msg
    assert "'stdout'" in message
    assert "r was set last by task 'second' (skipped" in message
    assert "site.yml:6" in message


def test_data_of_nodes_is_never_a_template(one: Project) -> None:
    text = "{{.State}} {# c #} {% raw"
    one.fleet["h1"].answers["cat"] = {"stdout": text}
    one.play(
        """
    - {command: cat, register: r}
    - set_fact: {a: "{{ r.stdout }}"}
    - set_fact: {b: "{{ a }}"}
    - set_fact: {c: "{{ b }}"}
    - copy: {content: "{{ item }}", dest: /out}
      loop: ["{{ c }}"]
      when: "'.State' in c"
"""
    )
    assert one.fleet["h1"].files["/out"] == text


def test_no_log_hides_everything(one: Project) -> None:
    one.fleet["h1"].answers["get"] = {"stdout": "s3cret"}
    ran = one.play(
        """
    - {name: hidden, command: get, register: r, no_log: true, loop: [s3cret]}
    - {name: shown, debug: {msg: "{{ r.results[0].stdout | length }}"}}
    - {name: bad, command: "false s3cret", no_log: true}
"""
    )
    assert ran.of("shown").msg == "6"
    assert "s3cret" not in repr([step for step in ran.steps if step.task != "shown"])


def test_environment_timeout_and_check_mode(one: Project) -> None:
    one.play(
        """
    - {command: a, environment: {X: "{{ 1 + 1 }}"}, timeout: 9, check_mode: true, diff: true}
    - {command: b, check_mode: false}
""",
        head="  environment: {Y: z}\n",
    )
    first, second = one.fleet["h1"].steps
    assert (dict(first.environment), first.timeout, first.trial, first.diff) == ({"X": "2", "Y": "z"}, 9.0, True, True)
    assert (second.real, second.trial) == (True, False)


def test_assert_fail_and_bad_arguments(three: Project) -> None:
    ran = three.play(
        """
    - assert: {that: [1 == 1, "inventory_hostname != 'h2'"], fail_msg: not two}
    - fail: {msg: enough}
      when: inventory_hostname == 'h1'
    - copy: {dest: /x, src: "{{ omit }}"}
"""
    )
    failed = {step.host: step.msg for step in ran.steps if step.status == "failed"}
    assert failed["h2"] == "not two"
    assert failed["h1"] == "enough"
    assert "src" in failed["h3"]


def test_nothing_from_elsewhere_is_evaluated(one: Project) -> None:
    evil = "{{ lookup('pipe', 'echo evaluated') }}"
    one.fleet["h1"].answers["get"] = {"stdout": evil}
    one.write("more.yml", "m: {b: 2}\n")
    ran = one.play(
        """
    - {command: get, register: r}
    - {add_host: {name: h9, word: "{{ r.stdout }}"}}
    - {set_fact: {m: {a: "{{ r.stdout }}"}}}
    - {include_vars: {file: more.yml, hash_behaviour: merge}}
    - {debug: {var: "{{ r.stdout[3:-3] }}"}}
    - {debug: {msg: "{{ hostvars.h9.word }}"}}
    - {debug: {msg: "{{ vars.m.a }}"}}
    - {debug: {msg: "{{ lookup('vars', 'm').a }}"}}
"""
    )
    shown = [step.msg for step in ran.steps if step.action == "debug"]
    assert shown == ["{{ r.stdout[3:-3] }} = lookup('pipe', 'echo evaluated')", evil, evil, evil]
