"""An agent that is this machine: enough for what testinfra asks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence

from provisioner.errors import HostUnreachable
from provisioner.ports import AgentInfo, Executed, Reply, Step


class HereAgent:
    """Runs plain commands on this machine; counts them, and can be told to break after some."""

    def __init__(self, *, uid: int = 0, breaks_after: int | None = None) -> None:
        self.info = AgentInfo(python="/usr/bin/python3", user="root" if uid == 0 else "ops", uid=uid, hostname="here")
        self.commands: list[str] = []
        self.closed = False
        self._breaks_after = breaks_after

    def run(
        self,
        steps: Sequence[Step],
        on_reply: Callable[[Reply], None],
        *,
        contents: Mapping[str, Callable[[], bytes]] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
        on_data: Callable[[int, bytes, bool], None] | None = None,
    ) -> int:
        raise NotImplementedError

    def journal(self, add: Sequence[str] = (), done: Sequence[str] = ()) -> None:
        raise NotImplementedError

    def execute(
        self, command: str | Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, user: str | None = None
    ) -> Executed:
        if self._breaks_after is not None and len(self.commands) >= self._breaks_after:
            raise HostUnreachable("the connection broke")
        assert isinstance(command, str)
        self.commands.append(command)
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command], input=stdin, capture_output=True, timeout=timeout, env=dict(os.environ), check=False
            )
        except subprocess.TimeoutExpired:
            return Executed(-9, b"", b"", timed_out=True)
        return Executed(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        self.closed = True
