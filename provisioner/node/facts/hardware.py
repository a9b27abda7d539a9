"""Processor, memory, firmware tables."""

from __future__ import annotations

import os
import time

from .reading import text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DMI = {
    "bios_date": "bios_date",
    "bios_vendor": "bios_vendor",
    "bios_version": "bios_version",
    "board_asset_tag": "board_asset_tag",
    "board_name": "board_name",
    "board_serial": "board_serial",
    "board_vendor": "board_vendor",
    "board_version": "board_version",
    "chassis_asset_tag": "chassis_asset_tag",
    "chassis_serial": "chassis_serial",
    "chassis_vendor": "chassis_vendor",
    "chassis_version": "chassis_version",
    "product_name": "product_name",
    "product_serial": "product_serial",
    "product_uuid": "product_uuid",
    "product_version": "product_version",
    "system_vendor": "sys_vendor",
}
FORMS = {
    "1": "Other",
    "2": "Unknown",
    "3": "Desktop",
    "4": "Low Profile Desktop",
    "5": "Pizza Box",
    "6": "Mini Tower",
    "7": "Tower",
    "8": "Portable",
    "9": "Laptop",
    "10": "Notebook",
    "11": "Hand Held",
    "12": "Docking Station",
    "13": "All In One",
    "14": "Sub Notebook",
    "15": "Space-saving",
    "16": "Lunch Box",
    "17": "Main Server Chassis",
    "23": "Rack Mount Chassis",
    "25": "Multi-system",
    "28": "Blade",
    "29": "Blade Enclosure",
}


def hardware() -> dict[str, Any]:
    """Memory, uptime and the firmware's tables."""
    facts: dict[str, Any] = {**_memory(), "uptime_seconds": int(float(text("/proc/uptime", "0").split()[0]))}
    for name, file in DMI.items():
        facts[name] = word(f"/sys/devices/virtual/dmi/id/{file}")
    form = word("/sys/devices/virtual/dmi/id/chassis_type")
    facts["form_factor"] = FORMS.get(form, form)
    return facts


def _memory() -> dict[str, Any]:
    lines = {}
    for line in text("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if value.split():
            lines[name] = int(value.split()[0]) // 1024
    total, free = lines.get("MemTotal", 0), lines.get("MemFree", 0)
    cached = lines.get("Cached", 0) + lines.get("Buffers", 0)
    swap, swap_free = lines.get("SwapTotal", 0), lines.get("SwapFree", 0)
    return {
        "memtotal_mb": total,
        "memfree_mb": free,
        "swaptotal_mb": swap,
        "swapfree_mb": swap_free,
        "memory_mb": {
            "real": {"total": total, "used": total - free, "free": free},
            "nocache": {"free": free + cached, "used": total - free - cached},
            "swap": {"total": swap, "free": swap_free, "used": swap - swap_free, "cached": lines.get("SwapCached", 0)},
        },
    }


def processor() -> dict[str, Any]:
    """Sockets, cores and threads, from /proc/cpuinfo."""
    names: list[str] = []
    sockets: dict[str, set[str]] = {}
    siblings = 1
    physical, count = "0", 0
    for line in text("/proc/cpuinfo").splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if key == "processor":
            count += 1
            names.append(value)
        elif key in ("vendor_id", "model name", "cpu", "Processor"):
            names.append(value)
        elif key == "physical id":
            physical = value
            sockets.setdefault(physical, set())
        elif key == "core id":
            sockets.setdefault(physical, set()).add(value)
        elif key == "siblings":
            siblings = int(value)
    cores = max((len(found) for found in sockets.values()), default=0) or (count if not sockets else 1)
    packages = len(sockets) or 1
    threads = max(1, siblings // cores) if sockets else 1
    return {
        "processor": names,
        "processor_count": packages,
        "processor_cores": cores,
        "processor_threads_per_core": threads,
        "processor_vcpus": count or packages * cores * threads,
        "processor_nproc": len(os.sched_getaffinity(0)),
    }


def boot_time() -> float:
    """When the node booted, in seconds since 1970."""
    return time.time() - float(text("/proc/uptime", "0").split()[0])
