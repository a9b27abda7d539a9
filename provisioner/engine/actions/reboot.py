"""``reboot`` and ``wait_for_connection``: the node goes, and comes back."""

from __future__ import annotations

import time
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Outcome
from provisioner.engine.truth import as_number
from provisioner.errors import HostUnreachable
from provisioner.ports import Reply

TIMEOUT = 600.0
PAUSE = 2.0
MARK = "cat /proc/sys/kernel/random/boot_id && sed 's/.*)//' /proc/1/stat | cut -d ' ' -f 21"
"""What differs from one boot to the next: the kernel's boot id, and in containers only when PID 1 started."""


def reboot(call: Call) -> Outcome:
    """Ask the node to reboot, wait until it has, and until its test command succeeds."""
    started = time.monotonic()
    sent = {name: value for name, value in call.params.items() if value is not None}
    before = _boot_mark(call)
    try:
        reply = call.ask([NodeCall("reboot", sent)])[0]
    except HostUnreachable:
        # It went down before it could answer: that is what was asked for.
        reply = Reply(0, {"changed": True})
    outcome = Outcome.of(reply)
    outcome.result.pop("boot", None)
    if outcome.failed or outcome.deferred or not outcome.result.get("changed"):
        return outcome
    problem: list[str] = []
    call.run.hands.until(lambda: _await_boot(call, before, problem))
    outcome.result.update(rebooted=True, elapsed=int(time.monotonic() - started))
    if problem:
        outcome.result.update(failed=True, msg=problem[0], rebooted=False)
    return outcome


def _boot_mark(call: Call) -> bytes:
    return call.agent.execute(MARK, timeout=30).stdout.strip()


def _await_boot(call: Call, before: bytes, problem: list[str]) -> None:
    """Wait for another boot than before, then for the test command."""
    deadline = time.monotonic() + _seconds(call, "reboot_timeout", TIMEOUT)
    call.run.agents.drop(call.target.host)
    test = str(call.params.get("test_command") or "true")
    last = "it did not go down"
    while time.monotonic() < deadline:
        try:
            if _boot_mark(call) == before:
                call.run.agents.drop(call.target.host)
            else:
                done = call.agent.execute(test, timeout=max(1.0, deadline - time.monotonic()))
                if done.rc == 0:
                    call.walk.pause(_seconds(call, "post_reboot_delay", 0.0))
                    return
                last = f"its test command {test!r} ended with {done.rc}: {done.stderr.decode('utf-8', 'replace').strip()}"
        except HostUnreachable as error:
            last = error.message
            call.run.agents.drop(call.target.host)
        call.walk.pause(PAUSE)
    problem.append(f"not back within {_seconds(call, 'reboot_timeout', TIMEOUT):g} s: {last}")


def wait_for_connection(call: Call) -> Outcome:
    """Wait until an agent can be started."""
    started = time.monotonic()
    problem: list[str] = []
    call.run.hands.wait(call.walk.pause, _seconds(call, "delay", 0.0))
    call.run.hands.until(lambda: _await_connection(call, problem))
    if problem:
        return Outcome.failure(problem[0], elapsed=int(time.monotonic() - started))
    return Outcome.ok(elapsed=int(time.monotonic() - started))


def _await_connection(call: Call, problem: list[str]) -> None:
    timeout = _seconds(call, "timeout", TIMEOUT)
    deadline = time.monotonic() + timeout
    while True:
        try:
            call.agent.execute("true", timeout=_seconds(call, "connect_timeout", 5.0))
            return
        except HostUnreachable as error:
            if time.monotonic() >= deadline:
                problem.append(f"no connection within {timeout:g} s: {error.message}")
                return
        call.walk.pause(_seconds(call, "sleep", 1.0))


def _seconds(call: Call, name: str, default: float) -> float:
    value: Any = call.params.get(name)
    return default if value is None else as_number(value, name)
