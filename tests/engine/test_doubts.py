"""Blocks with rescue in a plan: what only the apply can tell to fail or not leaves the plan true either way."""

from __future__ import annotations

import copy

import pytest

from provisioner.plan.compare import Comparison
from tests.engine.fakes import Project, Ran

PROBE_BLOCK = """
    - block:
        - {name: before, copy: {dest: /before, content: x}}
        - {name: probe, command: probe, changed_when: false}
        - {name: behind, copy: {dest: /behind, content: x}}
      rescue:
        - {name: mend, copy: {dest: /mark, content: x}, notify: restart}
        - {name: say, debug: {msg: "{{ ansible_failed_task.name }}"}}
      always:
        - {name: always, copy: {dest: /always, content: x}}
    - {name: after, copy: {dest: /after, content: x}}
"""
HEAD = "  handlers: [{name: restart, copy: {dest: /restarted, content: x}}]\n"


def statuses(ran: Ran, host: str = "h1") -> dict[str, str]:
    return {step.task: step.status for step in ran.steps if step.host == host}


def holds(project: Project, tasks: str, head: str = "", **failing: list[str]) -> dict[str, dict[str, str]]:
    """Plan, then apply with these commands failing on these hosts: no step may be a mismatch; gives the plan's statuses of each host."""
    planned = project.play(tasks, head=head, mode="plan")
    comparison = Comparison(copy.deepcopy(planned.outcome.document["steps"]))
    for host, commands in failing.items():
        project.fleet[host].answers.update({line: {"rc": 1} for line in commands})
    made = project.play(tasks, head=head)
    assert [found for step in made.outcome.document["steps"] if (found := comparison.check(step))] == []
    through = [name for name, counts in made.outcome.document["hosts"].items() if not counts["failed"]]
    assert comparison.unmade(through) == []
    return {host: statuses(planned, host) for host in project.fleet.nodes}


@pytest.mark.parametrize("failing", [[], ["probe"]])
def test_a_rescue_behind_a_probe_is_planned_as_maybe(one: Project, failing: list[str]) -> None:
    planned = holds(one, PROBE_BLOCK, HEAD, h1=failing)["h1"]
    assert planned == {
        "before": "changed", "probe": "ok", "behind": "maybe", "mend": "maybe", "say": "ok", "always": "changed", "after": "changed",
        "restart": "maybe",
    }  # fmt: skip
    assert ("/mark" in one.fleet["h1"].files) == bool(failing)


def test_reasons_name_the_task_that_may_fail(one: Project) -> None:
    ran = one.play(PROBE_BLOCK, head=HEAD, mode="plan")
    assert ran.of("behind").reason == "only if 'probe' succeeds"
    assert ran.of("mend").reason == "only if 'probe' fails"
    assert "only if 'probe' fails" in ran.of("say").msg


def test_what_cannot_fail_needs_no_rescue(one: Project) -> None:
    """Also what is tolerated, or only tried in the apply, too."""
    one.fleet["h1"].files["/same"] = "x"
    ran = one.play(
        """
    - block:
        - {name: a, copy: {dest: /a, content: x}}
        - {name: same, copy: {dest: /same, content: x}}
        - {name: ignored, command: probe, ignore_errors: true, register: r}
        - {name: never, command: probe, failed_when: false}
        - {name: tried, command: probe, check_mode: true}
        - {name: b, copy: {dest: /b, content: x}}
      rescue: [{name: mend, copy: {dest: /mark, content: x}}]
    - {name: mended, copy: {dest: /mended, content: x}, when: r is failed}
""",
        mode="plan",
    )
    assert statuses(ran)["b"] == "changed"
    assert "mend" not in statuses(ran)
    assert statuses(ran)["mended"] == "maybe"


@pytest.mark.parametrize(
    "task",
    [
        "command: probe",
        "{command: probe, register: r, failed_when: r.rc > 3}",
        "{assert: {that: p.rc == 0}}",
        "{fail: {msg: no}, when: p.rc != 0}",
        '{copy: {dest: /z, content: "{{ p.stdout }}"}}',
        '{command: "{{ item }}", loop: [a, b]}',
    ],
)
def test_every_way_not_to_know_of_a_failure(one: Project, task: str) -> None:
    text = task if task.startswith("{") else f"{{{task}}}"
    ran = one.play(
        f"    - {{command: ask, register: p}}\n    - block: [{text}]\n      rescue: [{{name: mend, copy: {{dest: /m, content: x}}}}]\n",
        mode="plan",
    )
    assert statuses(ran)["mend"] == "maybe"


NESTED = """
    - block:
        - block: [{name: inner, command: inner}]
          always: [{name: cleanup, copy: {dest: /cleanup, content: x}}]
        - {name: behind, copy: {dest: /behind, content: x}}
      rescue:
        - block: [{name: second, command: second}]
          rescue: [{name: third, copy: {dest: /third, content: x}}]
        - {name: last, copy: {dest: /last, content: x}}
    - {name: after, copy: {dest: /after, content: x}}
"""


@pytest.mark.parametrize("failing", [[], ["inner"], ["inner", "second"]])
def test_blocks_in_blocks(one: Project, failing: list[str]) -> None:
    planned = holds(one, NESTED, h1=failing)["h1"]
    assert planned == {
        "inner": "changed", "cleanup": "changed", "behind": "maybe", "second": "maybe", "third": "maybe", "last": "maybe",
        "after": "changed",
    }  # fmt: skip


SHARED = """
    - block:
        - {{name: probe, command: probe, changed_when: false, {keyword}}}
        - {{name: behind, copy: {{dest: /behind, content: x}}}}
      rescue: [{{name: mend, copy: {{dest: /mark, content: x}}}}]
"""


@pytest.mark.parametrize("keyword", ["run_once: true", "any_errors_fatal: true, when: inventory_hostname == 'h1'"])
@pytest.mark.parametrize("failing", [[], ["probe"]])
def test_a_doubt_that_concerns_all_hosts(three: Project, keyword: str, failing: list[str]) -> None:
    planned = holds(three, SHARED.format(keyword=keyword), h1=failing)
    for host in ("h1", "h2", "h3"):
        assert (planned[host]["behind"], planned[host]["mend"]) == ("maybe", "maybe")


def test_a_doubt_is_one_hosts_alone(three: Project) -> None:
    planned = holds(three, SHARED.format(keyword="when: inventory_hostname == 'h1'"), h1=["probe"])
    assert planned["h1"]["mend"] == "maybe"
    assert planned["h2"]["behind"] == "changed"
    assert "mend" not in planned["h2"]


def test_includes_and_variables_of_a_rescue(one: Project) -> None:
    one.write("inc.yml", "- {name: inside, copy: {dest: /in, content: x}}\n- {set_fact: {mended: true}}\n")
    tasks = """
    - block: [{command: probe}, {set_fact: {fine: true}}]
      rescue: [{include_tasks: inc.yml}]
    - {name: if fine, copy: {dest: /fine, content: x}, when: fine | default(false)}
    - {name: if mended, copy: {dest: /mended, content: x}, when: mended | default(false)}
"""
    planned = holds(one, tasks, h1=["probe"])["h1"]
    assert (planned["inside"], planned["if fine"], planned["if mended"]) == ("maybe", "maybe", "maybe")
