"""Handlers: who runs, when, how often, and that none is lost."""

from __future__ import annotations

import pytest

from provisioner.errors import HostUnreachable
from provisioner.events import HandlerNotified, RunFinished, Warned
from tests.engine.fakes import Project

CONF = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: conf, copy: {dest: /etc/demo.conf, content: new}, notify: restart demo}
    - {name: breaks, command: "%s"}
  handlers:
    - {name: restart demo, command: restart}
"""


def test_once_in_order_of_definition(one: Project) -> None:
    one.play(
        """
    - {command: a, notify: [second, first]}
    - {command: b, notify: second}
    - {command: c, notify: silent, changed_when: false}
""",
        head="""  handlers:
    - {name: first, command: H1}
    - {name: second, command: H2}
    - {name: silent, command: H3}
""",
    )
    assert one.fleet["h1"].commands == ["a", "b", "c", "H1", "H2"]


def test_topics_templated_names_and_chains(one: Project) -> None:
    one.play(
        """
    - {command: a, notify: "restart {{ svc }}"}
    - {command: b, notify: web}
""",
        head="""  vars: {svc: demo}
  handlers:
    - {name: early, command: H0}
    - {name: "restart {{ svc }}", command: H1, notify: [early, late]}
    - {name: x, command: H2, listen: web}
    - {name: y, command: H3, listen: [web, other]}
    - {name: late, command: H4}
""",
    )
    assert one.fleet["h1"].commands == ["a", "b", "H1", "H2", "H3", "H4", "H0"]


def test_flush_points(one: Project) -> None:
    one.write(
        "site.yml",
        """
- hosts: nodes
  gather_facts: false
  pre_tasks: [{command: pre, notify: h}]
  tasks:
    - {command: t1, notify: h}
    - meta: flush_handlers
    - {command: t2, notify: h}
  post_tasks: [{command: post, notify: h}]
  handlers: [{name: h, command: H}]
""",
    )
    one.run()
    assert one.fleet["h1"].commands == ["pre", "H", "t1", "H", "t2", "H", "post", "H"]


def test_handlers_of_roles_and_qualified_names(one: Project) -> None:
    for role in ("a", "b"):
        one.write(f"roles/{role}/tasks/main.yml", f"- {{command: task {role}, notify: restart}}\n")
        one.write(f"roles/{role}/handlers/main.yml", f"- {{name: restart, command: H {role}}}\n")
    one.write("site.yml", "- {hosts: nodes, gather_facts: false, roles: [a, b], tasks: [{command: t, notify: 'a : restart'}]}\n")
    one.run()
    assert one.fleet["h1"].commands == ["task a", "task b", "t", "H a", "H b"]


def test_missing_handler_fails_the_task(one: Project) -> None:
    ran = one.play(
        """
    - {name: t, command: a, notify: "{{ 'restrat' }}"}
""",
        head="  handlers: [{name: restart, command: H}]\n",
    )
    assert ran.outcome.exit_code == 2
    assert "did you mean 'restart'?" in ran.steps[-1].msg


def test_a_failure_between_change_and_restart_is_made_good_by_the_next_run(one: Project) -> None:
    one.write("site.yml", CONF % "false")
    first = one.run()
    assert first.outcome.exit_code == 2
    assert one.fleet["h1"].commands == ["false"]
    assert one.fleet["h1"].noted == {"restart demo": None}
    finished = first.events_of(RunFinished)[0]
    assert finished.pending == {"h1": ("restart demo",)}
    assert first.outcome.document["pending_handlers"] == {"h1": ["restart demo"]}

    one.write("site.yml", CONF % "true")
    plan = one.run(mode="plan")
    assert plan.of("restart demo").status == "changed"
    assert "an earlier run" in plan.of("restart demo").reason

    one.fleet["h1"].steps.clear()
    second = one.run()
    assert second.of("conf").status == "ok"
    assert one.fleet["h1"].commands == ["true", "restart"]
    assert one.fleet["h1"].noted == {}
    one.fleet["h1"].steps.clear()
    third = one.run()
    assert one.fleet["h1"].commands == ["true"]
    assert third.outcome.exit_code == 0


def test_force_handlers(one: Project) -> None:
    one.write("site.yml", CONF.replace("  tasks:", "  force_handlers: true\n  tasks:") % "false")
    ran = one.run()
    assert ran.outcome.exit_code == 2
    assert one.fleet["h1"].commands == ["false", "restart"]
    assert one.fleet["h1"].noted == {}


def test_failing_handler_stays_noted(one: Project) -> None:
    ran = one.play(
        """
    - {command: a, notify: [bad, good]}
""",
        head="""  handlers:
    - {name: bad, command: "false"}
    - {name: good, command: fine}
