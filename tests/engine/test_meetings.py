"""Where hosts wait for each other, and that nobody waits for the dead."""

from __future__ import annotations

import threading
import time

from provisioner.events import BatchFinished, HostLost, Warned
from provisioner.ports import Step
from tests.engine.fakes import Project


def test_hosts_run_ahead_of_each_other(three: Project) -> None:
    gate = threading.Event()

    def wait_for_others(step: Step) -> None:
        if step.params.get("cmd") == "a":
            assert gate.wait(5)

    def open_gate(step: Step) -> None:
        if step.params.get("cmd") == "c":
            gate.set()

    three.fleet["h1"].before = wait_for_others
    three.fleet["h3"].before = open_gate
    ran = three.play("    - {command: a}\n    - {command: b, failed_when: '1 == 2'}\n    - {command: c}\n")
    assert ran.outcome.exit_code == 0


def test_run_once_shares_its_result(three: Project) -> None:
    ran = three.play(
        """
    - {name: once, command: a, run_once: true, register: r}
    - set_fact: {k: "{{ inventory_hostname }}"}
      run_once: true
    - {name: say, debug: {msg: "{{ r.rc }} {{ k }}"}}
"""
    )
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a"], [], []]
    assert [step.msg for step in ran.steps if step.task == "say"] == ["0 h1"] * 3
    assert [step.host for step in ran.steps if step.task == "once"] == ["h1"]


def test_run_once_decides_by_the_first_host_and_warns(three: Project) -> None:
    """Bug case L07."""
    for host in ("h2", "h3"):
        three.inventory.add_host(host, [], {"first": True})
    three.inventory.add_host("h1", [], {"first": False})
    ran = three.play("    - {name: once, command: a, run_once: true, when: first, register: r}\n    - debug: {msg: '{{ r.skipped }}'}\n")
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [[], [], []]
    warned = ran.events_of(Warned)
    assert len(warned) == 1
    assert warned[0].diagnostic.hosts == ("h2", "h3")
    again = three.play("    - {name: once, command: a, run_once: true, when: first}\n", run_once="any")
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [[], ["a"], []]
    assert not again.events_of(Warned)


def test_run_once_passes_over_hosts_that_failed(three: Project) -> None:
    three.fleet["h1"].answers["a"] = {"rc": 1}
    ran = three.play("    - {command: a}\n    - {name: once, command: b, run_once: true}\n")
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a"], ["a", "b"], ["a"]]
    assert ran.outcome.exit_code == 2


def test_run_once_failure_is_everybodys(three: Project) -> None:
    three.play("    - {command: 'false', run_once: true}\n    - {command: b}\n")
    assert all(three.fleet[host].commands in (["false"], []) for host in ("h1", "h2", "h3"))


def test_any_errors_fatal(three: Project) -> None:
    three.fleet["h2"].answers["a"] = {"rc": 1}
    ran = three.play(
        """
    - block: [{command: a}, {command: b}]
      always: [{command: always}]
    - {command: c}
""",
        head="  any_errors_fatal: true\n",
    )
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a", "always"]] * 3
    assert ran.outcome.exit_code == 2


def test_max_fail_percentage(three: Project) -> None:
    three.fleet["h2"].answers["a"] = {"rc": 1}
    three.write("site.yml", "- {hosts: nodes, gather_facts: false, max_fail_percentage: 30, tasks: [{command: a}, {command: b}]}\n")
    ran = three.run()
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a"]] * 3
    three.write("site.yml", "- {hosts: nodes, gather_facts: false, max_fail_percentage: 40, tasks: [{command: a}, {command: b}]}\n")
    three.run()
    assert three.fleet["h1"].commands == ["a", "a", "b"]
    assert ran.outcome.exit_code == 2


def test_serial_batches_one_after_the_other(three: Project) -> None:
    seen: list[tuple[str, str]] = []
    for node in three.fleet.nodes.values():
        node.before = lambda step, node=node: seen.append((node.name, str(step.params["cmd"])))
    ran = three.play("    - {command: a}\n    - {command: b}\n", head="  serial: [1, 50%]\n")
    assert seen == [("h1", "a"), ("h1", "b"), ("h2", "a"), ("h2", "b"), ("h3", "a"), ("h3", "b")]
    assert [event.hosts for event in ran.events_of(BatchFinished)] == [("h1",), ("h2",), ("h3",)]


def test_a_batch_that_fails_as_a_whole_ends_the_run(three: Project) -> None:
    three.fleet["h1"].answers["a"] = {"rc": 1}
    three.play("    - {command: a}\n", head="  serial: 1\n")
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a"], [], []]


def test_order(three: Project) -> None:
    ran = three.play("    - {command: a}\n", head="  order: reverse_inventory\n")
    assert [step.host for step in ran.steps] == ["h3", "h2", "h1"]


def test_unreachable_hosts_are_set_aside(three: Project) -> None:
    three.fleet["h2"].down = True
    ran = three.play("    - {command: a}\n    - {command: b, run_once: true}\n    - {command: c}\n")
    assert ran.outcome.exit_code == 4
    assert three.fleet["h3"].commands == ["a", "c"]
    lost = ran.events_of(HostLost)
    assert [(event.host, event.help) for event in lost] == [("h2", "switch it on")]
    assert ran.outcome.document["hosts"]["h2"]["unreachable"] == 1


def test_ignore_unreachable(three: Project) -> None:
    three.fleet["h2"].down = True
    ran = three.play(
        """
    - {name: a, command: a, ignore_unreachable: true, register: r}
    - {name: say, debug: {msg: "{{ r.unreachable | default(false) }}"}}
"""
    )
    assert [step.msg for step in ran.steps if step.task == "say"] == ["false", "true", "false"]
    assert ran.outcome.exit_code == 0


