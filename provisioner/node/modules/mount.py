"""A mount point: in fstab, and mounted."""

from __future__ import annotations

from ..declare import Module, Params, option, required_if
from ..faults import UnknownReading
from ..fstab import Wanted, edited, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..api import Node

LISTED = ("mounted", "present", "ephemeral")


class MountParams(Params):
    """Parameters of ``mount``."""

    path: str = option("The mount point.", aliases=("name",), kind="raw")
    state: str = option(
        "In fstab and mounted, only in fstab, neither, …",
        choices=("absent", "absent_from_fstab", "ephemeral", "mounted", "present", "remounted", "unmounted"),
    )
    src: str | None = option("What is mounted: a device, UUID=…, a share.", None, kind="raw")
    fstype: str | None = option("File system type.", None)
    opts: str | None = option("Options.", None)
    dump: str = option("Dump field.", "0")
    passno: str = option("Check order.", "0")
    boot: bool = option("Mount at boot (false adds noauto).", True)
    fstab: str | None = option("Another fstab, which is then not mounted by the system's.", None, kind="path")
    backup: bool = option("Keep a dated copy of fstab.", False)
    opts_no_log: bool = option("Keep the options out of logs.", False)


def run(node: Node, p: MountParams) -> dict[str, Any]:
    """fstab first, then the mount itself."""
    path = p.path.rstrip("/") or "/"
    fstab = p.fstab or "/etc/fstab"
    result: dict[str, Any] = {
        "name": path,
        "fstab": fstab,
        "dump": p.dump,
        "passno": p.passno,
        "src": p.src,
        "fstype": p.fstype,
        "opts": _options(p),
    }
    if p.state in ("mounted", "present"):
        entry = {"src": p.src, "fstype": p.fstype, "opts": _options(p) if p.opts is not None or not p.boot else None}
        wanted = Wanted(path=path, **entry, dump=p.dump, passno=p.passno)
        result["backup_file"] = _store(node, p, fstab, lambda lines: edited(lines, wanted))
    elif p.state in ("absent", "absent_from_fstab"):
        result["backup_file"] = _store(node, p, fstab, lambda lines: without(lines, path, p.src))
    if p.state == "mounted":
        _mount(node, p, path, fstab)
    elif p.state == "ephemeral":
        _ephemeral(node, p, path)
    elif p.state == "remounted":
        _remount(node, p, path)
    elif p.state in ("absent", "unmounted") and node.values.get("mount", path) is not None:
        node.values.ensure("mount", path, None, target=f"mount {path}")
    if p.state == "absent" and path not in ("none", "-"):
        _remove_point(node, path)
    return {**result, "backup_file": result.get("backup_file") or "", "boot": "yes" if p.boot else "no"}


def _remove_point(node: Node, path: str) -> None:
    """The mount point goes when it is an empty directory."""
    try:
        state = node.files.lstat(path)
        if state is None or state.kind != "directory" or node.files.names(path):
            return
    except UnknownReading:
        pass  # what was mounted hides it; it may go
    node.files.absent(path)


def _options(p: MountParams) -> str:
    options = p.opts or "defaults"
    if not p.boot and "noauto" not in options.split(","):
        options += ",noauto"
    return options


def _store(node: Node, p: MountParams, fstab: str, edit: Callable[[list[str]], list[str]]) -> str:
    """Edit the table and keep a copy when that is asked for; returns the name of the copy."""
    existed = node.files.exists(fstab)
    old = node.files.read(fstab).decode("utf-8", "surrogateescape").splitlines() if existed else []
    new = edit(old)
    if old == new:
        return ""
    node.files.write(fstab, "".join(f"{line}\n" for line in new), mode=None if existed else "0644", backup=p.backup and existed)
    return next((change.target for change in node.recorder.changes if change.KIND == "write_file" and change.target.endswith("~")), "")


def _mount(node: Node, p: MountParams, path: str, fstab: str) -> None:
    now = node.values.get("mount", path)
    if now is None:
        if not node.files.exists(path):
            node.files.directory(path)
        _ensure(node, path, p, {"fstab": fstab} if p.fstab else {})
    elif any(change.target == fstab for change in node.recorder.changes):
        _again(node, path, "")


def _ensure(node: Node, path: str, p: MountParams, options: dict[str, Any]) -> None:
    value = {"src": p.src or "", "fstype": p.fstype or "", "opts": _options(p)}
    node.values.ensure("mount", path, value, target=f"mount {path}", options=options)


def _ephemeral(node: Node, p: MountParams, path: str) -> None:
    now = node.values.get("mount", path)
    if now is None:
        if not node.files.exists(path):
            node.files.directory(path)
        _ensure(node, path, p, {})
    elif p.src is not None and now["src"] != p.src:
        node.fail(f"{path} has {now['src']} mounted, not {p.src}; unmount it first", name=path)


def _remount(node: Node, p: MountParams, path: str) -> None:
    now = node.values.get("mount", path)
    if now is None:
        node.fail(f"{path} is not mounted, so it cannot be remounted", name=path)
    _again(node, path, p.opts or "")


def _again(node: Node, path: str, opts: str) -> None:
    """Remount: something that happens, not a state."""
    options = ",".join(part for part in ("remount", opts) if part)
    node.commands.perform(["mount", "-o", options, path], touches=[("value", f"mount:{path}")], what=f"remount {path}")


MODULE = Module(
    name="mount",
    summary="A mount point: in fstab, and mounted.",
    params=MountParams,
    run=run,
    collection="ansible.posix",
    rules=(
        required_if("state", "mounted", "src", "fstype"),
        required_if("state", "present", "src", "fstype"),
        required_if("state", "ephemeral", "src", "fstype"),
    ),
    resource=(("path", "path"),),
    examples="- mount: {path: /data, src: UUID=0000-0000, fstype: xfs, opts: 'noatime', state: mounted}\n",
)
