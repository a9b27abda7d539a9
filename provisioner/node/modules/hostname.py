"""The name of the node, now and after the next boot."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class HostnameParams(Params):
    """Parameters of ``hostname``."""

    name: str = option("The name.")
    use: str | None = option("The strategy; all of them write /etc/hostname and set the kernel's name here.", None)


def run(node: Node, p: HostnameParams) -> dict[str, Any]:
    """Both names, where they differ."""
    if not p.name or len(p.name) > 64:
        node.fail(f"{p.name!r} is no host name: it must have 1 to 64 characters")
    before = node.values.get("hostname", "running")
    node.values.ensure("hostname", "static", p.name, target="host name in /etc/hostname")
    node.values.ensure("hostname", "running", p.name, target="host name")
    short, _, domain = p.name.partition(".")
    facts = {"ansible_hostname": short, "ansible_nodename": p.name, "ansible_fqdn": p.name, "ansible_domain": domain}
    return {"name": p.name, "ansible_facts": facts, "diff": {"before": f"hostname = {before}\n", "after": f"hostname = {p.name}\n"}}


MODULE = Module(
    name="hostname",
    summary="The name of the node, now and after the next boot.",
    params=HostnameParams,
    run=run,
    resource=(("value", "name"),),
    examples="- hostname: {name: gpu01}\n",
)
