"""Run a command line by a shell."""

from __future__ import annotations

from ..declare import Module, option
from ..invocation import PLANNED, InvocationParams, invoke, not_needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class Params(InvocationParams):
    """Parameters of ``shell``."""

    cmd: str = option("The command line.", aliases=("_raw_params",))


def run(node: Node, p: Params) -> dict[str, Any]:
    """Run it, unless creates or removes says that it is not needed."""
    return not_needed(node, p, p.cmd) or invoke(node, p, shell=p.cmd, command=p.cmd)


MODULE = Module(
    name="shell",
    summary="Run a command line by a shell.",
    params=Params,
    run=run,
    free_form="cmd",
    notes=PLANNED,
    examples="""
- name: GPUs by PCI
  shell: lspci -n -d 10de: | wc -l
  register: gpus
  changed_when: false
""",
)
