"""How many round trips a host costs, and what is never sent ahead of its turn."""

from __future__ import annotations

import pytest

from provisioner.errors import NodeLocked
from provisioner.events import HostLost, TaskFinished
from tests.engine.fakes import Project


def trips(project: Project, host: str = "h1") -> list[list[str]]:
    """The module and command of each step, by round trip."""
    return [
        [str(step.params.get("cmd") or step.params.get("_raw_params") or step.module) for step in batch]
        for batch in project.fleet[host].batches
    ]


def test_independent_tasks_go_together(one: Project) -> None:
    one.play(
        """
    - {command: a, register: r}
    - {copy: {dest: /x, content: "{{ v }}"}, vars: {v: 1}}
    - debug: {msg: hi}
    - {command: b, when: v is not defined}
    - set_fact: {k: 1}
    - {command: "c{{ k }}"}
    - {command: "{{ r.rc }}"}
"""
    )
    assert trips(one) == [["a", "copy", "b", "c1"], ["0"]]


def test_a_play_without_changes_costs_one_trip_after_facts(one: Project) -> None:
    one.fleet["h1"].facts["distribution"] = "Debian"
    one.write(
        "site.yml",
        """
- hosts: nodes
  tasks:
    - {copy: {dest: /a, content: x}, notify: h}
    - {command: b, when: ansible_distribution == 'Debian', changed_when: false}
    - {command: c, changed_when: false}
  handlers:
    - {name: h, command: handler}
""",
    )
    one.run()
    one.fleet["h1"].batches.clear()
    ran = one.run()
    assert trips(one) == [["setup", "copy"], ["b", "c"]]
    assert ran.outcome.document["stats"]["changed"] == 0


def test_a_failure_takes_back_what_was_prepared_ahead(one: Project) -> None:
    ran = one.play(
        """
    - block:
        - {command: "false"}
        - {name: skipped, command: x, when: false, register: r}
        - set_fact: {k: new}
        - {name: later, command: y, register: later}
      rescue:
        - name: look
          debug:
            msg: >-
              {{ r is defined }} {{ k | default('old') }} {{ later is defined }}
              {{ ansible_failed_result.rc }} {{ ansible_failed_task.action }}
"""
    )
    assert ran.shown() == ["h1 command failed", "h1 look ok"]
    assert ran.of("look").msg == "False old False 1 command"
    assert ran.steps[0].rescued
    assert ran.outcome.exit_code == 0
    assert ran.outcome.document["hosts"]["h1"]["rescued"] == 1


def test_a_block_with_rescue_does_not_rescue_what_stands_before_it(one: Project) -> None:
    ran = one.play(
        """
    - {command: "false"}
    - block: [{command: x}]
      rescue: [{command: rescue}]
      always: [{command: always}]
"""
    )
    assert one.fleet["h1"].commands == ["false"]
    assert ran.outcome.exit_code == 2


def test_ignored_failures_do_not_stop_what_is_queued_behind(one: Project) -> None:
    ran = one.play(
        """
    - {command: "false", ignore_errors: true}
    - {command: b}
    - {command: c}
"""
    )
    assert trips(one) == [["false", "b", "c"], ["b", "c"]]
    assert one.fleet["h1"].commands == ["false", "b", "c"]
    assert ran.outcome.exit_code == 0


def test_failed_when_is_decided_before_anything_else_runs(one: Project) -> None:
    one.play(
        """
    - {command: a, register: r, failed_when: "'x' in r.stdout"}
    - {command: b, failed_when: false}
    - {command: c}
"""
    )
    assert trips(one) == [["a"], ["b", "c"]]


def test_names_set_again_do_not_reach_back(one: Project) -> None:
    one.fleet["h1"].answers["a"] = {"stdout": "one"}
    ran = one.play(
        """
    - set_fact: {word: one}
    - {name: a, command: a, register: r, changed_when: r.stdout == word}
    - set_fact: {word: two}
    - {name: b, command: b, register: r}
    - {name: c, command: "{{ word }}{{ r.rc }}"}
"""
    )
    assert ran.of("a").status == "changed"
    assert one.fleet["h1"].commands == ["a", "b", "two0"]


def test_set_fact_in_a_loop_sees_the_round_before(one: Project) -> None:
    ran = one.play(
        """
    - {command: a, register: r}
    - set_fact: {found: "{{ found | default([]) + [item ~ r.rc] }}"}
      loop: [x, y]
    - debug: {msg: "{{ found | join(',') }}"}
"""
    )
    assert ran.steps[-1].msg == "x0,y0"
    assert trips(one) == [["a"]]


def test_large_contents_go_as_references(one: Project) -> None:
    one.write("files/big", "x" * 100_000)
    one.write("files/small", "tiny")
    one.play(
        """
    - {copy: {src: big, dest: /big}}
    - {copy: {src: small, dest: /small}}
"""
    )
    assert one.fleet["h1"].files["/big"] == "x" * 100_000
    assert isinstance(one.fleet["h1"].steps[0].params["content"], dict)
    assert one.fleet["h1"].steps[0].params["src"] == "big"


@pytest.mark.parametrize("extra", ["loop_control: {pause: 0.01}", "until: true\n      delay: 0"])
def test_loops_that_wait_go_one_by_one(one: Project, extra: str) -> None:
    one.play(
        f"""
    - command: "{{{{ item }}}}"
      loop: [a, b]
      {extra}
    - command: c
"""
    )
    assert trips(one) == [["a"], ["b"], ["c"]]


def test_break_when_ends_a_loop(one: Project) -> None:
    one.fleet["h1"].answers["b"] = {"stdout": "stop"}
    ran = one.play(
        """
    - name: each
      command: "{{ item }}"
      loop: [a, b, c]
      register: r
      loop_control: {break_when: ["r.stdout == 'stop'"]}
    - debug: {msg: "{{ r.results | length }}"}
"""
    )
    assert one.fleet["h1"].commands == ["a", "b"]
    assert ran.steps[-1].msg == "2"
    assert len(ran.events_of(TaskFinished)) == 2


def test_a_task_skipped_behind_queued_ones_is_registered_in_its_turn(one: Project) -> None:
    one.play(
        """
    - command: a
    - {command: b, when: false, register: skipped}
    - {command: "{{ skipped is skipped }} {{ skipped.changed }}"}
"""
    )
    assert trips(one) == [["a"], ["True False"]]


def test_how_a_host_was_lost(three: Project) -> None:
    """Another run holds it, or it cannot be reached; what is cut off while the run stops was not out of reach."""
    held = NodeLocked("another run holds this node: ann@laptop")

    def refuse(_step: object) -> None:
        raise held

    three.fleet["h1"].before = refuse
    three.fleet["h2"].down = True
    ran = three.play("    - {command: a}\n")
    assert {event.host: event.kind for event in ran.events_of(HostLost)} == {"h1": "locked", "h2": "unreachable"}
    assert {one["host"]: one["kind"] for one in ran.outcome.document["lost"]} == {"h1": "locked", "h2": "unreachable"}
    assert ran.outcome.exit_code == 4
