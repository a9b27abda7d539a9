"""What the transport's tests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from provisioner.schema.registry import Registry
from provisioner.schema.shipping import sources_of
from provisioner.transport.connect import Connector
from tests.transport import sshd as servers

PROBES = Path(__file__).parent / "probes"


def source_of(module: str) -> Mapping[str, str]:
    """The sources of a module: one of these tests, or a built-in one."""
    if not (PROBES / f"{module}.py").exists():
        info = Registry().find(module)
        assert info is not None, module
        return sources_of(info)
    return {f"shipped.{module}": (PROBES / f"{module}.py").read_text()}


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Sshd]:
    """A private sshd, shared by the tests of a file."""
    yield from servers.running()


@pytest.fixture
def sshd(server: servers.Sshd) -> Iterator[servers.Sshd]:
    """The server as it was at first: key trusted, no sudo, plain shell, nothing in the way."""
    yield server
    server.trust()
    server.sudoers("")
    if server.options:
        server.options = []
        server.start()


@pytest.fixture
def connect() -> Connector:
    """A connector that knows the test modules and waits for no lock."""
    return Connector(source_of, who="the tests", lock_wait=0.0)
