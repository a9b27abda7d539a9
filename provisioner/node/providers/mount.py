"""What is mounted: the key is a path, the value ``{"src", "fstype", "opts"}`` or None."""

from __future__ import annotations

from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..live import Live


def read(host: Live, key: str) -> dict[str, str] | None:  # noqa: ARG001 - one signature for all providers
    """The last thing mounted at the path."""
    found = None
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            device, path, kind, options, *_rest = line.split(" ")
            if unescaped(path) == key:
                found = {"src": unescaped(device), "fstype": kind, "opts": options}
    return found


def write(host: Live, key: str, value: Any, options: dict[str, Any]) -> None:
    """Mount, remount or unmount."""
    if value is None:
        argv = ["umount", key]
    else:
        argv = ["mount"]
        if options.get("fstab"):
            argv += ["-T", options["fstab"], key]
        else:
            bind = "bind" in str(value.get("opts") or "").split(",")
            argv += [] if bind or not value.get("fstype") or value["fstype"] == "none" else ["-t", value["fstype"]]
            argv += ["-o", value["opts"]] if value.get("opts") else []
            argv += [value["src"], key]
    result = host.execute(argv)
    if result.rc:
        raise Fail(f"{' '.join(argv)} failed: {result.err.strip()}", rc=result.rc, name=key)


def unescaped(path: str) -> str:
    """A field of fstab or mounts with its octal escapes undone."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")):
        path = path.replace(code, char)
    return path
