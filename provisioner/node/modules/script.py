"""Run a script that the controller has, on the node."""

from __future__ import annotations

from ..content import content_of
from ..declare import Module, option
from ..invocation import InvocationParams, invoke, not_needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class ScriptParams(InvocationParams):
    """Parameters of ``script``."""

    cmd: str = option("Path of the script on the controller, and its arguments.", aliases=("_raw_params",))
    content: Any = option("The script itself, which the controller fills in.", None, kind="content")
    decrypt: bool = option("Decrypt a vaulted script.", True)


def run(node: Node, p: ScriptParams) -> dict[str, Any]:
    """Run it from a folder of its own, which goes afterwards."""
    skipped = not_needed(node, p, p.cmd)
    if skipped:
        # Unlike command and shell, Ansible's script counts this as skipped.
        return {**skipped, "skipped": True}
    import shlex

    content = content_of(p.content if p.content is not None else b"")
    with _Kept(content.bytes()) as path:
        # A script without a "#!" line is the shell's.
        first = content.bytes()[:2] == b"#!"
        argv = [p.executable, path] if p.executable else ([path] if first else ["/bin/sh", path])
        values = {**p.as_dict(), "executable": None, "strip_empty_ends": False}
        result = invoke(
            node,
            _invocation(values),
            argv=[*argv, *shlex.split(p.cmd)[1:]],
            command=p.cmd,
            display=f"{p.cmd} (sha256 {content.digest[:12]})",
        )
    return {key: value for key, value in result.items() if key not in ("cmd", "msg")}


def _invocation(values: dict[str, Any]) -> InvocationParams:
    """Only the fields that running a command knows."""
    return InvocationParams(**{key: value for key, value in values.items() if key in InvocationParams.__fields__})


class _Kept:
    """A private file while the script runs. Nothing is written before the sink really runs it: the content is put in a memory file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._descriptor = -1

    def __enter__(self) -> str:
        import os

        self._descriptor = os.memfd_create("script", 0)
        os.write(self._descriptor, self._data)
        os.fchmod(self._descriptor, 0o700)
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def __exit__(self, *_exception: object) -> None:
        import os

        os.close(self._descriptor)


MODULE = Module(
    name="script",
    summary="Run a script that the controller has, on the node.",
    params=ScriptParams,
    run=run,
    free_form="cmd",
    examples="- script: files/collect.sh --all\n",
)
