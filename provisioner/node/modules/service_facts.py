"""Services and their states, as facts."""

from __future__ import annotations

from ..declare import Module, Params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class ServiceFactsParams(Params):
    """``service_facts`` has no parameters."""


def run(node: Node, p: ServiceFactsParams) -> dict[str, Any]:  # noqa: ARG001 - one signature for all modules
    """Unit name → name, state, status, source."""
    about = [("unit", "")]
    units = node.commands.query(["systemctl", "list-units", "--no-pager", "--type=service", "--all", "--plain", "--no-legend"], about=about)
    files = node.commands.query(["systemctl", "list-unit-files", "--no-pager", "--type=service", "--all", "--no-legend"], about=about)
    services: dict[str, dict[str, Any]] = {}
    for line in units.out.splitlines():
        words = line.split()
        if len(words) > 3 and words[0].endswith(".service"):
            name, load, active, sub = words[:4]
            state = {"running": "running", "failed": "failed"}.get(sub, "stopped")
            status = "not-found" if load == "not-found" else ("failed" if active == "failed" else "unknown")
            services[name] = {"name": name, "state": state, "status": status, "source": "systemd"}
    for line in files.out.splitlines():
        words = line.split()
        if len(words) > 1:
            entry = services.setdefault(words[0], {"name": words[0], "state": "inactive", "status": words[1], "source": "systemd"})
            entry["status"] = words[1]
    return {"ansible_facts": {"services": services}}


MODULE = Module(
    name="service_facts",
    summary="Services and their states, as facts.",
    params=ServiceFactsParams,
    run=run,
    reads_only=True,
    examples="- service_facts:\n",
)
