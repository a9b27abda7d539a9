"""The parts below the walk: places, batches of hosts, agents, the order of events."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from provisioner.diagnostics import Diagnostic, Span
from provisioner.engine.clocks import AFTER, Clocks, Gate
from provisioner.engine.selection import selected, tag_set
from provisioner.engine.serial import batches, ordered
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError, WrongPassword
from provisioner.events import Event, EventQueue, HostStuck, Progress, Record, RunStarted, Stats, TaskFinished, TaskStarted, Warned
from tests.engine.fakes import FakeAgent, Fleet, Project

NOWHERE = Span("x.yml", 1)


def task(name: str) -> TaskStarted:
    """An event that only has a name."""
    return TaskStarted("p", None, name, "debug", NOWHERE, name)


@pytest.mark.parametrize(
    ("serial", "sizes"),
    [
        ([], [5]),
        ([2], [2, 2, 1]),
        (["40%"], [2, 2, 1]),
        ([1, "50%", 0], [1, 2, 2]),
        ([10], [5]),
        (["1%"], [1, 1, 1, 1, 1]),
        (["3"], [3, 2]),
    ],
)
def test_batches(serial: list[object], sizes: list[int]) -> None:
    hosts = [f"h{number}" for number in range(5)]
    assert [len(batch) for batch in batches(hosts, serial)] == sizes


def test_order_and_serial_refuse_nonsense() -> None:
    with pytest.raises(InputError):
        batches(["a"], ["many"])
    with pytest.raises(InputError):
        ordered(["a"], "up")
    assert sorted(ordered(["b", "a"], "shuffle")) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "expected"), [("yes", True), ("Off", False), (1, True), (0, False), ("1", True), (None, False), ("", False)]
)
def test_truth(value: object, expected: bool) -> None:
    assert as_bool(value) is expected


def test_truth_refuses_nonsense() -> None:
    with pytest.raises(InputError, match="could not be converted"):
        as_bool("perhaps", "become")


def test_tags() -> None:
    assert tag_set(["a,b", ["c"]]) == {"a", "b", "c"}
    assert selected(frozenset({"never", "x"}), frozenset({"x"}), frozenset())
    assert not selected(frozenset({"x"}), frozenset({"x"}), frozenset({"x"}))


def test_a_meeting_waits_for_those_on_their_way_only() -> None:
    clocks = Clocks(["a", "b", "c", "d"], Gate(4))
    clocks.arrive("b", (9,))
    clocks.leave("c")
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda host=host: seen.append(clocks.meet(host, (5,)).hosts)) for host in ("d", "a")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert seen == [["a", "d"], ["a", "d"]]


def test_places_inside_and_after() -> None:
    assert (3,) < (3, 0) < (3, 1, 7) < (3, AFTER) < (4,)


def test_events_of_a_task_come_together() -> None:
    seen: list[Event] = []
    queue = EventQueue(seen.append, patience=5)
    queue.begin(["a", "b"], (0,))
    queue.put(task("b1"), (0, 1), "b")
    queue.reached("b", (0, 2))
    queue.put(task("b2"), (0, 2), "b")
    queue.put(task("a1"), (0, 1), "a")
    queue.put(task("first"), (0, 1))
    queue.reached("a", (0, 2))
    queue.retire("b")
    queue.put(task("a2"), (0, 2), "a")
    queue.retire("a")
    queue.close()
    assert [event.task for event in seen if isinstance(event, TaskStarted)] == ["first", "a1", "b1", "a2", "b2"]


def test_a_slow_host_holds_nothing_up_for_long() -> None:
    seen: list[Event] = []
    queue = EventQueue(seen.append, patience=0.05)
    queue.begin(["a", "slow"], (0,))
    queue.put(task("a1"), (0, 1), "a")
    deadline = time.monotonic() + 2
    while not seen and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(seen) == 1
    queue.close()


def test_a_listener_that_fails_is_heard_of_at_the_end() -> None:
    def listener(event: Event) -> None:
        raise RuntimeError("broken")

    queue = EventQueue(listener)
    queue.put(Progress("a", "x"))
    queue.put(Progress("a", "y"))
    with pytest.raises(RuntimeError, match="broken"):
        queue.close()


def test_statistics() -> None:
    stats = Stats()
    for status, ignored, rescued in (
        ("ok", 0, 0),
        ("changed", 0, 0),
        ("failed", 1, 0),
        ("failed", 0, 1),
        ("deferred", 0, 0),
        ("skipped", 0, 0),
    ):
        stats.count(TaskFinished("h", "p", "t", "a", NOWHERE, status, "x", bool(ignored), bool(rescued)))  # type: ignore[arg-type]
    assert stats.as_dict() == {
        "ok": 3, "changed": 1, "failed": 0, "skipped": 1, "unreachable": 0, "unknown": 1, "rescued": 1, "ignored": 1,
    }  # fmt: skip


def test_record_of_nothing() -> None:
    record = Record()
    record(RunStarted("plan", "plan", ("site.yml",), ()))
    record(Warned(Diagnostic("careful", severity="warning")))
    document = record.document()
    assert document["schema"] == "provision.plan/1"
    assert document["ok"] is False
    assert document["warnings"] == ["warning: careful"]


def test_a_wrong_password_is_tried_on_one_host_only(three: Project) -> None:
    tried: list[str] = []

    class Refusing(Fleet):
        def __call__(self, target, mode):  # type: ignore[no-untyped-def]
            tried.append(target.host)
            raise WrongPassword(f"the sudo password is wrong on {target.host}")

    three.fleet = Refusing("h1", "h2", "h3")
    ran = three.play("    - {command: a}\n", become=True, become_password="x", remote_user="ann")
    assert len(tried) == 1
    assert ran.outcome.exit_code == 4
    assert sum("not tried" in step.msg for step in ran.steps) == 2


def test_stuck_hosts_are_named_and_set_aside(three: Project) -> None:
    release = threading.Event()

    class Hanging(FakeAgent):
        def run(self, steps, on_reply, **more):  # type: ignore[no-untyped-def]
            from provisioner.errors import HostUnreachable

            while not self.closed:
                release.wait(0.02)
            raise HostUnreachable("closed")

    class Some(Fleet):
        def __call__(self, target, mode):  # type: ignore[no-untyped-def]
            agent = super().__call__(target, mode)
            return Hanging(agent.node, target, mode) if target.host == "h2" else agent

    three.fleet = Some("h1", "h2", "h3")
    ran = three.play("    - {command: a}\n", stuck_after=0.1, set_aside_after=0.3)
    assert {event.host for event in ran.events_of(HostStuck)} == {"h2"}
    assert any(event.aside for event in ran.events_of(HostStuck))
    assert ran.outcome.exit_code == 4
    assert three.fleet["h3"].commands == ["a"]


def test_become_is_found_in_files_that_are_included(tmp_path: Path) -> None:
    project = Project(tmp_path, "h1")
    project.write("roles/r/tasks/main.yml", "- {include_tasks: '{{ which }}.yml'}\n")
    project.write("roles/r/tasks/deep.yml", "- {command: b, become: true}\n")
    project.play("    - {command: a}\n    - {include_role: {name: r}}\n", head="  vars: {which: deep}\n", remote_user="ann")
    assert len(project.fleet.targets) == 1
    assert [step.user for step in project.fleet["h1"].steps] == ["ann", None]


def test_importing_the_engine_costs_nothing_it_does_not_need() -> None:
    code = "import sys, provisioner.engine.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"fabric", "paramiko", "rich", "click", "testinfra"} & set(loaded)
