"""``unarchive``: the archive comes from the controller unless it is on the node, or somewhere the node can download it from."""

from __future__ import annotations

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import NodeCall, Work
from provisioner.engine.truth import as_bool
from provisioner.values import Unknown


def unarchive(call: Call) -> Work:
    """Unpack on the node."""
    sent = {name: value for name, value in call.params.items() if value is not None and name not in ("decrypt", "copy")}
    remote = as_bool(call.params.get("remote_src"), "remote_src") or (
        call.params.get("copy") is not None and not as_bool(call.params["copy"], "copy")
    )
    src = call.params.get("src")
    if isinstance(src, str) and not remote:
        sent["src"] = call.run.contents.file(call.find("files", src))
        sent["remote_src"] = False
    elif isinstance(src, (str, Unknown)):
        sent["remote_src"] = True
    return Work([NodeCall("unarchive", sent)])
