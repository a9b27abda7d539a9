"""One throw-away node for all tests that need one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from provisioner import lab
from tests.modules.nodes import Node


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    if os.geteuid() != 0:
        pytest.skip("lab nodes need root")
    standing = os.environ.get("PROVISION_TEST_LAB")
    if standing:  # a lab that is up already, for people who write these tests
        kept = Node(next(known for known in lab.list_labs() if known.name == standing))
        yield kept
        kept.close()
        return
    name = f"tm{secrets.token_hex(2)}"
    made = lab.up(1, name=name, gpus=[])
    found = Node(made)
    try:
        yield found
    finally:
        found.close()
        lab.down(name)
