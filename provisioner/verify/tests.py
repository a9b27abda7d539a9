"""The second half of verification: run the suites with pytest, in this process, over connections that were opened for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from provisioner.errors import HostUnreachable, ProvisionError
from provisioner.ports import Agent
from provisioner.verify.backend import make_host
from provisioner.verify.cases import Case
from provisioner.verify.plugin import Variables, VerifyPlugin
from provisioner.verify.suites import Suite


class Agents:
    """One agent a host, started when the first test asks for it; one that could not be started is not tried again."""

    def __init__(self, start: Callable[[str], Agent]) -> None:
        self._start = start
        self._agents: dict[str, Agent] = {}
        self._refused: dict[str, HostUnreachable] = {}
        self._starting: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def start_all(self, hosts: Iterable[str], at_once: int) -> None:
        """Start agents side by side, since each waits for its node; those that cannot be started are noted."""
        with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="verify") as pool:
            for done in [pool.submit(self._try, host) for host in hosts]:
                done.result()

    def _try(self, host: str) -> None:
        try:
            self.of(host)
        except HostUnreachable:
            return  # told by the first test that asks for the host

    def of(self, host: str) -> Agent:
        """The agent of a host; ``HostUnreachable`` when there is none to be had."""
        with self._lock:
            starting = self._starting.setdefault(host, threading.Lock())
        with starting:
            if host in self._refused:
                raise self._refused[host]
            if host not in self._agents:
                try:
                    self._agents[host] = self._start(host)
                except HostUnreachable as error:
                    self._refused[host] = error
                    raise
            return self._agents[host]

    def close(self) -> None:
        """End all of them."""
        for agent in self._agents.values():
            agent.close()


def run_suites(
    suites: Sequence[Suite],
    start: Callable[[str], Agent],
    variables: Variables,
    *,
    base: Path,
    at_once: int = 50,
    on_case: Callable[[Case], None] = lambda case: None,
) -> list[Case]:
    """Run the tests and give a case for each test and host.

    ``base`` is the folder that places are relative to; ``at_once`` limits how many agents are started side by side.
    """
    files = list(dict.fromkeys(str(file.resolve()) for suite in suites for file in suite.files))
    if not files:
        return []
    cases: list[Case] = []

    def keep(case: Case) -> None:
        cases.append(case)
        on_case(case)

    agents = Agents(start)
    names = dict.fromkeys(host for suite in suites for host in suite.hosts)
    hosts = {name: make_host(name, partial(agents.of, name)) for name in names}
    resolved = [Suite(suite.folder, tuple(file.resolve() for file in suite.files), suite.hosts, suite.role) for suite in suites]
    try:
        agents.start_all(names, at_once)
        with _undisturbed():
            code = pytest.main(_arguments(files, base), plugins=[VerifyPlugin(resolved, hosts, variables, keep, base.resolve())])
    finally:
        agents.close()
    if code == pytest.ExitCode.INTERRUPTED and not cases:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) and not any(case.outcome == "error" for case in cases):
        raise ProvisionError(
            "the tests could not be run", why=f"pytest ended with {pytest.ExitCode(code).name}", help="look into conftest.py"
        )
    return cases


def _arguments(files: Sequence[str], base: Path) -> list[str]:
    """pytest as if nothing else were configured: no plugins, settings or caches of whatever project lies around."""
    return [
        *files,
        f"--rootdir={base.resolve()}",
        f"--confcutdir={base.resolve()}",
        "-c",
        os.devnull,
        "--import-mode=importlib",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
    ]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No plugins that happen to be installed, no compiled files beside the tests, no test modules left in memory for the next run."""
    changes: Mapping[str, str] = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = {name: os.environ.get(name) for name in changes}
    bytecode = sys.dont_write_bytecode
    modules = set(sys.modules)
    os.environ.update(changes)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = bytecode
        for name in set(sys.modules) - modules:
            if name.rpartition(".")[2].startswith(("test_", "conftest")):
                del sys.modules[name]
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
