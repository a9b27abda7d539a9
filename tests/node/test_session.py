"""Planned steps that are declared to change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.modules.steps import Steps, shown


@pytest.mark.parametrize("module", ["command", "shell"])
@pytest.mark.parametrize("how", [{}, {"maybe": "only if x"}])
def test_a_command_declared_to_change_nothing_leaves_what_follows_certain(tmp_path: Path, module: str, how: dict[str, str]) -> None:
    steps = Steps("plan")
    probe = steps.run(module, {"cmd": "uptime -p"}, quiet=True, **how)
    assert (probe["changes"], probe["unknown"]) == ([], "running uptime -p")
    made = steps.run("copy", {"dest": str(tmp_path / "file"), "content": "x"})
    assert shown(made) == [f"write_file {tmp_path}/file"]
    assert made["tainted"] is None
    assert steps.run("command", {"cmd": "cat /dev/null"}, quiet=True, real=True)["deferred"], "the file has not been written"


def test_it_keeps_no_later_command_from_being_run_by_the_plan() -> None:
    steps = Steps("plan")
    steps.run("command", {"cmd": "uptime -p"}, quiet=True)
    assert steps.run("command", {"cmd": "echo hello"}, quiet=True, real=True)["result"]["stdout"] == "hello"


def test_other_commands_taint_what_follows(tmp_path: Path) -> None:
    steps = Steps("plan")
    steps.run("command", {"cmd": "make install"})
    assert shown(steps.run("copy", {"dest": str(tmp_path / "file"), "content": "x"})) == [f"? write_file {tmp_path}/file"]


def test_a_module_declared_to_change_nothing_that_does_is_still_seen_by_what_follows(tmp_path: Path) -> None:
    steps = Steps("plan")
    steps.run("file", {"path": str(tmp_path / "folder"), "state": "directory"}, quiet=True)
    assert shown(steps.run("copy", {"dest": str(tmp_path / "folder" / "file"), "content": "x"})) == [f"write_file {tmp_path}/folder/file"]
