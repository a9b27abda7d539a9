"""Starting Docker where nobody else does, and what is passed to an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import ProvisionError
from provisioner.lab import docker
from provisioner.lab.model import Lab, Node


class Daemon:
    """A dockerd that ends with this code at once, or lives when it is None."""

    def __init__(self, code: int | None) -> None:
        self.returncode = code

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("provisioner.lab.docker.shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("provisioner.lab.docker.os.geteuid", lambda: 0)
    monkeypatch.setattr("provisioner.lab.docker._LOG", tmp_path / "dockerd.log")
    return tmp_path / "dockerd.log"


def test_an_engine_that_answers_is_left_alone(monkeypatch: pytest.MonkeyPatch, installed: Path) -> None:
    monkeypatch.setattr(docker.Engine, "unusable", lambda self: "")
    monkeypatch.setattr("provisioner.lab.docker.subprocess.Popen", lambda *a, **k: pytest.fail("started a second one"))
    assert docker.ensure_engine() == "answers"


def test_a_silent_engine_is_started(monkeypatch: pytest.MonkeyPatch, installed: Path) -> None:
    answers = iter(["no", "not yet", ""])
    started: list[Any] = []
    monkeypatch.setattr(docker.Engine, "unusable", lambda self: next(answers))
    monkeypatch.setattr("provisioner.lab.docker.subprocess.Popen", lambda argv, **k: started.append(argv) or Daemon(None))  # type: ignore[func-returns-value]
    assert docker.ensure_engine() == f"started, log in {installed}"
    assert started == [["dockerd"]]


def test_an_engine_that_dies_shows_its_last_words(monkeypatch: pytest.MonkeyPatch, installed: Path) -> None:
    def start(argv: list[str], **options: Any) -> Daemon:
        options["stdout"].write(b"first\nfailed to mount overlay\n")
        options["stdout"].flush()
        return Daemon(1)

    monkeypatch.setattr(docker.Engine, "unusable", lambda self: "no")
    monkeypatch.setattr("provisioner.lab.docker.subprocess.Popen", start)
    with pytest.raises(ProvisionError, match="does not come up") as caught:
        docker.ensure_engine(within=5)
    assert "failed to mount overlay" in caught.value.why


def test_without_docker_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provisioner.lab.docker.shutil.which", lambda name: None)
    with pytest.raises(ProvisionError) as caught:
        docker.ensure_engine()
    assert "apt install docker.io" in caught.value.help


def test_the_machine_itself_cannot_be_an_image(tmp_path: Path) -> None:
    lab = Lab("x", tmp_path, "docker", "machine", 3)
    with pytest.raises(ProvisionError, match="needs an image") as caught:
        docker.Engine().prepare(lab, tmp_path, lambda text: None)
    assert "nspawn" in caught.value.help


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_has_its_node_s_name_and_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str) -> None:
    calls: list[tuple[str, ...]] = []

    def call(*argv: str) -> str:
        calls.append(argv)
        return ""

    monkeypatch.setattr("provisioner.lab.docker.call", call)
    monkeypatch.setattr("provisioner.lab.docker.cgroups.hierarchies", lambda: [Path("/sys/fs/cgroup")])
    monkeypatch.setattr("provisioner.lab.docker.succeeds", lambda *argv: True)
    lab = Lab("x", tmp_path, engine, "bookworm", 3)
    docker.Engine(engine)._create(lab, Node("x-2", 2, "10.213.3.2", "k"), Path("/images/bookworm-abc"))
    (words,) = calls
    assert words[:2] == (engine, "create")
    assert {"--name=provision-x-2", "--hostname=x-2", "--ip=10.213.3.2", "--network=provision-lab-x"} <= set(words)
    assert set(docker.CONTAINER_OPTIONS) <= set(words)
    assert words[-2:] == ("provision-lab:bookworm-abc", "/usr/lib/provision-lab/init")
