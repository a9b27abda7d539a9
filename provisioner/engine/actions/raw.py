"""``raw``: a shell command without an agent, for nodes that have no Python yet."""

from __future__ import annotations

from dataclasses import replace

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.errors import InputError
from provisioner.ports import Become


def raw(call: Call) -> Outcome:
    """Run the command over the connection as it is."""
    command = call.free_form
    if not command:
        raise InputError.of("raw needs a command", call.task.span_of("args"))
    executable = call.given("executable")
    if executable:
        command = f"{executable} -c {_quoted(command)}"
    settings = call.item.settings
    for name, value in reversed(list(settings.environment.items())):
        command = f"{name}={_quoted(value)} {command}"
    wanted = settings.become
    # As whom an agent would run does not matter here: there is none, and so nobody who could become somebody else for this step.
    become = Become(wanted.method, wanted.user, wanted.password, wanted.flags, wanted.exe) if wanted.wanted else None
    target = replace(call.target, become=become)
    done = call.run.hands.command(lambda: call.run.agents.raw(target, command, settings.timeout), call.free_form)
    if isinstance(done, Outcome):
        return done
    stdout, stderr = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape")
    result = {"rc": done.rc, "stdout": stdout, "stdout_lines": stdout.splitlines(), "stderr": stderr, "stderr_lines": stderr.splitlines()}
    outcome = Outcome({"changed": True, "failed": done.rc != 0, **result})
    if done.timed_out:
        outcome.result["msg"] = f"not done after {settings.timeout} s"
    elif done.rc:
        outcome.result["msg"] = "non-zero return code"
    return outcome


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
