"""``provision show`` and ``provision init``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provisioner.cli import main
from provisioner.events import Record
from provisioner.plan.document import make_plan
from provisioner.plan.store import mark_applied, write_plan
from provisioner.project.layout import project_folder
from provisioner.verify.cases import Case, document
from tests.report.samples import MOTD, broken, fleet, run


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    record = Record()
    for event in run([fleet("changed", "banner", changes=(MOTD,))], mode="plan"):
        record(event)
    source = tmp_path / "site.yml"
    source.write_text("- hosts: all\n")
    plan = make_plan(record.document(), options={}, inputs=[source], extra={}, base=tmp_path, tool="0.1.0")
    write_plan(plan, tmp_path / "plan.json")
    return tmp_path / "plan.json"


@pytest.mark.parametrize("form", ["text", "md", "html", "json"])
def test_a_plan_in_every_form(plan_file: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["show", str(plan_file), "--format", form]) == 0
    shown = capsys.readouterr().out
    assert "/etc/motd" in shown
    if form == "json":
        assert "key" not in json.loads(shown)


def test_a_stale_and_used_plan_is_shown_all_the_same(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from provisioner.plan.store import read_plan

    mark_applied(read_plan(plan_file), plan_file)
    (plan_file.parent / "site.yml").write_text("- hosts: none\n")
    assert main.run(["show", str(plan_file)]) == 0
    shown = capsys.readouterr().out
    assert "already applied 20" in shown
    assert "stale, inputs changed since: site.yml" in shown
    assert "+ /etc/motd" in shown


def test_the_record_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record()
    for event in broken():
        record(event)
    (tmp_path / "run.json").write_text(json.dumps(record.document()))
    assert main.run(["show", str(tmp_path / "run.json")]) == 0
    shown = capsys.readouterr().out
    assert "TASK driver : install" in shown
    assert "PENDING HANDLERS" in shown
    assert "SUMMARY 3 hosts: 1 changed, 1 failed, 1 unreachable" in shown
    assert main.run(["show", str(tmp_path / "run.json"), "--format", "html"]) == 1


def test_a_verification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = document([Case("plan", "gpu01", "nothing left to do", "passed")], {"hosts": {"gpu01": {}}, "steps": []}, 1.0)
    (tmp_path / "verify.json").write_text(json.dumps(said))
    assert main.run(["show", str(tmp_path / "verify.json")]) == 0
    assert "VERIFY 1 host: 1 verified" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "this is no JSON"), ("[]", "a JSON object is wanted"), ('{"schema": "x/1"}', "its schema is x/1")],
)
def test_what_cannot_be_shown(tmp_path: Path, content: str | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    if content is not None:
        file.write_text(content)
    assert main.run(["show", str(file)]) == 1
    assert said in capsys.readouterr().err


def test_init_writes_a_project_and_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert main.run(["init", str(folder)]) == 0
    assert (folder / "playbooks" / "site.yml").is_file()
    assert project_folder([str(folder / "inventory" / "hosts.yml")]) == folder
    assert main.run(["init", str(folder)]) == 1
    assert "already has inventory/hosts.yml" in capsys.readouterr().err
