"""A node of the test's own on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.nodes import Node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """Starts agents, and ends them all."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to give the agent folders of its own")
    made = Node(tmp_path)
    yield made
    for one in made.agents:
        one.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to; those of ``tmp_path`` are root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)
