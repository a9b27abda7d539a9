"""Runs that people, crashes and dying nodes cut off: said plainly, nothing left behind, and made good by the next run."""

from __future__ import annotations

import secrets
import signal
import time

import pytest

from tests.e2e.fleet import Fleet, Started

SERVER_ALIVE = "-o ServerAliveInterval=1 -o ServerAliveCountMax=2"


class Long:
    """A play that writes a file with a handler and then works for a minute, unless it is told to be quick."""

    def __init__(self, fleet: Fleet, w: str) -> None:
        self.fleet = fleet
        self.w = w
        self.sleep = f"sleep 6{secrets.randbelow(10)}.{secrets.randbelow(10**6):06}"
        self.play = fleet.play(
            f"""
- name: folder
  file: {{path: {w}, state: directory}}
- name: conf
  copy: {{dest: {w}/conf, content: "x"}}
  notify: restart demo
- name: long
  shell: {self.sleep} & {self.sleep}
  when: not (quick | default(false) | bool)
- name: after
  file: {{path: {w}/after, state: directory}}
""",
            f"- name: restart demo\n  shell: echo restarted >> {w}/log\n",
        )

    def start(self, *arguments: object, nodes: int = 3, **options: object) -> Started:
        """Start it and wait until it works on the first nodes."""
        started = self.fleet.start("apply", self.play, *arguments, **options)  # type: ignore[arg-type]
        for node in range(nodes):
            self.fleet.await_on(node, f"test $(pgrep -fc '{self.sleep}') -ge 2", 60)
        return started

    def left_nothing(self, node: int) -> None:
        """Wait until no process of the run is left, and the node is free."""
        self.fleet.await_on(node, f"! pgrep -f '{self.sleep}' && ! pgrep -f 'python.* -BsSE -c' && flock -n /run/provision.lock true")

    def is_made_good(self, nodes: int = 3) -> None:
        """Run it again: what was due is done, once."""
        again = self.fleet("apply", self.play, "-e", "quick=true", "--limit", ",".join(self.fleet.names[:nodes]), "--format", "json")
        assert again.code == 0, again.all
        for node in range(nodes):
            assert again.step("conf", self.fleet.names[node])["status"] == "ok"
            assert self.fleet.on(node, f"cat {self.w}/log; ls {self.w}; ls /var/lib/provision").split() == [
                "restarted",
                "after",
                "conf",
                "log",
            ]


@pytest.fixture
def long(fleet: Fleet, w: str) -> Long:
    """See the class."""
    return Long(fleet, w)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_in_order(long: Long, number: signal.Signals) -> None:
    started = long.start()
    started.process.send_signal(number)
    said = started.wait(20)
    assert said.code == 130, said.all
    assert "interrupted: stopping" in said.err
    assert "INTERRUPTED in the middle of a step" in said.out
    assert "restart demo on" in said.out.partition("PENDING HANDLERS")[2]
    for node in range(3):
        long.left_nothing(node)
    long.is_made_good()


def test_a_second_interrupt_leaves_at_once(long: Long) -> None:
    started = long.start()
    started.process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    started.process.send_signal(signal.SIGINT)
    said = started.wait(10)
    assert said.code == 130, said.all
    for node in range(3):
        long.left_nothing(node)


def test_a_killed_controller_loses_no_handler(long: Long) -> None:
    """Its last batch held the change and what came after: only the node knows of it."""
    started = long.start()
    started.process.kill()
    assert started.process.wait(10) == -signal.SIGKILL
    for node in range(3):
        long.left_nothing(node)
    long.is_made_good()


def test_a_controller_killed_while_files_are_written_leaves_whole_ones(fleet: Fleet, w: str) -> None:
    size = 3_000_000
    (fleet.folder / "big").write_bytes(bytes(size))
    play = fleet.play(
        f"- file: {{path: {w}, state: directory}}\n"
        f'- copy: {{src: big, dest: "{w}/{{{{ item }}}}", owner: nobody, mode: "0640"}}\n  loop: "{{{{ range(300) | list }}}}"\n'
    )
    started = fleet.start("apply", play, "--limit", fleet.names[0])
    fleet.await_on(0, f"test $(ls {w} 2>/dev/null | wc -l) -ge 5", 60)
    started.process.kill()
    started.process.wait(10)
    fleet.await_on(0, "! pgrep -f 'python.* -BsSE -c'")
    found = set(fleet.on(0, f"find {w} -type f -printf '%s %u %m\\n'").splitlines())
    assert found == {f"{size} nobody 640"}
    assert fleet.on(0, f"ls -A {w} | grep -v '^[0-9]*$' || true") == ""
    fleet.on(0, f"rm -r {w}")


