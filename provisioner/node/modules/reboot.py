"""The node's part of a reboot; the controller waits for it to come back."""

from __future__ import annotations

from ..changes import Reboot
from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class RebootParams(Params):
    """Parameters of ``reboot``."""

    pre_reboot_delay: int = option("Seconds to wait before the reboot.", 0)
    post_reboot_delay: int = option("Seconds to wait after it came back.", 0)
    reboot_timeout: int = option("Seconds it may take to come back.", 600)
    connect_timeout: int | None = option("Seconds for one try to connect.", None)
    test_command: str = option("What must succeed before the node counts as back.", "whoami")
    msg: str = option("What logged-in users are told.", "Reboot initiated by provision")
    search_paths: list[str] = option(
        "Where shutdown is looked for; systemd needs none.", ["/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin"]
    )
    boot_time_command: str = option(
        "What tells one boot from the next; the kernel's boot id and PID 1's start by default.", "cat /proc/sys/kernel/random/boot_id"
    )
    reboot_command: str | None = option("What reboots; systemctl reboot by default.", None)


def run(node: Node, p: RebootParams) -> dict[str, Any]:
    """Ask for the reboot; it happens after the answer has gone out."""
    before = boot_mark()
    node.record(Reboot(target="the node", after="rebooted", delay=float(p.pre_reboot_delay), message=p.msg, command=p.reboot_command or ""))
    return {"boot": before, "rebooted": True}


def boot_mark() -> str:
    """What differs from one boot to the next: the kernel's boot id and when PID 1 started (in a container only the latter moves)."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    with open("/proc/1/stat", encoding="ascii", errors="replace") as file:
        started = file.read().rpartition(")")[2].split()[19]
    return f"{boot} {started}"


MODULE = Module(
    name="reboot",
    summary="Boot the node again and wait until it is back.",
    params=RebootParams,
    run=run,
    examples="- reboot: {reboot_timeout: 900}\n",
)
