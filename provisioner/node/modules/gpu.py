"""Settings of NVIDIA GPUs: persistence mode, power limit, clocks, compute mode, ECC, MIG."""

from __future__ import annotations

import fnmatch

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

PROVIDER = "gpu"
UNSUPPORTED = "unsupported"


class GpuParams(Params):
    """Parameters of ``gpu``."""

    gpus: list[str] = option(
        "Which: all, UUIDs, PCI addresses, or patterns of model names. Never an index: these move between boots.", ["all"]
    )
    persistence_mode: bool | None = option("Keep the driver loaded while nothing uses the GPU.", None)
    power_limit: Any = option(
        "Watts, or default; must lie within the board's own range. Or a mapping from UUIDs, PCI addresses and patterns of model names to "
        "these: the most exact selector holds, of several patterns the first; boards that none meets stay as they are, with a warning.",
        None,
        kind="raw",
        examples=(250, "default", {"NVIDIA A100*": 300, "Tesla T4": 60}),
    )
    clocks: str | None = option("Lock the GPU clock: MHz, MIN,MAX, or reset.", None)
    compute_mode: str | None = option("Who may use it.", None, choices=("default", "exclusive_process", "prohibited"))
    ecc: bool | None = option("Error correction; in force after the next reboot.", None)
    mig: bool | None = option("MIG mode; in force after a reset or the next reboot.", None)
    expected: int | None = option("How many GPUs there must be. 0: a node without GPUs, such as an image being built, is fine.", None)
    unsupported: str = option("What a board that lacks a setting means.", "fail", choices=("fail", "report"))


def run(node: Node, p: GpuParams) -> dict[str, Any]:
    """Choose the boards, check every wish against every board, then set."""
    found = node.values.get(PROVIDER, "list")
    if found is None:
        node.fail("nvidia-smi is not installed; install the driver first")
    _count(node, p, found)
    broken = [gpu for gpu in found if gpu.get("error")]
    if broken:
        node.fail(f"GPU {broken[0]['bus']} does not answer: {broken[0]['error']}", gpus=found)
    chosen = [gpu for gpu in found if _is_meant(gpu, p.gpus)]
    if not chosen and found:
        names = ", ".join(f"{gpu['bus']} {gpu['name']} {gpu['uuid']}" for gpu in found)
        node.fail(f"no GPU matches {', '.join(p.gpus)}; there are {names}")
    wishes = [(gpu, setting, _wanted(node, p, gpu, setting)) for gpu in chosen for setting in _asked(p, gpu)]
    states: dict[str, dict[str, Any]] = {gpu["uuid"]: {"name": gpu["name"], "bus": gpu["bus"]} for gpu in chosen}
    for gpu, setting, value in wishes:
        if value == UNSUPPORTED:
            states[gpu["uuid"]][setting] = UNSUPPORTED
            continue
        node.values.ensure(
            PROVIDER, f"{gpu['uuid']}/{setting}", value, target=f"GPU {gpu['bus']} {setting.replace('_', ' ')}", options={"bus": gpu["bus"]}
        )
        states[gpu["uuid"]][setting] = value
    reboot = [
        gpu["bus"] for gpu, setting, value in wishes if setting in ("ecc", "mig") and value not in (UNSUPPORTED, gpu[f"{setting}_current"])
    ]
    limits = p.power_limit if isinstance(p.power_limit, dict) else {}
    _tell_unlimited(node, [gpu for gpu in chosen if limits and _limit(p, gpu) is None], limits)
    unmatched = [str(selector) for selector in limits if not any(_is_meant(gpu, [str(selector)]) for gpu in chosen)]
    return {"gpus": states, "found": found, "reboot_required": bool(reboot), "matched": len(chosen), "unmatched": unmatched}


def _tell_unlimited(node: Node, boards: list[dict[str, Any]], limits: dict[str, Any]) -> None:
    """A table may name models that are elsewhere in the fleet; a board that it leaves out is as likely a slip of the pen."""
    for gpu in boards:
        now = f"{gpu['power_limit']:g} W" if isinstance(gpu["power_limit"], float) else "its own"
        names = ", ".join(map(str, limits))
        node.warn(f"no power limit for GPU {gpu['bus']} ({gpu['name']}), it stays at {now}: power_limit names {names}")


