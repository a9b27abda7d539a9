"""The lab's network on this machine: one bridge, a namespace and a cable per node, and a way out.

Everything is named after the lab's network number or the node, so that it can be found and removed without any record of it.
"""

from __future__ import annotations

import ipaddress
import json
import shutil
import threading
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab.model import Lab, Node
from provisioner.lab.tools import call, succeeds

_RULES = threading.Lock()  # iptables refuses two writers at once


def check_free(lab: Lab) -> None:
    """ProvisionError when this machine already routes the lab's addresses elsewhere."""
    wanted = ipaddress.ip_network(lab.subnet)
    for route in json.loads(call("ip", "-4", "-json", "route", "show", "table", "main") or "[]"):
        where, device = route.get("dst", "default"), route.get("dev", "?")
        if where == "default" or device == lab.bridge:
            continue
        if ipaddress.ip_network(where, strict=False).overlaps(wanted):
            raise ProvisionError(
                f"the lab's addresses {lab.subnet} are in use on this machine",
                why=f"{where} is routed through {device}",
                help="give the lab another name, and with it another network: provision lab up --name NAME",
            )


def namespace(lab: Lab, node: Node) -> str:
    """The name of a node's network namespace."""
    return f"provision-{lab.name}-{node.index}"


def _cable(lab: Lab, index: int) -> str:
    return f"pl{lab.network}-{index}"


def ensure_bridge(lab: Lab) -> None:
    """The bridge with this machine's address on it, and forwarding from it to the outside."""
    if not _exists(lab.bridge):
        call("ip", "link", "add", lab.bridge, "type", "bridge")
    call("ip", "addr", "replace", f"{lab.gateway}/24", "dev", lab.bridge)
    call("ip", "link", "set", lab.bridge, "up")
    ensure_rules(lab)


def ensure_rules(lab: Lab) -> None:
    """Let the nodes reach the outside; without iptables they only reach each other and this machine."""
    if shutil.which("iptables") is None:
        return
    with _RULES:
        for rule in _rules(lab):
            table, chain, *rest = rule
            if not succeeds("iptables", "-w", "-t", table, "-C", chain, *rest):
                call("iptables", "-w", "-t", table, "-I", chain, *rest)


def _rules(lab: Lab) -> list[list[str]]:
    note = ["-m", "comment", "--comment", f"provision-lab-{lab.name}"]
    return [
        ["nat", "POSTROUTING", "-s", lab.subnet, "!", "-o", lab.bridge, *note, "-j", "MASQUERADE"],
        ["filter", "FORWARD", "-i", lab.bridge, *note, "-j", "ACCEPT"],
        ["filter", "FORWARD", "-o", lab.bridge, *note, "-j", "ACCEPT"],
    ]


def remove_bridge(lab: Lab) -> None:
    """Undo ``ensure_bridge``; nothing happens where it is already gone."""
    if shutil.which("iptables") is not None:
        with _RULES:
            for table, chain, *rest in _rules(lab):
                while succeeds("iptables", "-w", "-t", table, "-D", chain, *rest):
                    pass
    if _exists(lab.bridge):
        call("ip", "link", "del", lab.bridge)


def attach(lab: Lab, node: Node) -> str:
    """A network namespace for a node with its address on eth0; returns the path of the namespace."""
    space, cable = namespace(lab, node), _cable(lab, node.index)
    call("ip", "netns", "add", space)
    call("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
    call("ip", "link", "set", cable, "master", lab.bridge, "up")
    commands = [
        f"addr add {node.address}/24 dev eth0",
        "link set eth0 up",
        "link set lo up",
        f"route add default via {lab.gateway}",
    ]
    call("ip", "-n", space, "-batch", "-", text="\n".join(commands))
    return f"/run/netns/{space}"


def detach(lab: Lab, node: Node) -> None:
    """Undo ``attach``; also what an ``attach`` that was killed half-way left."""
    space, cable = namespace(lab, node), _cable(lab, node.index)
    if Path("/run/netns", space).exists() and not succeeds("ip", "netns", "del", space):
        Path("/run/netns", space).unlink(missing_ok=True)  # a bare file: the mount was never made
    if _exists(cable):
        succeeds("ip", "link", "del", cable)  # it also goes by itself when the last process of the namespace ends


def _exists(interface: str) -> bool:
    return succeeds("ip", "link", "show", "dev", interface)  # /sys may be of another network than ours, in a container for one


def raise_limits(nodes: int) -> dict[str, str]:
    """Make room for many systemds on one kernel and switch on forwarding; returns the earlier values of what was changed."""
    wanted = {
        "net/ipv4/ip_forward": 1,
        "fs/inotify/max_user_instances": 128 + 64 * nodes,
        "fs/inotify/max_user_watches": 8192 + 2048 * nodes,
    }
    earlier: dict[str, str] = {}
    for name, least in wanted.items():
        path = Path("/proc/sys", name)
        try:
            value = path.read_text(encoding="ascii").strip()
            if int(value) < least:
                path.write_text(f"{least}\n", encoding="ascii")
                earlier[name] = value
        except OSError as error:
            raise ProvisionError(f"cannot set the kernel parameter {name.replace('/', '.')} to {least}", why=str(error)) from error
    return earlier


def restore_limits(earlier: dict[str, str]) -> None:
    """Put back what ``raise_limits`` changed."""
    for name, value in earlier.items():
        Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")
