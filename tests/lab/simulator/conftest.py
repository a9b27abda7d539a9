"""Fixtures: simulated machines in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.simulator.box import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """An empty machine."""
    return Box(tmp_path)


@pytest.fixture
def four(box: Box) -> Box:
    """Four different boards under driver 535."""
    box.boards("A100-SXM4-80GB", "T4", "RTX-4090", "H100-SXM")
    box.driver("535.309.01")
    return box
