"""A mount point: in fstab, and mounted."""

from __future__ import annotations

from ..declare import Module, Params, option, required_if

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        result["backup_file"] = _edit(node, p, path, fstab)
    elif p.state in ("absent", "absent_from_fstab"):
        result["backup_file"] = _drop(node, p, path, fstab)
    if p.state == "mounted":
        _mount(node, p, path, fstab)
    elif p.state == "ephemeral":
        _ephemeral(node, p, path)
    elif p.state == "remounted":
        _remount(node, p, path)
    elif p.state in ("absent", "unmounted") and node.values.get("mount", path) is not None:
        node.values.ensure("mount", path, None, target=f"mount {path}")
    if p.state == "absent" and path not in ("none", "-") and node.files.exists(path):
        state = node.files.lstat(path)
        if state is not None and state.kind == "directory" and not node.files.names(path):
            node.files.absent(path)
    return {**result, "backup_file": result.get("backup_file") or "", "boot": "yes" if p.boot else "no"}


def _options(p: MountParams) -> str:
    options = p.opts or "defaults"
    if not p.boot and "noauto" not in options.split(","):
        options += ",noauto"
    return options


def _escaped(text: str) -> str:
    return text.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011").replace("#", "\\043")


def _read(node: Node, fstab: str) -> list[str]:
    return node.files.read(fstab).decode("utf-8", "surrogateescape").splitlines() if node.files.exists(fstab) else []


def _split(line: str) -> tuple[list[str], str] | None:
    """Fields and trailing comment of an entry; None for lines that are none."""
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    body, hash_, comment = line.partition(" #")
    fields = body.split()
    return (fields, (hash_ + comment).strip() if hash_ else "") if len(fields) >= 3 else None


def _is_ours(p: MountParams, fields: list[str], path: str) -> bool:
    """Whether an entry is the one meant: by mount point, and for swap (which has none) by device."""
    if fields[1] in ("none", "swap", "-") or path in ("none", "swap", "-"):
        return fields[1] == path and fields[0] == _escaped(p.src or "")
    return fields[1].rstrip("/") == _escaped(path).rstrip("/")


def _edit(node: Node, p: MountParams, path: str, fstab: str) -> str:
    """Set the entry field by field: what was not asked for (order, spacing, comment, dump and pass) stays."""
    lines = _read(node, fstab)
    new = []
    found = False
    for line in lines:
        parts = _split(line)
        if parts is None or not _is_ours(p, parts[0], path):
            new.append(line)
            continue
        found = True
        new.append(_entry(p, path, parts[0], parts[1], line))
    if not found:
        new.append(f"{_escaped(p.src or '')} {_escaped(path)} {p.fstype} {_options(p)} {p.dump} {p.passno}")
    return _store(node, p, fstab, lines, new)


def _entry(p: MountParams, path: str, fields: list[str], comment: str, line: str) -> str:
    have = [*fields, "0", "0"][: max(6, len(fields))] if len(fields) < 6 else fields
    wanted = list(have)
    wanted[0], wanted[1], wanted[2] = _escaped(p.src or fields[0]), _escaped(path), p.fstype or fields[2]
    wanted[3] = _options(p) if p.opts is not None or not p.boot else (have[3] if len(fields) > 3 else "defaults")
    if p.dump != "0":
        wanted[4] = str(p.dump)
    if p.passno != "0":
        wanted[5] = str(p.passno)
    if wanted[: len(fields)] == fields and wanted[len(fields) :] == ["0"] * (len(wanted) - len(fields)):
        return line
    separator = "\t" if "\t" in line else " "
    return separator.join(wanted) + (f" {comment}" if comment else "")


def _drop(node: Node, p: MountParams, path: str, fstab: str) -> str:
    lines = _read(node, fstab)
    kept = [line for line in lines if (parts := _split(line)) is None or not (_is_ours(p, parts[0], path) and p.src in (None, parts[0][0]))]
    return _store(node, p, fstab, lines, kept)


def _store(node: Node, p: MountParams, fstab: str, old: list[str], new: list[str]) -> str:
    if old == new:
        return ""
    existed = node.files.exists(fstab)
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
