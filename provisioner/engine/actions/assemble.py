"""``assemble``: one file out of the fragments in a folder, here or on the node."""

from __future__ import annotations

import re

from provisioner.engine.actions.call import Call
from provisioner.engine.actions.copy import as_content
from provisioner.engine.outcome import NodeCall, Work
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError

_SENT = ("owner", "group", "mode", "backup", "validate", "selevel", "serole", "setype", "seuser", "attributes", "unsafe_writes")


def assemble(call: Call) -> Work:
    """Put the fragments together in the order of their names."""
    params = call.params
    if as_bool(params.get("remote_src", True), "remote_src"):
        return Work([NodeCall("assemble", {name: value for name, value in params.items() if value is not None and name != "decrypt"})])
    folder = call.find("files", str(params["src"]), folders=True)
    if not folder.is_dir():
        raise InputError.of(f"{folder} is no folder of fragments", call.task.span_of("args", "src"))
    wanted = re.compile(str(params["regexp"])) if params.get("regexp") else None
    hidden = as_bool(params.get("ignore_hidden"), "ignore_hidden")
    delimiter = str(params["delimiter"]).encode("utf-8").decode("unicode_escape").encode("latin-1") if params.get("delimiter") else b""
    whole = b""
    for path in sorted(folder.iterdir()):
        if not path.is_file() or (wanted and not wanted.search(path.name)) or (hidden and path.name.startswith(".")):
            continue
        if whole and not whole.endswith(b"\n"):
            whole += b"\n"
        if whole and delimiter:
            whole += delimiter if delimiter.endswith(b"\n") else delimiter + b"\n"
        whole += call.run.contents.bytes(path)
    sent = {name: params[name] for name in _SENT if params.get(name) is not None}
    text = whole.decode("utf-8", "surrogateescape")
    return Work([NodeCall("copy", {**sent, "dest": params["dest"], "content": as_content(call, text)})])
