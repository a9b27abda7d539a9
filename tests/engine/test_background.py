"""``async``: steps in the background, looked after or not, planned and made."""

from __future__ import annotations

import pytest

from provisioner.errors import HostUnreachable
from provisioner.events import Progress
from provisioner.plan.compare import Comparison
from provisioner.ports import Background
from tests.engine.fakes import Project

FORGET = """
    - {name: go, command: build, async: 60, poll: 0, register: job}
    - {name: meanwhile, command: other}
    - {name: look, async_status: {jid: "{{ job.ansible_job_id }}"}, register: seen, until: seen is finished, retries: 3, delay: 0}
    - {name: say, debug: {msg: "{{ [job is started, job is finished, seen is finished, seen.cmd, seen.attempts] | to_json }}"}}
"""


def test_fire_and_forget_then_look(one: Project) -> None:
    ran = one.play(FORGET)
    node = one.fleet["h1"]
    assert [step.background for step in node.steps[:2]] == [Background(60.0, "~/.ansible_async"), None]
    assert node.batches[0][1].params["cmd"] == "other", "starting a job is no reason to wait"
    assert ran.of("go").status == "changed"
    assert "j1.1" in ran.of("go").msg
    assert ran.of("say").msg == '[true, false, true, "build", 2]'
    assert ran.of("look").changes[0]["target"] == "build", "what the job did is told where it is heard of"


def test_a_plan_shows_what_the_job_would_do_and_starts_none(one: Project) -> None:
    ran = one.play(FORGET, mode="plan")
    assert {step.task: step.status for step in ran.steps} == {"go": "maybe", "meanwhile": "changed", "look": "deferred", "say": "ok"}
    assert [(change["target"], change["certain"]) for change in ran.of("go").changes] == [("build", False)]
    assert "background" in ran.of("go").reason
    assert "not known before apply" in ran.of("say").msg
    assert one.fleet["h1"].jobs == {}


def test_what_was_planned_may_be_applied(one: Project) -> None:
    planned = one.play(FORGET, mode="plan").outcome.document["steps"]
    comparison = Comparison(planned)
    made = one.play(FORGET).outcome.document["steps"]
    assert [comparison.check(step) for step in made] == [None] * len(made)
    assert comparison.unmade(["h1"]) == []


def test_a_job_that_is_looked_after(one: Project) -> None:
    one.fleet["h1"].answers = {"bad": {"rc": 3}}
    ran = one.play(
        """
    - {name: good, command: good, async: 9, poll: 1, register: r}
    - {name: bad, command: bad, async: 9, ignore_errors: true, until: r is success, retries: 1, delay: 0, register: r2}
    - {name: loop, command: "{{ item }}", async: 9, poll: 5, loop: [a, b], register: l}
    - {name: say, debug: {msg: "{{ [r.cmd, r is finished, r2.rc, r2.attempts, l.results | map(attribute='cmd')] | to_json }}"}}
"""
    )
    assert [step.status for step in ran.steps] == ["changed", "failed", "changed", "changed", "ok"]
    assert ran.of("say").msg == '["good", true, 3, 1, ["a", "b"]]'
    assert ran.of("good").changes[0]["target"] == "good"
    assert one.fleet["h1"].jobs == {}, "nothing is left of jobs that somebody waited for"
    assert any("in the background" in event.text for event in ran.events_of(Progress))


def test_a_job_that_is_looked_after_is_planned_like_any_step(one: Project) -> None:
    ran = one.play("    - {name: go, command: build, async: 60, poll: 2, register: r}\n", mode="plan")
    assert (ran.of("go").status, ran.of("go").changes[0]["certain"]) == ("changed", True)


def test_the_node_may_be_out_of_reach_meanwhile(one: Project) -> None:
    node, lost = one.fleet["h1"], list[object]()

    def lose(step: object) -> None:
        if getattr(step, "module", "") == "async_status" and not lost:
            lost.append(step)
            raise HostUnreachable("the network is being restarted")

    node.before = lose
    ran = one.play("    - {name: go, command: netplan apply, async: 60, poll: 1}\n")
    assert (len(lost), ran.of("go").status) == (1, "changed")
    assert len(one.fleet.targets) == 2


@pytest.mark.parametrize("task", ["set_fact: {a: b}", "debug: {msg: x}", "raw: x", "fetch: {src: /a, dest: /b}", "pause: {seconds: 1}"])
def test_what_the_controller_does_has_no_background(one: Project, task: str) -> None:
    ran = one.play(f"    - {{name: t, {task}, async: 5, poll: 0}}\n")
    assert ran.of("t").status == "failed"
    assert ran.of("t").msg == f"This action ({task.partition(':')[0]}) does not support async."


def test_the_folder_and_the_pauses_are_settings(one: Project) -> None:
    one.play(
        """
    - {command: a, async: 5, poll: 0, register: j, vars: {ansible_async_dir: /srv/jobs}}
    - {async_status: {jid: "{{ j.ansible_job_id }}"}, vars: {ansible_async_dir: /srv/jobs}}
    - {command: b, async: 0, poll: 0}
    - {command: c, async: "{{ 3 }}", poll: "{{ 0 }}"}
""",
        async_dir="/var/jobs",
        poll_interval=0.01,
    )
    steps = one.fleet["h1"].steps
    assert [step.background for step in steps] == [Background(5.0, "/srv/jobs"), None, None, Background(3.0, "/var/jobs")]
    assert steps[1].params["folder"] == "/srv/jobs"


def test_check_mode_on_the_task_starts_a_job_that_plans(one: Project) -> None:
    one.play("    - {command: a, async: 5, poll: 0, check_mode: true}\n")
    assert [(step.trial, step.background is not None) for step in one.fleet["h1"].steps] == [(True, True)]
