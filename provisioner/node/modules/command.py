"""Run a program, without a shell."""

from __future__ import annotations

from ..declare import Module, option
from ..invocation import PLANNED, InvocationParams, invoke, not_needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class Params(InvocationParams):
    """Parameters of ``command``."""

    cmd: str | None = option(
        "The command line, split into words as a shell would, without any of its expansions.", None, aliases=("_raw_params",)
    )
    argv: list[str] | None = option("The words themselves.", None)
    expand_argument_vars: bool = option("Expand $VARIABLES in the words.", True)


def run(node: Node, p: Params) -> dict[str, Any]:
    """Run it, unless creates or removes says that it is not needed."""
    if p.argv:
        argv = [str(word) for word in p.argv]
    else:
        import shlex

        try:
            argv = shlex.split(p.cmd or "")
        except ValueError as error:
            node.fail(f"cannot split {p.cmd!r} into words: {error}")
    if not argv:
        node.fail("no command given", rc=256)
    words = [node.context.expand(word) for word in argv] if p.expand_argument_vars else argv
    return not_needed(node, p, argv) or invoke(node, p, argv=words, command=argv)


MODULE = Module(
    name="command",
    summary="Run a program, without a shell.",
    params=Params,
    run=run,
    free_form="cmd",
    notes=PLANNED,
    examples="""
- name: Which driver is loaded
  command: cat /proc/driver/nvidia/version
  changed_when: false
- name: Build once
  command: {argv: [make, install], chdir: /usr/src/tool, creates: /usr/local/bin/tool}
""",
)