""",
    )
    assert ran.outcome.exit_code == 2
    assert list(one.fleet["h1"].noted) == ["bad", "good"]


def test_plan_says_why_handlers_run(one: Project) -> None:
    one.fleet["h1"].files["/same"] = "x"
    ran = one.play(
        """
    - {name: conf, copy: {dest: /etc/demo.conf, content: x}, notify: restart}
    - {name: same, copy: {dest: /same, content: x}, notify: other}
    - {name: ask, command: ask, register: r}
    - {name: perhaps, copy: {dest: /p, content: x}, notify: perhaps, when: r.stdout == 'x'}
""",
        head="""  handlers:
    - {name: restart, command: H1}
    - {name: other, command: H2}
    - {name: perhaps, command: H3}
""",
        mode="plan",
    )
    assert ran.of("restart").status == "changed"
    assert ran.of("restart").reason == "because of /etc/demo.conf"
    assert "other" not in [step.task for step in ran.steps]
    assert [step.status for step in ran.steps if step.task == "perhaps"] == ["maybe", "maybe"]
    assert [event.certain for event in ran.events_of(HandlerNotified)] == [True, False]


def test_a_run_cut_off_inside_a_batch_loses_no_handler(one: Project) -> None:
    """The controller never hears of the change; its step had the handler noted on the node."""
    one.fleet["h1"].answers["dies"] = HostUnreachable("the connection was lost")
    one.write("site.yml", CONF % "dies")
    cut = one.run()
    assert cut.outcome.exit_code == 4
    assert one.fleet["h1"].noted == {"restart demo": None}

    one.fleet["h1"].answers.clear()
    again = one.run()
    assert again.of("conf").status == "ok"
    assert again.of("restart demo").status == "changed"
    assert one.fleet["h1"].noted == {}


@pytest.mark.parametrize("verdict", ["changed_when: r.stdout == 'x'", "failed_when: true, ignore_errors: true"])
def test_what_turns_out_to_notify_nobody_is_struck_off(one: Project, verdict: str) -> None:
    one.fleet["h1"].noted["left"] = None
    one.play(
        f"""
    - {{command: a, register: r, notify: [restart, left], {verdict}}}
    - {{command: b}}
""",
        head="  handlers:\n    - {name: restart, command: H1}\n    - {name: left, command: H2}\n",
    )
    assert [step.notify for step in one.fleet["h1"].steps] == [("restart", "left"), (), ()]
    assert one.fleet["h1"].commands == ["a", "b", "H2"]
    assert one.fleet["h1"].noted == {}


def test_what_is_due_already_stays_due(one: Project) -> None:
    one.play(
        """
    - {command: a, notify: restart}
    - {command: b, notify: restart, changed_when: "'x' == inventory_hostname"}
    - {command: "false"}
""",
        head="  handlers: [{name: restart, command: H1}]\n",
    )
    assert list(one.fleet["h1"].noted) == ["restart"]


def test_a_delegated_task_notifies_its_own_host(three: Project) -> None:
    ran = three.play(
        """
    - {command: own}
    - {command: "there {{ inventory_hostname }}", delegate_to: h2, notify: restart, when: inventory_hostname == 'h1'}
    - {command: "false", when: inventory_hostname == 'h1'}
""",
        head="  handlers: [{name: restart, command: H}]\n",
    )
    assert ran.outcome.exit_code == 2
    assert list(three.fleet["h1"].noted) == ["restart"]
    assert three.fleet["h2"].noted == {}


def test_what_could_not_be_noted_is_said(three: Project) -> None:
    ran = three.play(
        """
    - {command: there, delegate_to: h2, notify: restart, when: inventory_hostname == 'h1'}
    - {fail: {msg: stop}, when: inventory_hostname == 'h1'}
""",
        head="  handlers: [{name: restart, command: H}]\n",
    )
    [warned] = ran.events_of(Warned)
    assert "it could not be noted on h1 that these handlers are due: restart" in warned.diagnostic.message


def test_a_handler_notified_by_a_later_one_waits_for_the_next_flush_and_is_never_lost(one: Project) -> None:
    def order(tasks: str) -> list[str]:
        ran = one.play(
            tasks,
            head="""
  handlers:
    - {name: early, command: early}
    - {name: chained, command: chained, notify: [early, late]}
    - {name: late, command: late}
""",
        )
        return [step.task for step in ran.steps]

    notified = "    - {name: t, command: x, notify: chained}\n"
    assert order(notified) == ["t", "chained", "late", "early"]
    flushed = f"{notified}    - meta: flush_handlers\n    - {{name: u, command: y}}\n"
    assert order(flushed) == ["t", "chained", "late", "u", "early"]
    assert order(f"{flushed}  post_tasks:\n{notified}") == ["t", "chained", "late", "u", "early", "t", "chained", "late", "early"]
