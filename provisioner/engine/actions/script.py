"""``script``: a program of the controller runs on the node."""

from __future__ import annotations

import shlex
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Work
from provisioner.errors import InputError


def script(call: Call) -> Work:
    """Send the script and run it there with its arguments."""
    written = call.params.get("cmd") or call.free_form
    try:
        words = shlex.split(str(written))
    except ValueError as error:
        raise InputError.of(f"script: {error}", call.task.span_of("args")) from error
    if not words:
        raise InputError.of("script needs a file", call.task.span_of("args"))
    path = call.find("files", words[0], argument="_raw_params")
    sent: dict[str, Any] = {name: value for name, value in call.params.items() if value is not None and name not in ("cmd", "decrypt")}
    sent.update(cmd=str(written), content=call.run.contents.file(path))
    return Work([NodeCall("script", sent)])
