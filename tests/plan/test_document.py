"""Plan files: what they keep, what they refuse."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import InputError, Refused, UsageError
from provisioner.plan.document import Plan, make_plan
from provisioner.plan.store import exclusive, looks_like_plan, mark_applied, read_plan, write_plan
from tests.plan.test_compare import change, step

BODY: dict[str, Any] = {
    "schema": "provision.plan/1",
    "command": "plan",
    "ok": True,
    "hosts": {"h1": {}},
    "steps": [step("changed", change())],
    "stats": {},
}


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    (tmp_path / "group_vars").mkdir()
    paths = [tmp_path / "site.yml", tmp_path / "group_vars" / "gpu.yml"]
    for path in paths:
        path.write_text(f"# {path.name}\n")
    return paths


def plan(inputs: list[Path], base: Path, **more: Any) -> Plan:
    details: dict[str, Any] = {"options": {"limit": None}, "inputs": inputs, "extra": {"token": "s3cret"}, "base": base, "tool": "0.1.0"}
    return make_plan(BODY, **{**details, **more})


def test_round_trip(tmp_path: Path, inputs: list[Path]) -> None:
    made = plan(inputs, tmp_path)
    file = tmp_path / "plan.json"
    write_plan(made, file)
    assert read_plan(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert looks_like_plan(file)
    assert not looks_like_plan(tmp_path / "site.yml")


def test_the_file_holds_no_value_of_extra_variables_and_the_shown_document_no_key(tmp_path: Path, inputs: list[Path]) -> None:
    made = plan(inputs, tmp_path)
    write_plan(made, tmp_path / "plan.json")
    assert "s3cret" not in (tmp_path / "plan.json").read_text()
    assert "key" not in made.document()


def test_moved_inputs_are_named(tmp_path: Path, inputs: list[Path]) -> None:
    made = plan(inputs, tmp_path)
    assert made.moved_inputs(inputs, tmp_path) == []
    (tmp_path / "group_vars" / "gpu.yml").write_text("branch: 470\n")
    (tmp_path / "site.yml").unlink()
    new = tmp_path / "group_vars" / "all.yml"
    new.write_text("a: 1\n")
    assert made.moved_inputs([*inputs, new], tmp_path) == ["group_vars/all.yml (new)", "group_vars/gpu.yml", "site.yml (gone)"]


def test_extra_variables_are_compared_by_digest(tmp_path: Path, inputs: list[Path]) -> None:
    made = plan(inputs, tmp_path)
    assert not made.variables_differ({"token": "s3cret"})
    assert made.variables_differ({"token": "other"})
    assert made.variables_differ({})


def test_digests_of_contents_are_keyed_and_can_be_compared(tmp_path: Path, inputs: list[Path]) -> None:
    content = step("changed", change(after={"sha256": "a" * 64, "mode": "0600"}))
    made = make_plan({**BODY, "steps": [content]}, options={}, inputs=[], extra={}, base=tmp_path, tool="")
    assert made.steps[0]["changes"][0]["after"]["mode"] == "0600"
    assert made.steps[0]["changes"][0]["after"]["sha256"] != "a" * 64
    assert made.keyed([content]) == made.steps


def test_digests_are_keyed(tmp_path: Path, inputs: list[Path]) -> None:
    assert plan(inputs, tmp_path).inputs != plan(inputs, tmp_path).inputs


def test_a_plan_is_good_for_once(tmp_path: Path, inputs: list[Path]) -> None:
    file = tmp_path / "plan.json"
    write_plan(plan(inputs, tmp_path), file)
    with exclusive(file) as held:
        with pytest.raises(Refused, match="by another process"), exclusive(file):
            pass
        mark_applied(held, file)
    with pytest.raises(Refused, match="already applied 20"), exclusive(file):
        pass
    assert read_plan(file).applied


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "this is no saved plan"),
        ("[]", "this is no saved plan"),
        ('{"schema": "provision.run/1"}', "this is no saved plan"),
        ('{"schema": "provision.plan/9"}', "format provision.plan/9"),
        ('{"schema": "provision.plan/1"}', "'steps' is missing"),
        (
            '{"schema": "provision.plan/1", "steps": [{}], "hosts": {}, "options": {}, "inputs": {}, "variables": {}, "key": ""}',
            "a step without",
        ),
        ('{"schema": "provision.plan/1", "steps": [], "hosts": {}, "options": {}, "inputs": {}, "variables": {}, "key": "zz"}', "damaged"),
    ],
)
def test_files_that_are_no_plans(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_plan(file)


def test_a_plan_that_cannot_be_written(tmp_path: Path, inputs: list[Path]) -> None:
    with pytest.raises(UsageError, match="cannot write the plan"):
        write_plan(plan(inputs, tmp_path), tmp_path / "absent" / "plan.json")


def test_completeness(tmp_path: Path, inputs: list[Path]) -> None:
    made = plan(inputs, tmp_path)
    assert (made.complete, made.errored, made.empty) == (True, False, False)
    body = json.loads(json.dumps(BODY))
    body["steps"] = [step("maybe", change()), step("failed", address="b")]
    other = make_plan(body, options={}, inputs=[], extra={}, base=tmp_path, tool="")
    assert (other.complete, other.errored, other.empty) == (False, True, False)
