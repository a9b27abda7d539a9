"""One lab for all of these tests; each test has a project folder and, on the nodes, a scratch folder of its own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner import lab
from tests.e2e.fleet import Fleet

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need nodes."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.nodes)
            item.add_marker(pytest.mark.timeout(180))
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="lab nodes need root"))


@pytest.fixture(scope="session")
def nodes() -> Iterator[lab.Lab]:
    """Three nodes without GPUs. A test that spoils one makes it new: see ``renewed``."""
    name = f"ft{secrets.token_hex(2)}"
    try:
        yield lab.up(3, name=name, gpus=[])
    finally:
        if name in {known.name for known in lab.list_labs()}:
            lab.down(name)


@pytest.fixture
def fleet(nodes: lab.Lab, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """The nodes and an empty project. What is costly to derive from our own sources is kept between tests."""
    (tmp_path / "home").mkdir()
    return Fleet(nodes, tmp_path, {"XDG_CACHE_HOME": str(tmp_path_factory.getbasetemp() / "cache")})


@pytest.fixture
def w(fleet: Fleet) -> str:
    """A folder on every node that only this test uses; it does not exist yet."""
    return f"/srv/{secrets.token_hex(4)}"
