"""A kernel module: loaded now, and at boot."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

FOLDERS = ("/etc/modules-load.d", "/usr/lib/modules-load.d", "/lib/modules-load.d", "/run/modules-load.d")


class ModprobeParams(Params):
    """Parameters of ``modprobe``."""

    name: str = option("The kernel module.")
    state: str = option("Whether it shall be loaded.", "present", choices=("present", "absent"))
    params: str = option("Parameters for the module.", "")
    persistent: str = option("Also at boot: present, absent, or leave it.", "disabled", choices=("disabled", "present", "absent"))


def run(node: Node, p: ModprobeParams) -> dict[str, Any]:
    """Load or unload, then the files for the boot."""
    value = True if p.state == "present" else None
    node.values.ensure("kernel_module", p.name, value, target=f"kernel module {p.name}", options={"params": p.params})
    if p.persistent == "present":
        _keep(node, p)
    elif p.persistent == "absent":
        _forget(node, p.name)
    return {"name": p.name, "params": p.params, "state": p.state}


def _keep(node: Node, p: ModprobeParams) -> None:
    if not any(p.name in names for _path, names in _listed(node)):
        node.files.directory(FOLDERS[0])
        node.files.write(f"{FOLDERS[0]}/{p.name}.conf", f"{p.name}\n", mode="0644")
    if p.params:
        node.files.directory("/etc/modprobe.d")
        node.files.write(f"/etc/modprobe.d/{p.name}.conf", f"options {p.name} {p.params}\n", mode="0644")


def _listed(node: Node) -> list[tuple[str, list[str]]]:
    """Files that load modules at boot, with the names they load."""
    found = []
    for folder in (FOLDERS[0],):
        if not node.files.exists(folder):
            continue
        for name in node.files.names(folder):
            if name.endswith(".conf"):
                path = f"{folder}/{name}"
                lines = node.files.read(path).decode("utf-8", "surrogateescape").splitlines()
                found.append((path, [line.strip() for line in lines if line.strip() and line.strip()[0] not in "#;"]))
    if node.files.exists("/etc/modules"):
        lines = node.files.read("/etc/modules").decode("utf-8", "surrogateescape").splitlines()
        found.append(("/etc/modules", [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]))
    return found


def _forget(node: Node, name: str) -> None:
    """Comment out lines that load the module or give it options, as Ansible does: the file may hold other things."""
    for path, names in _listed(node):
        if name in names:
            _comment_out(node, path, lambda line: line.split()[:1] == [name])
    folder = "/etc/modprobe.d"
    for each in node.files.names(folder) if node.files.exists(folder) else ():
        _comment_out(node, f"{folder}/{each}", lambda line: line.split()[:2] == ["options", name])


def _comment_out(node: Node, path: str, matches: Any) -> None:
    text = node.files.read(path).decode("utf-8", "surrogateescape")
    lines = [f"#{line}" if matches(line) else line for line in text.splitlines(keepends=True)]
    node.files.write(path, "".join(lines))


MODULE = Module(
    name="modprobe",
    summary="A kernel module: loaded now, and at boot.",
    params=ModprobeParams,
    run=run,
    collection="community.general",
    resource=(("value", "name"),),
    examples="- modprobe: {name: nvidia_uvm, persistent: present}\n",
)
