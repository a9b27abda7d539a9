"""What came of a step in the background."""

from __future__ import annotations

from ..background import OWN, TOLD, started_at
from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class AsyncStatusParams(Params):
    """Parameters of ``async_status``."""

    jid: str = option("The job: ansible_job_id of the result of the task that started it.")
    mode: str = option("Ask for its state, or remove what is kept of it.", "status", choices=("status", "cleanup"))
    folder: str = option("Where jobs are noted.", "~/.ansible_async", aliases=("_async_dir",), kind="path")


def run(node: Node, p: AsyncStatusParams) -> dict[str, Any]:
    """Read the job's file, or remove it."""
    path = f"{node.files.expand(p.folder)}/{p.jid}"
    about = {"ansible_job_id": p.jid, "stdout": "", "stderr": ""}
    cleaning = p.mode == "cleanup"
    where = {"erased" if cleaning else "results_file": path}
    if "/" in p.jid or not node.files.exists(path):
        node.fail("could not find job", started=True, finished=True, changed=False, **about, **where)
    if cleaning:
        node.files.absent(path)
        return {**about, **where, "started": False, "finished": False, "changed": False}
    import json

    known = json.loads(node.files.read(path))
    own = known.pop(OWN, {})
    found = {"changed": False, **about, **known, **where}
    if not known["finished"] and own and started_at(own["pid"]) != own["since"]:
        found.update(finished=True, failed=True, msg=f"the job ended before it could say what it had done (process {own['pid']})")
    return {**found, OWN: {key: own[key] for key in TOLD if key in own}}


MODULE = Module(
    name="async_status",
    summary="What came of a step in the background.",
    params=AsyncStatusParams,
    run=run,
    reads_only=True,
    examples="""
- name: A long build goes on by itself
  command: make all
  async: 3600
  poll: 0
  register: build
- name: Wait for it
  async_status: {jid: "{{ build.ansible_job_id }}"}
  register: job
  until: job is finished
  retries: 60
  delay: 60
""",
)
