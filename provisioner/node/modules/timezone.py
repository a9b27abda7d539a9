"""The time zone of the node, and what its hardware clock counts."""

from __future__ import annotations

from ..declare import Module, Params, one_of, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

ZONES = "/usr/share/zoneinfo"
LOCALTIME = "/etc/localtime"
NAME = "/etc/timezone"
ADJTIME = "/etc/adjtime"


class TimezoneParams(Params):
    """Parameters of ``timezone``."""

    name: str | None = option("The zone, such as Europe/Berlin.", None)
    hwclock: str | None = option("What the hardware clock counts.", None, choices=("UTC", "local"), aliases=("rtc",))


def run(node: Node, p: TimezoneParams) -> dict[str, Any]:
    """The link for the system, the name for Debian's tools, the line for the hardware clock: files, and nothing else."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    if p.name is not None:
        before["name"], after["name"] = _zone(node), p.name
        _set_zone(node, p.name)
    if p.hwclock is not None:
        before["hwclock"], after["hwclock"] = _clock(node), p.hwclock
        _set_clock(node, p.hwclock)
    return {"diff": {"before": before, "after": after}, **after}


def _zone(node: Node) -> str:
    state = node.files.lstat(LOCALTIME)
    target = node.files.resolve(LOCALTIME) if state is not None and state.kind == "link" else ""
    return target[len(ZONES) + 1 :] if target.startswith(ZONES + "/") else "n/a"


def _set_zone(node: Node, name: str) -> None:
    path = f"{ZONES}/{name}"
    state = node.files.stat(path)
    if state is None or state.kind != "file":
        missing = "" if node.files.exists(ZONES) else f" ({ZONES} is not there: install the package tzdata first)"
        node.fail(f"{name!r} is no time zone known here{missing}; timedatectl list-timezones lists them", name=name)
    if node.files.resolve(LOCALTIME) != node.files.resolve(path) or _zone(node) == "n/a":
        node.files.link(LOCALTIME, path, force=True)
    if node.files.exists(NAME):
        node.files.write(NAME, f"{name}\n")


def _lines(node: Node) -> list[str]:
    text = node.files.read(ADJTIME).decode("ascii", "replace") if node.files.exists(ADJTIME) else ""
    return [*text.splitlines(), "0.0 0 0.0", "0", "UTC"][: max(3, len(text.splitlines()))] if text else ["0.0 0 0.0", "0", "UTC"]


def _clock(node: Node) -> str:
    return "local" if _lines(node)[2].strip() == "LOCAL" else "UTC"


def _set_clock(node: Node, wanted: str) -> None:
    if _clock(node) != wanted:
        lines = _lines(node)
        lines[2] = "LOCAL" if wanted == "local" else "UTC"
        node.files.write(ADJTIME, "".join(f"{line}\n" for line in lines), mode=None if node.files.exists(ADJTIME) else "0644")


MODULE = Module(
    name="timezone",
    summary="The time zone of the node, and what its hardware clock counts.",
    params=TimezoneParams,
    run=run,
    collection="community.general",
    rules=(one_of("name", "hwclock"),),
    resource=(("path", "name"),),
    examples="- timezone: {name: Etc/UTC}\n",
)
