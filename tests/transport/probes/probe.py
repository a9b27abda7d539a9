"""A module of the tests: waits, runs, asks and breaks on request."""

from __future__ import annotations

import os
import time

from provisioner.node.declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.node.api import Node


class ProbeParams(Params):
    """What to do."""

    do: str = option("Which of the functions below.", "pid")
    text: Any = option("What it is given.", "")
    content: Any = option("A content.", None)


def run(node: Node, p: ProbeParams) -> dict[str, Any]:
    """Do it."""
    if p.do == "pid":
        return {"pid": os.getpid()}
    if p.do == "echo":
        return {"text": p.text}
    if p.do == "sleep":
        time.sleep(float(p.text))
    if p.do == "shell":
        from provisioner.node import process

        end = process.run(["/bin/sh", "-c", p.text], uninterruptible=False)
        return {"rc": end.rc, "stdout": end.out}
    if p.do == "transaction":
        from provisioner.node import process

        process.run(["/bin/sh", "-c", p.text], uninterruptible=True)
    if p.do == "change":
        node.commands.run(shell=p.text)
    if p.do == "progress":
        node.progress(p.text)
    if p.do == "noise":
        # A module's stray output must not get between the frames.
        print("PVN1 stray", flush=True)
        os.write(1, b"PVN1" * 100)
        os.system("echo PVN1 from a child; cat")
        return {"read": os.read(0, 10).decode()}
    if p.do == "content":
        return {"size": len(p.content.bytes()), "digest": p.content.digest}
    if p.do == "raise":
        raise RuntimeError(p.text)
    if p.do == "exit":
        os._exit(7)
    if p.do == "fail":
        node.fail(p.text)
    if p.do == "send":
        assert node.context.send is not None
        node.context.send(iter([b"one", b"two"]))
    return {}


MODULE = Module(name="probe", summary="Test.", params=ProbeParams, run=run)
