"""Agents on this machine whose lasting files are in a folder of the test, and what to ask them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provisioner.ports import Mode, Reply, Step, Target
from provisioner.transport.client import Client
from provisioner.transport.connect import Connector
from tests.transport.conftest import source_of

ISOLATED = """\
exec unshare --mount --propagation private /bin/sh -c '
for place in run var/cache var/lib; do mkdir -p "$0/$place"; mount --bind "$0/$place" "/$place" || exit 125; done
exec "$@"' {folder} {python} "$@"
"""
"""A Python that sees folders of the test where agents keep what they keep."""


class Node:
    """Starts agents, all on one node whose lasting files are in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agents: list[Client] = []
        wrapper = folder / "python"
        wrapper.write_text(ISOLATED.format(folder=folder, python=sys.executable))
        self.target = Target("here", connection="local", python=f"/bin/sh {wrapper}")

    def __call__(self, mode: Mode = "apply", **terms: Any) -> Client:
        started = Connector(source_of, **{"who": "the tests", "lock_wait": 0.0, **terms})(self.target, mode)
        self.agents.append(started)
        return started

    @property
    def cache(self) -> Path:
        """Where agents keep compiled code."""
        return self.folder / "var/cache/provision"

    @property
    def journal(self) -> Path:
        """Where agents note handlers."""
        return self.folder / "var/lib/provision/handlers.json"


def probe(do: str, text: Any = "", number: int = 1, **fields: Any) -> Step:
    return Step(number, "probe", {"do": do, "text": text, **fields.pop("params", {})}, **fields)


def run(agent: Client, *steps: Step, **options: Any) -> list[Reply]:
    replies: list[Reply] = []
    ran = agent.run(steps, replies.append, **options)
    assert ran == len(replies)
    return replies


def until(true: Callable[[], bool], patience: float = 20.0) -> bool:
    deadline = time.monotonic() + patience
    while not true():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def running(text: str) -> bool:
    return subprocess.run(["pgrep", "-f", text], capture_output=True).returncode == 0
