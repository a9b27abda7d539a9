"""Mounted file systems and block devices."""

from __future__ import annotations

import os

from .reading import text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VIRTUAL = (
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "mqueue",
    "debugfs",
    "tracefs",
    "securityfs",
    "pstore",
    "bpf",
    "configfs",
    "fusectl",
    "hugetlbfs",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "nsfs",
    "efivarfs",
    "selinuxfs",
)


def mounts() -> dict[str, Any]:
    """What is mounted, with sizes in bytes."""
    found = []
    by_uuid = _links("/dev/disk/by-uuid")
    for line in text("/proc/mounts").splitlines():
        device, path, kind, options, *rest = line.split(" ")
        if kind in VIRTUAL or not (device.startswith(("/", "\\")) or ":/" in device or kind in ("zfs", "overlay", "tmpfs", "fuse")):
            continue
        if kind in ("tmpfs", "devtmpfs") or (kind == "overlay" and path != "/"):
            continue
        path = _unescaped(path)
        entry: dict[str, Any] = {
            "device": _unescaped(device),
            "mount": path,
            "fstype": kind,
            "options": options,
            "dump": int(rest[0]) if rest else 0,
            "passno": int(rest[1]) if len(rest) > 1 else 0,
            "uuid": by_uuid.get(os.path.basename(os.path.realpath(device)), "N/A"),
        }
        entry.update(_sizes(path))
        found.append(entry)
    return {"mounts": found}


def _sizes(path: str) -> dict[str, int]:
    try:
        seen = os.statvfs(path)
    except OSError:
        return {}
    return {
        "size_total": seen.f_frsize * seen.f_blocks,
        "size_available": seen.f_frsize * seen.f_bavail,
        "block_size": seen.f_bsize,
        "block_total": seen.f_blocks,
        "block_available": seen.f_bavail,
        "block_used": seen.f_blocks - seen.f_bavail,
        "inode_total": seen.f_files,
        "inode_available": seen.f_favail,
        "inode_used": seen.f_files - seen.f_favail,
    }


def _unescaped(path: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, char)
    return path


def _links(folder: str) -> dict[str, str]:
    """Device name → name of a link to it."""
    try:
        return {os.path.basename(os.path.realpath(os.path.join(folder, name))): name for name in os.listdir(folder)}
    except OSError:
        return {}


def devices() -> dict[str, Any]:
    """Block devices with their partitions."""
    uuids, labels, ids = _links("/dev/disk/by-uuid"), _links("/dev/disk/by-label"), _links("/dev/disk/by-id")
    found: dict[str, Any] = {}
    try:
        names = sorted(os.listdir("/sys/block"))
    except OSError:
        names = []
    for name in names:
        base = f"/sys/block/{name}"
        sectors = int(word(f"{base}/size", "0"))
        partitions = {}
        for part in sorted(os.listdir(base)):
            if part.startswith(name) and os.path.exists(f"{base}/{part}/partition"):
                count = int(word(f"{base}/{part}/size", "0"))
                partitions[part] = {
                    "sectors": str(count),
                    "start": word(f"{base}/{part}/start", "0"),
                    "sectorsize": "512",
                    "size": _human(count * 512),
                    "uuid": uuids.get(part),
                    "links": _linked(part, uuids, labels, ids),
                }
        found[name] = {
            "vendor": word(f"{base}/device/vendor", "") or None,
            "model": word(f"{base}/device/model", "") or None,
            "serial": word(f"{base}/device/serial", "") or None,
            "removable": word(f"{base}/removable", "0"),
            "rotational": word(f"{base}/queue/rotational", "0"),
            "sectors": str(sectors),
            "sectorsize": word(f"{base}/queue/logical_block_size", "512"),
            "size": _human(sectors * 512),
            "partitions": partitions,
            "holders": sorted(os.listdir(f"{base}/holders")) if os.path.isdir(f"{base}/holders") else [],
            "links": _linked(name, uuids, labels, ids),
        }
    return {
        "devices": found,
        "device_links": {
            "uuids": {k: [v] for k, v in uuids.items()},
            "labels": {k: [v] for k, v in labels.items()},
            "ids": {k: [v] for k, v in ids.items()},
            "masters": {},
        },
    }


def _linked(name: str, uuids: dict[str, str], labels: dict[str, str], ids: dict[str, str]) -> dict[str, list[str]]:
    tables = {"uuids": uuids, "labels": labels, "ids": ids}
    return {kind: [table[name]] if name in table else [] for kind, table in tables.items()} | {"masters": []}


def _human(size: float) -> str:
    for unit in ("Bytes", "KB", "MB", "GB", "TB", "PB"):
        if size < 1024 or unit == "PB":
            return f"{size:.2f} {unit}"
        size /= 1024
    return ""
