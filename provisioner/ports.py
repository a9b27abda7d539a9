"""The seam between engine and transports: what a target is, what goes to its agent, and what comes back.

The engine is given a ``Connect`` by the command line and never imports a transport; a transport never imports the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Mode = Literal["apply", "plan"]


@dataclass(frozen=True)
class Become:
    """How the login user becomes another one; ``user`` is whom the agent runs as."""

    method: str = "sudo"
    user: str = "root"
    password: str | None = field(default=None, repr=False)
    flags: str = ""
    exe: str = ""


@dataclass(frozen=True)
class Target:
    """Where a host's agent is started and how, from its ``ansible_*`` variables. ``connection``: ssh, local, docker, podman."""

    host: str
    connection: str = "ssh"
    address: str = ""
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    private_key_file: str | None = None
    ssh_args: str = ""
    """``ansible_ssh_common_args`` and ``ansible_ssh_extra_args`` together."""
    host_key_checking: str = "yes"
    """yes (unknown keys refused), accept-new, no."""
    timeout: float = 10.0
    python: str | None = None
    """``ansible_python_interpreter``; None lets the first stage look for one."""
    become: Become | None = None
    container: str | None = None


@dataclass(frozen=True)
class Background:
    """A step goes on by itself: for how many seconds at most, and in which folder of the node it is noted."""

    limit: float
    folder: str


@dataclass(frozen=True)
class Step:
    """One module call on a node: see ``node.wire`` for the meaning of each field."""

    id: int
    module: str
    params: Mapping[str, Any]
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    diff: bool = False
    maybe: str | None = None
    quiet: bool = False
    trial: bool = False
    real: bool = False
    background: Background | None = None
    notify: tuple[str, ...] = ()


@dataclass
class Reply:
    """What came of a step. ``result`` holds Ansible's return values; unknown parts are ``values.Unknown``."""

    id: int
    result: dict[str, Any]
    changes: list[dict[str, Any]] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    deferred: str | None = None
    tainted: str | None = None
    unknown: str | None = None


@dataclass(frozen=True)
class AgentInfo:
    """What the agent said of itself."""

    python: str
    user: str
    uid: int
    hostname: str
    pending: tuple[str, ...] = ()
    login: str = ""
    """The account of the connection, which is another than ``user`` when the agent was started with ``become``."""


@dataclass(frozen=True)
class Executed:
    """A plain command's end; output is raw bytes. ``timed_out`` commands were killed with their process group."""

    rc: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


class Agent(Protocol):
    """A started agent. Calls may come from any thread, one at a time; a broken stream raises ``HostUnreachable``."""

    info: AgentInfo

    def run(
        self,
        steps: Sequence[Step],
        on_reply: Callable[[Reply], None],
        *,
        contents: Mapping[str, Callable[[], bytes]] | None = None,
        on_progress: Callable[[int, str], None] | None = None,
        on_data: Callable[[int, bytes, bool], None] | None = None,
    ) -> int:
        """Run steps in order until the first failure; returns how many ran. ``contents``: sha256 → reader of what nodes may ask for."""
        ...

    def journal(self, add: Sequence[str] = (), done: Sequence[str] = ()) -> None:
        """Note handlers as notified, or as run, on the node."""
        ...

    def execute(
        self, command: str | Sequence[str], *, stdin: bytes = b"", timeout: float | None = None, user: str | None = None
    ) -> Executed:
        """Run a plain command (text: by a shell) outside any module: for verify, doctor and raw."""
        ...

    def close(self) -> None:
        """End the agent and its connection; safe to call twice."""
        ...


class Connect(Protocol):
    """Starts the agent of a target; raises ``HostUnreachable`` with the reason and the next step."""

    def __call__(self, target: Target, mode: Mode) -> Agent: ...

    def raw(self, target: Target, command: str, timeout: float | None = None) -> Executed:
        """Run a shell command without an agent, for nodes that have no Python yet."""
        ...
