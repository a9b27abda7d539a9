"""A service, whatever the init system; here always systemd."""

from __future__ import annotations

from ..declare import Module, Params, option
from . import systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class ServiceParams(Params):
    """Parameters of ``service``."""

    name: str | None = option("The service; not needed where systemd only has to read its unit files again.", None)
    state: str | None = option("What it shall do.", None, choices=("reloaded", "restarted", "started", "stopped"))
    enabled: bool | None = option("Whether it starts at boot.", None)
    sleep: int | None = option("Seconds between stop and start of a restart; systemd needs none and waits by itself.", None)
    pattern: str | None = option("How to find the process where the init script cannot tell; systemd can.", None)
    runlevel: str | None = option("OpenRC's runlevel; has no meaning for systemd.", None)
    arguments: str | None = option("Arguments for an init script; has no meaning for systemd.", None, aliases=("args",))
    use: str = option("Which service manager.", "auto")
    daemon_reload: bool = option("Make systemd read its unit files again first.", False, aliases=("daemon-reload",))
    daemon_reexec: bool = option("Make systemd execute itself again first.", False, aliases=("daemon-reexec",))
    masked: bool | None = option("Whether starting it is forbidden.", None)
    force: bool = option("Replace conflicting links when enabling.", False)
    scope: str = option("Whose manager.", "system", choices=("system", "user", "global"))
    no_block: bool = option("Do not wait for the job.", False)


def run(node: Node, p: ServiceParams) -> dict[str, Any]:
    """Hand over to systemd."""
    if p.use not in ("auto", "systemd", "service", "ansible.builtin.systemd"):
        node.fail(f"the service manager {p.use} is not supported; use: auto takes systemd")
    return systemd.run(node, systemd.SystemdParams(**{name: getattr(p, name) for name in systemd.SystemdParams.__fields__}))


MODULE = Module(
    name="service",
    summary="A service, whatever the init system.",
    params=ServiceParams,
    run=run,
    rules=systemd.MODULE.rules,
    resource=(("unit", "name"),),
    examples="- service: {name: docker, state: restarted}\n",
)