def test_a_node_whose_agent_dies_is_named_while_the_others_go_on(long: Long) -> None:
    started = long.start()
    long.fleet.on(0, "pkill -9 -f 'python.* -BsSE -c'")
    for node in (1, 2):
        long.fleet.on(node, f"pkill -f '{long.sleep}'", check=False)
    said = started.wait(30)
    assert said.code in (2, 4), said.all
    assert f"{long.fleet.names[0]}: the connection was lost while running shell" in said.out, said.all
    assert "a run continues where this one stopped" in said.out
    long.fleet.on(0, f"pkill -f '{long.sleep}'", check=False)
    long.is_made_good()


def test_a_node_that_falls_silent_is_given_up_while_the_others_go_on(long: Long, w: str) -> None:
    """Switched off, or its network gone: nobody says goodbye."""
    fleet = long.fleet
    args = f"-F none -o UserKnownHostsFile={fleet.lab.known_hosts} {SERVER_ALIVE}"
    inventory = fleet.inventory_of({"silent": {"node": 0, "ansible_ssh_common_args": args}, "other": {"node": 1, "quick": True}})
    started = long.start(inventory=inventory, nodes=1)
    fleet.on(0, "nohup sh -c 'sleep 0.3; ip link set host0 down; sleep 8; ip link set host0 up' >/dev/null 2>&1 &")
    said = started.wait(30)
    assert said.code == 4, said.all
    assert "silent: the node does not answer since" in said.out, said.all
    assert fleet.on(1, f"ls {w}").split() == ["after", "conf", "log"]
    fleet.await_on(1, "true", 30)


def test_one_run_a_node(long: Long) -> None:
    """Who holds it is said; the lock of a controller that died is free at once."""
    fleet = long.fleet
    started = long.start("--limit", fleet.names[0], nodes=1)
    second = fleet("apply", long.play, "-e", "quick=true", "--limit", ",".join(fleet.names[:2]))
    assert second.code == 4, second.all
    assert "another run holds this node: " in second.out, second.all
    assert f"(pid {started.process.pid})" in second.out
    assert "since 20" in second.out
    assert fleet.on(1, f"ls {long.w}").split() == ["after", "conf", "log"]
    assert fleet("plan", long.play, "--limit", fleet.names[0]).code == 0

    started.process.kill()
    started.process.wait(10)
    long.is_made_good(1)


@pytest.mark.parametrize("force", [False, True])
def test_handlers_after_a_failure(fleet: Fleet, w: str, force: bool) -> None:
    play = fleet.play(
        f"""
- file: {{path: {w}, state: directory}}
- name: conf
  copy: {{dest: {w}/conf, content: "x"}}
  notify: restart demo
- name: breaks
  command: "{{{{ 'true' if quick | default(false) | bool else 'false' }}}}"
""",
        f"- name: restart demo\n  shell: echo restarted >> {w}/log\n",
        keywords=f"force_handlers: {str(force).lower()}",
    )
    one = ("--limit", fleet.names[0])
    failed = fleet("apply", play, *one)
    assert failed.code == 2, failed.all
    assert ("PENDING HANDLERS" in failed.out) is not force, failed.all
    assert fleet.on(0, f"ls {w}").split() == (["conf", "log"] if force else ["conf"])
    plan = fleet("plan", play, "-e", "quick=true", *one)
    assert ("because an earlier run was interrupted before it ran" in plan.out) is not force, plan.all
    again = fleet("apply", play, "-e", "quick=true", *one)
    assert again.code == 0, again.all
    assert fleet.on(0, f"cat {w}/log; ls /var/lib/provision") == "restarted"