def test_a_connection_that_breaks_in_the_middle(three: Project) -> None:
    from provisioner.errors import HostUnreachable

    three.fleet["h2"].answers["b"] = HostUnreachable("gone")
    ran = three.play("    - {command: a}\n    - {name: b, command: b}\n    - {command: c}\n")
    assert ran.of("b", "h2").status == "unreachable"
    assert [step.status for step in ran.steps if step.host == "h2"] == ["changed", "unreachable"]
    assert three.fleet["h3"].commands == ["a", "b", "c"]


def test_delegation_uses_the_other_node(three: Project) -> None:
    ran = three.play(
        """
    - {name: d, command: "drain {{ inventory_hostname }}", delegate_to: h3, register: r}
    - {name: say, debug: {msg: "{{ r.rc }}"}}
    - {name: local, command: here, delegate_to: localhost, run_once: true}
"""
    )
    assert sorted(three.fleet["h3"].commands) == ["drain h1", "drain h2", "drain h3"]
    assert [step.delegated_to for step in ran.steps if step.task == "d"] == ["h3", "h3", None]
    assert three.fleet["localhost"].commands == ["here"]
    assert [target.connection for target in three.fleet.targets if target.host == "localhost"] == ["local"]


def test_delegated_facts(three: Project) -> None:
    three.fleet["h3"].facts["x"] = "three"
    ran = three.play(
        """
    - {setup: {}, delegate_to: h3, delegate_facts: true, when: inventory_hostname == 'h1'}
    - {name: say, debug: {msg: "{{ ansible_facts.x | default('none') }} {{ hostvars.h3.ansible_facts.x }}"}}
"""
    )
    assert [step.msg for step in ran.steps if step.task == "say"] == ["none three", "none three", "three three"]


def test_variables_of_other_hosts_are_waited_for(three: Project) -> None:
    three.fleet["h3"].before = lambda _step: time.sleep(0.2)
    three.fleet["h3"].answers["a"] = {"stdout": "from h3"}
    ran = three.play(
        """
    - {command: a, register: r}
    - {name: say, debug: {msg: "{{ hostvars['h3'].r.stdout }}"}}
"""
    )
    assert [step.msg for step in ran.steps if step.task == "say"] == ["from h3"] * 3


def test_play_hosts_leave_out_the_failed(three: Project) -> None:
    three.fleet["h2"].answers["a"] = {"rc": 1}
    three.fleet["h2"].before = lambda _step: time.sleep(0.1)
    ran = three.play("    - {command: a}\n    - {name: say, debug: {msg: \"{{ ansible_play_hosts | join(' ') }}\"}}\n")
    assert [step.msg for step in ran.steps if step.task == "say"] == ["h1 h3"] * 2


def test_throttle(three: Project) -> None:
    now, most, lock = [0], [0], threading.Lock()

    def count(_step: object) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1

    for node in three.fleet.nodes.values():
        node.before = count
    three.play("    - {command: a, throttle: 1}\n")
    assert most == [1]


def test_few_forks_and_many_meetings(three: Project) -> None:
    ran = three.play("    - {command: a, run_once: true}\n    - {command: b}\n    - {command: c, run_once: true}\n", forks=1)
    assert three.fleet["h3"].commands == ["b"]
    assert ran.outcome.exit_code == 0


def test_free_strategy_never_waits(three: Project) -> None:
    ran = three.play("    - {command: a, run_once: true}\n", head="  strategy: free\n")
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["a"]] * 3
    assert "run_once has no meaning" in ran.events_of(Warned)[0].diagnostic.message


def test_hosts_and_groups_made_on_the_way(three: Project) -> None:
    three.write(
        "site.yml",
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {add_host: {name: new, groups: fresh, colour: red}}
    - group_by: {key: "odd_{{ inventory_hostname != 'h2' }}"}
    - {name: say, debug: {msg: "{{ groups.fresh }} {{ group_names | join(' ') }}"}}
- hosts: fresh:odd_True
  gather_facts: false
  tasks: [{command: "paint {{ colour | default('grey') }}"}]
""",
    )
    ran = three.run()
    assert [step.msg for step in ran.steps if step.task == "say"] == [
        "['new'] nodes odd_True",
        "['new'] nodes odd_False",
        "['new'] nodes odd_True",
    ]
    assert three.fleet["new"].commands == ["paint red"]
    assert three.fleet["h1"].commands == ["paint grey"]
    assert three.fleet["h2"].commands == []


def test_meta_ends(three: Project) -> None:
    three.write(
        "site.yml",
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {meta: end_host, when: inventory_hostname == 'h1'}
    - {command: a}
    - {meta: end_play, when: inventory_hostname == 'h2'}
    - {command: b}
- hosts: nodes
  gather_facts: false
  tasks: [{command: c}]
""",
    )
    ran = three.run()
    assert [three.fleet[host].commands for host in ("h1", "h2", "h3")] == [["c"], ["a", "c"], ["a", "c"]]
    assert ran.outcome.exit_code == 0


def test_interrupt_keeps_partial_results(three: Project) -> None:
    def interrupt(_step: object) -> None:
        raise KeyboardInterrupt

    three.fleet["h2"].before = interrupt
    ran = three.play("    - {command: a}\n    - {pause: {seconds: 30}}\n")
    assert ran.outcome.exit_code == 130
    assert ran.outcome.document["ok"] is False
