"""One repository for all tests here, and an apt that may use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.lab import repository
from provisioner.lab.repository import Repository
from tests.lab.repository.apt import Apt


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Built once."""
    return repository.build(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def apt(tmp_path: Path) -> Apt:
    """An apt without sources."""
    return Apt(tmp_path / "apt")


def line(archive: Repository, distribution: str = "debian12") -> str:
    """The CUDA repository as a source."""
    return f"deb [signed-by={archive.keyring('cuda')}] {archive.cuda(distribution, f'file:{archive.folder}')} /"


@pytest.fixture
def debian(apt: Apt, archive: Repository) -> Apt:
    """A Debian machine with the CUDA repository."""
    apt.source("cuda", line(archive))
    text, code = apt.update()
    assert code == 0, text
    return apt


@pytest.fixture
def ubuntu(apt: Apt, archive: Repository) -> Apt:
    """An Ubuntu 22.04 with its archive, and nothing else."""
    apt.source("ubuntu", f"deb [signed-by={archive.keyring('ubuntu')}] file:{archive.folder}/ubuntu jammy restricted")
    text, code = apt.update()
    assert code == 0, text
    return apt
