"""``assemble``: one file out of the fragments in a folder, here or on the node."""

from __future__ import annotations

import base64
import os
import re

from provisioner.engine.actions.call import Call
from provisioner.engine.actions.copy import as_content
from provisioner.engine.outcome import NodeCall, Outcome, Work
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError

_SENT = ("owner", "group", "mode", "backup", "validate", "selevel", "serole", "setype", "seuser", "attributes", "unsafe_writes")


def assemble(call: Call) -> Outcome | Work:
    """Put the fragments together in the order of their names."""
    fragments = _on_node(call) if as_bool(call.params.get("remote_src", True), "remote_src") else _here(call)
    if isinstance(fragments, Outcome):
        return fragments
    text = _joined(call, fragments).decode("utf-8", "surrogateescape")
    sent = {name: call.params[name] for name in _SENT if call.params.get(name) is not None}
    return Work([NodeCall("copy", {**sent, "dest": call.params["dest"], "content": as_content(call, text)})])


def _wanted(call: Call, name: str) -> bool:
    pattern = call.params.get("regexp")
    if pattern and not re.search(str(pattern), name):
        return False
    return not (as_bool(call.params.get("ignore_hidden"), "ignore_hidden") and name.startswith("."))


def _here(call: Call) -> list[bytes]:
    """The fragments in a folder of the controller."""
    folder = call.find("files", str(call.params["src"]), folders=True)
    if not folder.is_dir():
        raise InputError.of(f"{folder} is no folder of fragments", call.task.span_of("args", "src"))
    return [call.run.contents.bytes(path) for path in sorted(folder.iterdir()) if path.is_file() and _wanted(call, path.name)]


def _on_node(call: Call) -> list[bytes] | Outcome:
    """The fragments in a folder of the node; an outcome when they cannot be read."""
    found = call.ask([NodeCall("find", {"paths": [str(call.params["src"])], "hidden": True, "file_type": "file"})])[0]
    outcome = Outcome.of(found)
    if outcome.failed or outcome.deferred or outcome.unknown:
        return outcome
    paths = sorted(str(file["path"]) for file in found.result["files"] if _wanted(call, os.path.basename(str(file["path"]))))
    replies = call.ask([NodeCall("slurp", {"src": path}) for path in paths]) if paths else []
    for reply in replies:
        if reply.result.get("failed") or reply.deferred or reply.unknown:
            return Outcome.of(reply)
    return [base64.b64decode(str(reply.result["content"])) for reply in replies]


def _joined(call: Call, fragments: list[bytes]) -> bytes:
    """All fragments, each from a new line on, with the delimiter between them."""
    written = call.params.get("delimiter")
    delimiter = str(written).encode("utf-8").decode("unicode_escape").encode("latin-1", "replace") if written else b""
    whole = b""
    for fragment in fragments:
        if whole and not whole.endswith(b"\n"):
            whole += b"\n"
        if whole and delimiter:
            whole += delimiter if delimiter.endswith(b"\n") else delimiter + b"\n"
        whole += fragment
    return whole
