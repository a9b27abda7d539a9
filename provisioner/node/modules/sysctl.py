"""A kernel parameter, now and after the next boot."""

from __future__ import annotations

from ..declare import Module, Params, option, required_if
from ..faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class SysctlParams(Params):
    """Parameters of ``sysctl``."""

    name: str = option("The dotted key.", aliases=("key",))
    value: str | None = option("The wanted value.", None, aliases=("val",))
    state: str = option("Keep the entry in the file, or remove it.", "present", choices=("present", "absent"))
    sysctl_file: str = option("The file that keeps it over reboots.", "/etc/sysctl.conf", kind="path")
    sysctl_set: bool = option("Also set it in the running kernel and make sure that it took.", False)
    reload: bool = option("Load the file when it was changed.", True)
    ignoreerrors: bool = option("Pass over keys the kernel does not know.", False)


def run(node: Node, p: SysctlParams) -> dict[str, Any]:
    """The file first, then the kernel."""
    name = p.name.strip()
    wanted = " ".join(_text(p.value).split())
    if p.state == "present" and not wanted:
        node.fail("value is empty: give the kernel parameter a value, or state: absent")
    path = node.files.expand(p.sysctl_file)
    old = node.files.read(path).decode("utf-8", "surrogateescape") if node.files.exists(path) else ""
    new = _edited(old, name, wanted if p.state == "present" else None)
    if new != old:
        _set_live(node, p, name, wanted)
        node.files.write(path, new)
    elif p.sysctl_set and p.state == "present":
        _set_live(node, p, name, wanted, always=True)
    return {"name": name, "value": wanted, "state": p.state}


def _text(value: Any) -> str:
    return "" if value is None else {True: "1", False: "0"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _edited(text: str, name: str, value: str | None) -> str:
    """The file with one line for the key (the last, others of it go), or none; equal but for spacing is equal."""
    lines = text.splitlines(keepends=True)
    mine = [index for index, line in enumerate(lines) if _key(line) == name]
    if value is None:
        return "".join(line for index, line in enumerate(lines) if index not in mine)
    if len(mine) == 1 and " ".join(lines[mine[0]].partition("=")[2].split()) == value:
        return text
    entry = f"{name}={value}\n"
    if not mine:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        return "".join([*lines, entry])
    lines[mine[-1]] = entry
    return "".join(line for index, line in enumerate(lines) if index not in mine[:-1])


def _key(line: str) -> str:
    stripped = line.strip()
    if not stripped or stripped[0] in "#;":
        return ""
    return stripped.partition("=")[0].strip().lstrip("-")


def _set_live(node: Node, p: SysctlParams, name: str, wanted: str, *, always: bool = False) -> None:
    """Set the running kernel, as loading the file would; an unknown key is a failure unless told otherwise."""
    if p.state == "absent" or not (p.reload or p.sysctl_set or always):
        return
    if node.values.get("sysctl", name) is None:
        if p.ignoreerrors:
            return
        raise Fail(f"the kernel has no parameter {name}; is the module loaded that brings it? ignoreerrors: true passes over it")
    node.values.ensure("sysctl", name, wanted, target=f"kernel parameter {name}")


MODULE = Module(
    name="sysctl",
    summary="A kernel parameter, now and after the next boot.",
    params=SysctlParams,
    run=run,
    collection="ansible.posix",
    rules=(required_if("state", "present", "value"),),
    resource=(("path", "sysctl_file"),),
    examples="- sysctl: {name: vm.swappiness, value: '10', sysctl_set: true, sysctl_file: /etc/sysctl.d/90-gpu.conf}\n",
)
