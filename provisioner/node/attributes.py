"""What file-like modules share: the parameters for mode, ownership and labels, and the return values about a path."""

from __future__ import annotations

from .declare import Params, option
from .faults import UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node


class FileAttributes(Params):
    """Parameters of every module that leaves a file or directory behind."""

    mode: str | None = option("Permissions: octal text ('0644') or symbolic ('u=rw,g=r').", None, kind="mode")
    owner: str | None = option("User name or number that owns it.", None)
    group: str | None = option("Group name or number it belongs to.", None)
    attributes: str | None = option("File flags as chattr takes them, such as '+i'.", None, aliases=("attr",))
    seuser: str | None = option("SELinux user.", None)
    serole: str | None = option("SELinux role.", None)
    setype: str | None = option("SELinux type.", None)
    selevel: str | None = option("SELinux level.", None)
    unsafe_writes: bool = option("Write over the old file instead of renaming, for bind mounts.", False)


def ensure_labels(node: Node, path: str, p: FileAttributes) -> bool:
    """Bring file flags and SELinux labels to what the parameters say; SELinux parts do nothing where SELinux is off, as in Ansible."""
    changed = False
    if p.attributes:
        real = node.files.resolve(path)
        changed = node.values.ensure("chattr", real, _flags(node, real, p.attributes), target=f"flags of {real}")
    wanted = {"user": p.seuser, "role": p.serole, "type": p.setype, "level": p.selevel}
    if any(wanted.values()) and node.files.exists("/sys/fs/selinux/enforce"):
        real = node.files.resolve(path)
        now = str(node.values.get("selinux", real) or ":::").split(":", 3)
        label = ":".join(want or have for want, have in zip(wanted.values(), now))
        changed = node.values.ensure("selinux", real, label, target=f"SELinux label of {real}") or changed
    return changed


def _flags(node: Node, path: str, asked: str) -> str:
    """The full set of flags (sorted letters) that ``asked`` makes of the present ones."""
    now = set(node.values.get("chattr", path) or "")
    sign, letters = (asked[0], asked[1:]) if asked[0] in "+-=" else ("=", asked)
    if sign == "+":
        return "".join(sorted(now | set(letters)))
    if sign == "-":
        return "".join(sorted(now - set(letters)))
    # "e" (extents) is the file system's own business and cannot be taken away.
    return "".join(sorted(set(letters) | (now & {"e"})))


def described(node: Node, path: str, key: str = "path") -> dict[str, Any]:
    """Ansible's return values about a path: mode, owner, group, uid, gid, size, state."""
    try:
        state = node.files.lstat(path)
    except UnknownReading as unknown:
        return {key: path, "state": Unknown(unknown.because)}
    if state is None:
        return {key: path, "state": "absent"}
    kinds = {"link": "link", "directory": "directory", "file": "file"}
    kind = "hard" if state.kind == "file" and state.nlink > 1 else kinds.get(state.kind, state.kind)
    return {
        key: path,
        "state": kind,
        "mode": f"0{state.mode:03o}",
        "owner": state.owner,
        "group": state.group,
        "uid": state.uid,
        "gid": state.gid,
        "size": state.size,
    }
