"""The commands face of ``Node``: run what cannot be foreseen, drive tools, ask tools."""

from __future__ import annotations

import shlex

from .changes import RunCommand
from .faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .api import Node
    from .readings import CommandResult

TAIL = 4000


class Commands:
    """Three ways to run a program, by what it means: ``run`` (a user's command), ``perform`` (a tool we drive), ``query`` (only reads)."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(
        self,
        argv: Sequence[str] = (),
        *,
        shell: str = "",
        executable: str = "",
        chdir: str = "",
        stdin: bytes | None = None,
        touches: Sequence[tuple[str, str]] | None = None,
        display: str = "",
        timeout: float | None = None,
        secret: bool = False,
    ) -> CommandResult:
        """Run a command (``argv``, or a text for a shell) and return its result whatever its exit status.

        This is a change of unforeseeable effect (unless ``touches`` limits it), so when only planning its result is unknown and the
        module ends here.
        """
        result: CommandResult = self._node.record(
            RunCommand(
                target=display or shell or shlex.join(argv),
                after="run",
                secret=secret,
                argv=tuple(argv),
                shell=shell,
                executable=executable,
                chdir=chdir,
                stdin=stdin,
                environment=dict(self._node.context.environment),
                touches=None if touches is None else tuple(touches),
                timeout=timeout,
            )
        )
        return result

    def perform(
        self,
        argv: Sequence[str],
        *,
        touches: Sequence[tuple[str, str]],
        what: str = "",
        chdir: str = "",
        stdin: bytes | None = None,
        environment: dict[str, str] | None = None,
        timeout: float | None = None,
        finish: bool = False,
        before: Any = None,
        after: Any = "run",
        ok: Sequence[int] = (0,),
    ) -> None:
        """Drive a tool whose effect is confined to ``touches``; fails with the tool's own words when its exit status is not in ``ok``.

        ``finish``: the tool must not be killed half-way (package managers). Decide nothing on what it prints: ask again afterwards.
        """
        change = RunCommand(
            target=what or shlex.join(argv),
            before=before,
            after=after,
            argv=tuple(argv),
            chdir=chdir,
            stdin=stdin,
            environment={**self._node.context.environment, **(environment or {})},
            touches=tuple(touches),
            timeout=timeout,
            finish=finish,
        )
        from .faults import ResultUnknown

        try:
            result: CommandResult = self._node.record(change)
        except ResultUnknown:
            return
        if result.rc not in ok:
            raise tool_failed(argv, result)

    def query(
        self,
        argv: Sequence[str],
        *,
        about: Sequence[tuple[str, str]] = (),
        stdin: bytes | None = None,
        timeout: float | None = 60,
        environment: dict[str, str] | None = None,
        ok: Sequence[int] | None = (0,),
    ) -> CommandResult:
        """Run a program that only reads. ``about`` names what its answer depends on: when a pending step may alter one of these, the
        answer is unknown. Fails when its exit status is not in ``ok`` (None: any is fine)."""
        merged = {**self._node.context.environment, **(environment or {})}
        result = self._node.reader.query(argv, about, stdin, timeout, merged)
        if ok is not None and result.rc not in ok:
            raise tool_failed(argv, result)
        return result

    def find(self, name: str) -> str | None:
        """The full path of a program on the usual path (sbin included), or None."""
        if "/" in name:
            return name if self._node.files.exists(name) else None
        for folder in ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"):
            if self._node.files.stat(f"{folder}/{name}") is not None:
                return f"{folder}/{name}"
        return None


def tool_failed(argv: Sequence[str], result: CommandResult) -> Fail:
    """The failure of a tool, with its own last words as the message."""
    words = (result.err.strip() or result.out.strip())[-TAIL:]
    return Fail(f"{shlex.join(argv)} failed with exit status {result.rc}: {words}", rc=result.rc, stdout=result.out, stderr=result.err)
