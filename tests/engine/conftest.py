"""Shared by the tests of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.fakes import Project


@pytest.fixture
def one(tmp_path: Path) -> Project:
    """A project with one host."""
    return Project(tmp_path, "h1")


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """A project with three hosts."""
    return Project(tmp_path, "h1", "h2", "h3")
