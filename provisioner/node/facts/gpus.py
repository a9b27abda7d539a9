"""NVIDIA GPUs, as the driver tells them; only where they are asked for, since nvidia-smi can take seconds on an idle node."""

from __future__ import annotations

import os

from .reading import output, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELDS = ("index", "uuid", "name", "pci.bus_id", "memory.total", "persistence_mode", "power.limit")
DEADLINE = 60.0
PCI = "/sys/bus/pci/devices"
NVIDIA, DISPLAY = "0x10de", ("0x0300", "0x0302")


def gpus() -> dict[str, Any]:
    """``gpus``: a list, without entry for what has no driver; ``nvidia_driver_version``, where the module is loaded.

    One GPU that is sick spoils the answer for all, so that each is asked for by its address then; one that gives none has its address only.
    """
    argv = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    version = text("/sys/module/nvidia/version").strip()
    lines = output(argv, DEADLINE).splitlines()
    if version and not lines:
        lines = [output([*argv, "-i", bus], DEADLINE).strip() or f",,,{bus}" for bus in addresses()]
    found = [parsed(line) for line in lines if line.count(",") >= 3]
    return {"gpus": found, **({"nvidia_driver_version": version} if version else {})}


def addresses() -> list[str]:
    """PCI addresses of NVIDIA's GPUs."""
    try:
        names = sorted(os.listdir(PCI))
    except OSError:
        return []
    mine = [name for name in names if text(f"{PCI}/{name}/vendor").strip() == NVIDIA]
    return [name for name in mine if text(f"{PCI}/{name}/class").startswith(DISPLAY)]


def parsed(line: str) -> dict[str, Any]:
    """One line of nvidia-smi's table; what a board does not have or tell is left out."""
    words = dict(zip(FIELDS, (word.strip() for word in line.split(","))))
    told = {name: word for name, word in words.items() if word and not word.startswith("[")}
    found: dict[str, Any] = {name: told[name] for name in ("uuid", "name") if name in told}
    if "index" in told:
        found["index"] = int(told["index"])
    if "pci.bus_id" in told:
        found["bus"] = told["pci.bus_id"]
    if "memory.total" in told:
        found["memory_mb"] = int(told["memory.total"])
    if "persistence_mode" in told:
        found["persistence_mode"] = told["persistence_mode"] == "Enabled"
    if "power.limit" in told:
        found["power_limit_watts"] = float(told["power.limit"])
    return found
