"""Plans: what is certain, what is not, and why."""

from __future__ import annotations

from provisioner.errors import PlanMismatch
from provisioner.events import StepFinished
from provisioner.report.plan_view import unrun_text
from provisioner.values import Unknown
from tests.engine.fakes import Project


def test_results_of_commands_are_unknown_and_spread(one: Project) -> None:
    ran = one.play(
        """
    - {name: run, command: probe, register: r}
    - {name: cond, copy: {dest: /a, content: x}, when: r.rc == 0}
    - {name: text, copy: {dest: /b, content: "{{ r.stdout }}"}}
    - {name: sure, copy: {dest: /c, content: x}}
    - {name: never, copy: {dest: /d, content: x}, when: [r.rc == 0, false]}
    - {name: fact, set_fact: {k: "{{ r.stdout }}"}}
    - {name: loop, command: "{{ item }}", loop: "{{ r.stdout_lines }}"}
    - {name: say, debug: {msg: "{{ k }}"}}
    - {name: judge, assert: {that: k == 'x'}}
""",
        mode="plan",
    )
    assert {step.task: step.status for step in ran.steps} == {
        "run": "changed", "cond": "maybe", "text": "deferred", "sure": "changed", "never": "skipped", "fact": "ok", "loop": "deferred",
        "say": "ok", "judge": "deferred",
    }  # fmt: skip
    assert "running 'probe'" in ran.of("cond").reason
    assert "r.rc == 0" in ran.of("cond").reason
    assert ran.of("text").reason == "running 'probe'"
    assert ran.of("cond").changes[0]["certain"] is False
    assert "not known before apply" in ran.of("say").msg
    assert ran.outcome.exit_code == 0
    assert one.fleet["h1"].files == {}
    assert ran.outcome.document["schema"] == "provision.plan/1"
    assert ran.outcome.document["hosts"]["h1"]["unknown"] == 4
    sent = {str(step.params.get("dest")): step for step in one.fleet["h1"].steps}
    assert sent["/a"].maybe
    assert isinstance(sent["/b"].params["content"], Unknown)


def test_judging_what_is_unknown(one: Project) -> None:
    ran = one.play(
        """
    - {name: maybe, command: a, register: r, changed_when: r.rc == 2}
    - {name: quiet, command: b, register: r, changed_when: false}
    - {name: fails, command: c, register: r, failed_when: r.rc > 2}
    - {name: waits, command: d, register: r, until: r.rc == 0}
""",
        mode="plan",
    )
    assert [step.status for step in ran.steps] == ["maybe", "ok", "changed", "changed"]


def test_doubtful_branches(one: Project) -> None:
    one.write("inc.yml", "- {name: inside, copy: {dest: /in, content: x}}\n")
    ran = one.play(
        """
    - {command: probe, register: r}
    - {name: inc, include_tasks: inc.yml, when: r.rc == 0}
    - {set_fact: {k: new}, when: r.rc == 0}
    - {name: after, debug: {msg: "{{ k | default('none') }}"}}
    - {name: stop, fail: {msg: stop}, when: r.rc != 0}
    - {name: last, copy: {dest: /last, content: x}}
""",
        mode="plan",
    )
    assert ran.of("inside").status == "maybe"
    assert "not known" in ran.of("after").msg
    assert ran.of("stop").status == "maybe"
    assert ran.of("last").status == "changed"


def test_a_failure_in_a_plan_fails_the_host(one: Project) -> None:
    ran = one.play("    - {fail: {msg: no}}\n    - {command: a}\n", mode="plan")
    assert ran.outcome.exit_code == 2


def test_expect_can_stop_a_host(three: Project) -> None:
    def expect(step: StepFinished) -> None:
        if step.host == "h2" and step.task == "b":
            raise PlanMismatch("b was not planned")

    ran = three.play("    - {command: a}\n    - {name: b, command: b}\n    - {command: c, failed_when: '1 == 2'}\n", expect=expect)
    assert three.fleet["h2"].commands[:2] == ["a", "b"]
    assert three.fleet["h3"].commands == ["a", "b", "c"]
    assert ran.outcome.exit_code == 3


def test_addresses_are_stable_and_unique(one: Project) -> None:
    one.write("inc.yml", "- {name: i, debug: {msg: x}}\n")
    text = "    - {include_tasks: inc.yml, loop: [a, b]}\n    - {name: l, debug: {msg: x}, loop: [1, 1]}\n"
    plan, apply = one.play(text, mode="plan"), one.play(text)
    addresses = [step.address for step in plan.steps]
    assert addresses == [step.address for step in apply.steps]
    assert len(set(addresses)) == len(addresses)
    assert addresses[0] == "play[0]/site.yml:4#a"
    assert addresses[2] == "play[0]/inc.yml:1"


def test_commands_declared_to_change_nothing_are_counted_once_a_task(three: Project) -> None:
    tasks = """
    - {command: probe, changed_when: false}
    - {command: "{{ item }}", changed_when: false, loop: [a, b]}
    - {command: c, changed_when: false, when: false}
    - {command: d, changed_when: false, check_mode: false}
    - {command: e}
"""
    text = "2 commands declared to change nothing were not run by the plan (check_mode: false at the task lets it)"
    assert unrun_text(three.play(tasks, mode="plan").outcome.document["steps"]) == text
    assert unrun_text(three.play(tasks).outcome.document["steps"]) == ""
