"""The same for programs: sessions, and the public names of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import provisioner
from provisioner import InputError, load
from provisioner.events import Event, StepFinished
from provisioner.plan.document import SCHEMA

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "inventory.yml").write_text("all: {hosts: {here: {ansible_connection: local}}}\n")
    play = "- hosts: all\n  gather_facts: false\n  tasks:\n"
    play += f'    - copy: {{dest: "{tmp_path}/{{{{ name }}}}", content: x}}\n      tags: files\n    - command: touch {tmp_path}/touched\n'
    (tmp_path / "playbooks" / "site.yml").write_text(play)
    return tmp_path


def test_plan_and_apply(project: Path) -> None:
    inventory = project / "inventory.yml"
    planned = load(inventory, extra_vars={"name": "made"}).plan(tags=["files"])
    assert planned.document["schema"] == SCHEMA
    assert [step["status"] for step in planned.document["steps"]] == ["changed"]
    assert not (project / "made").exists()

    events: list[Event] = []
    applied = load(inventory, extra_vars={"name": "made"}).apply(listener=events.append)
    assert applied.exit_code == 0
    assert (project / "made").read_text() == "x"
    assert sum(isinstance(event, StepFinished) for event in events) == 2


def test_one_session_runs_several_times(project: Path) -> None:
    session = load(project / "inventory.yml", extra_vars={"name": "made"})
    assert session.plan().document["stats"]["changed"] == 2
    assert session.apply(tags=["files"]).document["stats"]["changed"] == 1
    assert session.plan(tags=["files"]).document["stats"]["changed"] == 0


def test_problems_are_raised_together_and_nothing_is_printed(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "playbooks" / "site.yml").write_text("- hosts: all\n  tasks:\n    - cpy: {}\n    - fiel: {}\n")
    with pytest.raises(InputError) as caught:
        load(project / "inventory.yml").apply(limit="nobody")
    assert len(caught.value.diagnostics.errors) == 3
    assert capfd.readouterr() == ("", "")


def test_a_setting_that_does_not_exist_is_no_setting(project: Path) -> None:
    with pytest.raises(TypeError, match="no such setting of a run: fork"):
        load(project / "inventory.yml").apply(fork=5)


def test_public_names() -> None:
    assert provisioner.__all__ == sorted(provisioner.__all__)
    assert len(provisioner.__all__) <= 10
    folders = {path.name for path in (ROOT / "provisioner").iterdir()}
    assert not folders & set(provisioner.__all__), "a package of the same name would take its place once it is imported"
    assert dir(provisioner) == provisioner.__all__
    for name in provisioner.__all__:
        assert getattr(provisioner, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        provisioner.nothing  # noqa: B018


def test_the_package_alone_is_cheap() -> None:
    code = "import sys, provisioner; print(len([m for m in sys.modules if m.startswith('provisioner')]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
