"""An ansible-core of a few lines and a collection, both written for these tests; and the real one where it is installed.

The pretended one holds what a node needs (``core/ansible/module_utils``), and refuses to be imported on the controller.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from provisioner.bridge.bridge import Bridge
from provisioner.bridge.core import Core, find_core
from provisioner.schema.registry import Registry
from provisioner.transport.connect import Connector
from tests.cli.conftest import Project, project

__all__ = ["project"]
HERE = Path(__file__).parent
CORE = HERE / "core"
COLLECTIONS = HERE / "collections"


def real_core() -> str | None:
    """The virtual environment of the stock Ansible that peer tests compare with."""
    found = shutil.which("ansible-playbook", path=os.pathsep.join((os.environ.get("PROVISION_PEERS", ""), os.environ.get("PATH", ""))))
    return str(Path(found).resolve().parent.parent) if found else None


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is everybody's node: runs of other tests hold its lock, and are waited for."""
    defaults = Connector.__init__.__kwdefaults__
    assert defaults is not None
    assert "lock_wait" in defaults
    monkeypatch.setitem(defaults, "lock_wait", 100.0)


@pytest.fixture
def core() -> Core:
    """The pretended installation."""
    found = find_core(str(CORE))
    assert found is not None
    return found


@pytest.fixture
def registry(core: Core) -> Registry:
    """Modules of the pretended installation and the collection."""
    return Registry(collections=[COLLECTIONS])


@pytest.fixture
def bridge(core: Core, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bridge:
    """A bridge over them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    made = Bridge(core, registry)
    registry.use_core(core.modules, lambda collection: made.routing.redirects(collection, "modules"))
    return made


@pytest.fixture
def bridged(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose foreign modules find the pretended installation."""
    monkeypatch.setenv("ANSIBLE_PATH", str(CORE))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS))
    return project
