"""A module that is not written in our way: the bridge makes of it what the node runs, and its results become ours."""

from __future__ import annotations

import os
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Work
from provisioner.engine.truth import as_number
from provisioner.errors import InputError

SHELL = "/bin/sh"
FOLDER = "/tmp"


def foreign(call: Call) -> Work:
    """Send the module with its arguments."""
    info = call.run.module(call.task)
    bridge = call.run.bridge
    if bridge is None:
        raise InputError.of(f"module {info.full_name!r} is not written in our way, and there is no bridge for it", call.task.span)
    program = bridge.program(info)
    arguments = bridge.arguments(
        info,
        call.written,
        no_log=call.item.job.no_log,
        verbosity=call.run.options.verbosity,
        shell=str(call.scope.lookup("ansible_shell_executable", None) or SHELL),
    )
    sent: dict[str, Any] = {
        "code": call.run.contents.data(program.code, info.name, inline=False),
        "kind": program.kind,
        "main": program.main,
        "launcher": _launcher(call, program.launcher),
        "folder": str(call.scope.lookup("ansible_remote_tmp", None) or FOLDER),
        "files": int(as_number(call.scope.lookup("ansible_python_module_rlimit_nofile", None) or 0, "ansible_python_module_rlimit_nofile")),
        "arguments": arguments,
        "honest": program.honest,
    }
    return Work([NodeCall(program.name, sent)])


def _launcher(call: Call, shebang: tuple[str, ...]) -> list[str]:
    """The words before a program: those of its first line, with the interpreter that a variable names instead of the usual one."""
    words = list(shebang)
    if words:
        position = 1 if os.path.basename(words[0]) == "env" and len(words) > 1 else 0
        named = call.scope.lookup(f"ansible_{os.path.basename(words[position])}_interpreter", None)
        if named:
            words = [*str(named).split(), *words[position + 1 :]]
    return words
