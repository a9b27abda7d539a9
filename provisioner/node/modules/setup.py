"""Facts about the node."""

from __future__ import annotations

import fnmatch

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class SetupParams(Params):
    """Parameters of ``setup``."""

    gather_subset: list[str] = option(
        "Which facts: all, min, names of subsets; ! takes away. gpus (NVIDIA's, by nvidia-smi) is not part of all.", ["all"]
    )
    gather_timeout: int = option("Seconds for slow facts; here every single reading has a deadline of its own.", 10)
    filter: list[str] = option("Only facts whose name matches one of these patterns.", [])
    fact_path: str = option("Folder of the owner's own facts.", "/etc/ansible/facts.d", kind="path")


def run(node: Node, p: SetupParams) -> dict[str, Any]:
    """Gather, filter, and return as ``ansible_facts``."""
    from .. import facts
    from ..facts.local import local

    subsets = p.gather_subset or ["all"]
    try:
        names = facts.chosen(subsets)
        gathered = facts.gather(subsets)
    except facts.UnknownSubset as unknown:
        node.fail(
            f"Bad subset '{unknown}' given to Ansible. gather_subset options allowed: all, min, {', '.join(sorted(facts.COLLECTORS))}"
        )
    if "local" in names:
        gathered.update(local(node.files.expand(p.fact_path)))
    if "env" in names:
        gathered["env"] = {**gathered["env"], **node.context.environment}
    found = {**{f"ansible_{name}": value for name, value in gathered.items()}, "gather_subset": subsets, "module_setup": True}
    if any(p.filter) and p.filter != ["*"]:
        patterns = [pattern for each in p.filter if each for pattern in (each, f"ansible_{each}")]
        found = {name: value for name, value in found.items() if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
    return {"ansible_facts": found}


MODULE = Module(
    name="setup",
    summary="Facts about the node.",
    params=SetupParams,
    run=run,
    reads_only=True,
    aliases=("gather_facts",),
    examples="- setup: {gather_subset: ['!all', network]}\n",
)
