"""What the operator asked of a run, apart from playbooks and inventory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from provisioner.engine.factcache import FactCache
from provisioner.ports import Mode
from provisioner.values import Secrets

DEFAULT_FORKS = 50
BECOME_METHODS = ("sudo", "su", "doas", "runuser")
"""Those that ``transport.bootstrap`` knows; Ansible's full names (``ansible.builtin.sudo``) mean the same."""


def _threads(workers: int) -> Executor:
    return ThreadPoolExecutor(max_workers=workers, thread_name_prefix="host")


@dataclass(frozen=True)
class Options:
    """Settings of one run; connection values are defaults that keywords and ``ansible_*`` variables override.

    config_file     the settings file that was read, for ``ansible_config_file``
    forks           how many hosts work at the same time
    executor        makes the pool that hosts run in from a number of workers, which must share this process's memory
    task_timeout    seconds a step may take when the task does not say; None for no limit
    poll_interval   seconds between two looks at a step in the background whose task does not say
    async_dir       folder on the nodes in which steps in the background are noted
    stuck_after     seconds without an answer after which a host is named as stuck
    set_aside_after  seconds without an answer after which the run goes on without the host; None to wait for ever
    stop_after      seconds that hosts may take to stop after an interrupt
    ask             answers a ``vars_prompt`` entry
    gather          "implicit" (plays gather facts unless they say no), "explicit" or "smart" (once a host and run)
    facts           keeps facts between runs; None keeps nothing
    flush_facts     forget what is kept of the hosts first
    run_once        "first" (as Ansible: the first host decides) or "any" (the first host whose condition holds)
    """

    mode: Mode = "apply"
    command: str = ""
    config_file: str | None = None
    limit: str | None = None
    tags: frozenset[str] = frozenset({"all"})
    skip_tags: frozenset[str] = frozenset()
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    forks: int = DEFAULT_FORKS
    diff: bool = False
    start_at_task: str | None = None
    force_handlers: bool = False
    gather: str = "implicit"
    facts: FactCache | None = None
    flush_facts: bool = False
    run_once: str = "first"
    any_errors_fatal: bool = False
    verbosity: int = 0

    connection: str = "ssh"
    remote_user: str | None = None
    port: int | None = None
    password: str | None = field(default=None, repr=False)
    private_key_file: str | None = None
    ssh_args: str = ""
    host_key_checking: str = "yes"
    connect_timeout: float = 10.0
    python: str | None = None
    become: bool = False
    become_user: str = "root"
    become_method: str = "sudo"
    become_password: str | None = field(default=None, repr=False)
    become_flags: str = ""
    become_exe: str = ""

    task_timeout: float | None = None
    poll_interval: float = 15.0
    async_dir: str = "~/.ansible_async"
    stuck_after: float = 60.0
    set_aside_after: float | None = None
    stop_after: float = 5.0
    executor: Callable[[int], Executor] = _threads
    ask: Callable[[Mapping[str, Any]], Any] | None = None
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def planning(self) -> bool:
        """Whether nothing may be changed."""
        return self.mode == "plan"