def _count(node: Node, p: GpuParams, found: list[dict[str, Any]]) -> None:
    working = [gpu for gpu in found if not gpu.get("error")]
    if p.expected is not None and len(working) != p.expected:
        node.fail(f"{len(working)} of {p.expected} expected GPUs answer", gpus=found)
    if not found and p.expected != 0:
        node.fail("there is no GPU here; expected: 0 says that this is as it should be", gpus=[])


def _is_meant(gpu: dict[str, Any], selectors: list[str]) -> bool:
    for selector in selectors:
        if selector == "all" or selector == gpu["uuid"] or fnmatch.fnmatch(gpu["name"], selector):
            return True
        if ":" in selector and _address(selector) == _address(gpu["bus"]):
            return True
    return False


def _address(text: str) -> str:
    """A PCI address in one form: nvidia-smi writes the domain with eight digits, sysfs with four."""
    parts = text.lower().split(":")
    return ":".join([f"{int(parts[0], 16):04x}" if len(parts) == 3 else "0000", *parts[-2:]])


def _asked(p: GpuParams, gpu: dict[str, Any]) -> list[str]:
    """Settings that were given; persistence mode first, since without it the others are lost when the last client closes."""
    order = ("persistence_mode", "ecc", "mig", "compute_mode", "clocks", "power_limit")
    return [name for name in order if getattr(p, name) is not None and (name != "power_limit" or _limit(p, gpu) is not None)]


def _limit(p: GpuParams, gpu: dict[str, Any]) -> Any:
    """The power limit asked for this board: the board itself before patterns, these in their order."""
    if not isinstance(p.power_limit, dict):
        return p.power_limit
    meant = [str(selector) for selector in p.power_limit if _is_meant(gpu, [str(selector)])]
    exact = [selector for selector in meant if selector == gpu["uuid"] or ":" in selector]
    chosen = next(iter(exact or meant), None)
    return None if chosen is None else p.power_limit[chosen]


def _wanted(node: Node, p: GpuParams, gpu: dict[str, Any], setting: str) -> Any:
    """The value for this board, "unsupported" where that may be, or a failure that names the board and its range."""
    asked = _limit(p, gpu) if setting == "power_limit" else getattr(p, setting)
    now = None if setting == "clocks" else gpu.get(setting)
    if now == UNSUPPORTED:
        if p.unsupported == "fail":
            node.fail(f"GPU {gpu['bus']} ({gpu['name']}) does not support {setting.replace('_', ' ')}; unsupported: report goes on without")
        return UNSUPPORTED
    if setting == "power_limit":
        return _power(node, gpu, asked)
    if setting == "clocks":
        return None if asked == "reset" else (asked if "," in asked else f"{asked},{asked}")
    return asked


def _power(node: Node, gpu: dict[str, Any], asked: Any) -> float:
    if asked == "default":
        return float(gpu["power_default"])
    try:
        watts = float(str(asked).rstrip("Ww "))
    except ValueError:
        node.fail(f"power_limit: {asked!r} is neither a number of watts nor default")
    low, high = gpu["power_min"], gpu["power_max"]
    if UNSUPPORTED in (low, high) or not low <= watts <= high:
        span = f"it takes {low} to {high} W, by default {gpu['power_default']} W"
        node.fail(f"{watts:g} W is not possible for GPU {gpu['bus']} ({gpu['name']}): {span}")
    # nvidia-smi rounds what it shows; a limit within a watt is the same limit.
    now = gpu["power_limit"]
    return now if isinstance(now, float) and abs(now - watts) <= 1.0 else watts


MODULE = Module(
    name="gpu",
    summary="Settings of NVIDIA GPUs: persistence mode, power limit, clocks, compute mode, ECC, MIG.",
    params=GpuParams,
    run=run,
    collection="provision",
    resource=(("value", "gpu:"),),
    notes=(
        "A setting is read back after it was made; the exit status of nvidia-smi alone proves nothing.",
        "Settings other than ECC (and MIG on A100 and A30) are lost at reboot; the role nvidia_power brings them back.",
    ),
    examples="""
- name: 300 W for every A100, whatever else is in the box
  gpu: {gpus: ['NVIDIA A100*'], persistence_mode: true, power_limit: 300}
""",
)
