"""Running the tests beside roles and playbooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.ports import Agent
from provisioner.verify.cases import Case, document, exit_code
from provisioner.verify.replan import judge
from provisioner.verify.suites import find_suites, role_folder
from provisioner.verify.tests import run_suites
from tests.verify.agents import HereAgent

ROLE_TEST = """
import pytest

def test_passes(host):
    assert host.file("/etc/passwd").exists

def test_fails(host, role_vars):
    assert role_vars["branch"] == 470, "wrong branch"

def test_skips(host):
    pytest.skip("no GPU here")

def test_sees_the_host(host, hostvars):
    assert hostvars["name"] == host.backend.get_hostname()

def test_without_host():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tests = tmp_path / "playbooks" / "roles" / "driver" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_driver.py").write_text(ROLE_TEST)
    (tmp_path / "playbooks" / "tests").mkdir()
    (tmp_path / "playbooks" / "tests" / "test_driver.py").write_text("def test_site(host):\n    assert host.run('true').rc == 0\n")
    return tmp_path


def planned(project: Path, *statuses: tuple[str, str]) -> list[dict[str, Any]]:
    source = f"{project}/playbooks/roles/driver/tasks/main.yml:3"
    return [{"host": host, "role": "driver", "task": "t", "source": source, "status": status} for host, status in statuses]


def variables(host: str, role: str) -> Mapping[str, Any]:
    return {"name": host, "branch": 535} if role else {"name": host}


def verify(project: Path, start: Callable[[str], Agent] = lambda host: HereAgent(), hosts: tuple[str, ...] = ("h1", "h2")) -> list[Case]:
    steps = planned(project, *((host, "ok") for host in hosts))
    suites = find_suites(steps, [project / "playbooks" / "site.yml"], hosts)
    return run_suites(suites, start, variables, base=project)


def test_which_suites_concern_whom(project: Path) -> None:
    steps = planned(project, ("h1", "ok"), ("h2", "skipped"), ("h3", "changed"))
    site, driver = find_suites(steps, [project / "playbooks" / "site.yml"], ["h3", "h2", "h1"])
    assert (site.role, site.hosts) == ("", ("h3", "h2", "h1"))
    assert (driver.role, driver.hosts) == ("driver", ("h3", "h1"))


@pytest.mark.parametrize(
    ("source", "folder"),
    [("roles/driver/tasks/main.yml:12", "roles/driver"), ("/x/a/handlers/more/b.yml", "/x/a"), ("playbooks/site.yml:3", None)],
)
def test_the_folder_of_a_role(source: str, folder: str | None) -> None:
    assert role_folder(source) == (Path(folder) if folder else None)


def test_outcomes(project: Path) -> None:
    cases = verify(project)
    outcomes = {(case.host, case.name): case.outcome for case in cases if case.role}
    assert outcomes == {
        ("h1", "test_passes"): "passed",
        ("h1", "test_fails"): "failed",
        ("h1", "test_skips"): "skipped",
        ("h1", "test_sees_the_host"): "passed",
        ("h2", "test_passes"): "passed",
        ("h2", "test_fails"): "failed",
        ("h2", "test_skips"): "skipped",
        ("h2", "test_sees_the_host"): "passed",
        ("", "test_without_host"): "passed",
    }
    failed = next(case for case in cases if case.outcome == "failed")
    assert "wrong branch" in failed.message
    assert failed.place == "playbooks/roles/driver/tests/test_driver.py:7"
    assert 'role_vars["branch"] == 470' in failed.details
    skipped = next(case for case in cases if case.outcome == "skipped")
    assert skipped.message == "no GPU here"
    assert [case.name for case in cases if not case.role] == ["test_site", "test_site"]
    assert exit_code(cases) == 2


def test_agents_are_started_once_a_host_and_closed(project: Path) -> None:
    started: list[HereAgent] = []

    def start(host: str) -> Agent:
        started.append(HereAgent())
        return started[-1]

    verify(project, start)
    assert len(started) == 2
    assert all(agent.closed for agent in started)


def test_an_unreachable_host_does_not_stop_the_others(project: Path) -> None:
    tried: list[str] = []

    def start(host: str) -> Agent:
        tried.append(host)
        if host == "h1":
            raise HostUnreachable("no route to h1")
        return HereAgent()

    cases = verify(project, start)
    lost = [case for case in cases if case.host == "h1"]
    assert {case.outcome for case in lost} == {"unreachable"}
    assert any(case.message == "no route to h1" for case in lost)
    assert tried.count("h1") == 1
    assert [case.outcome for case in cases if case.host == "h2" and case.name == "test_passes"] == ["passed"]


def test_a_connection_that_breaks(project: Path) -> None:
    (project / "playbooks" / "roles" / "driver" / "tests" / "test_driver.py").unlink()
    cases = verify(project, lambda host: HereAgent(breaks_after=0), hosts=("h1",))
    assert [(case.outcome, case.message) for case in cases] == [("unreachable", "the connection broke")]
    assert exit_code(cases) == 4


def test_a_file_that_cannot_be_read_is_an_error(project: Path) -> None:
    (project / "playbooks" / "tests" / "test_driver.py").write_text("import nosuchthing\n")
    cases = verify(project)
    (error,) = [case for case in cases if case.outcome == "error"]
    assert "nosuchthing" in error.message
    assert any(case.outcome == "passed" for case in cases)


def test_settings_of_the_project_are_left_alone(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (project / "playbooks" / "roles" / "driver" / "tests" / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef more(): return 1\n"
    )
    assert any(case.outcome == "passed" for case in verify(project))
    assert not list(project.rglob("__pycache__"))
    assert not list(project.rglob(".pytest_cache"))


def test_nothing_to_run(tmp_path: Path) -> None:
    assert run_suites([], lambda host: HereAgent(), variables, base=tmp_path) == []


# -- the plan part -------------------------------------------------------------------------------------------------------------------


def step(host: str, status: str, **more: Any) -> dict[str, Any]:
    return {"host": host, "role": None, "task": "banner", "source": "site.yml:4", "status": status, "changes": [], "seconds": 0.5, **more}


def plan(*steps: dict[str, Any], lost: tuple[str, ...] = ()) -> dict[str, Any]:
    hosts: dict[str, Any] = {each["host"]: {} for each in steps} | {host: {} for host in lost}
    return {"hosts": hosts, "steps": list(steps), "lost": [{"host": host, "message": "no route", "help": ""} for host in lost]}


def test_a_plan_that_is_empty_passes_one_that_is_not_fails_and_one_that_is_open_is_unknown() -> None:
    cases = judge(
        plan(
            step("h1", "ok"),
            step("h1", "skipped"),
            step("h2", "changed", changes=[{"target": "/etc/motd"}]),
            step("h3", "deferred", reason="running make"),
            step("h4", "failed", msg="no such unit"),
            step("h5", "failed", ignored=True),
            lost=("h6",),
        )
    )
    assert {case.host: case.outcome for case in cases} == {
        "h1": "passed",
        "h2": "failed",
        "h3": "unknown",
        "h4": "failed",
        "h5": "passed",
        "h6": "unreachable",
    }
    by_host = {case.host: case for case in cases}
    assert by_host["h2"].message == "1 step left to do"
    assert by_host["h2"].details == "changed: banner (site.yml:4): /etc/motd"
    assert by_host["h3"].details == "deferred: banner (site.yml:4): running make"
    assert exit_code(cases) == 2


def test_unknown_alone_is_no_failure() -> None:
    cases = judge(plan(step("h3", "deferred", reason="running make")))
    assert exit_code(cases) == 0
    said = document(cases, plan(step("h3", "deferred")), 1.5)
    assert said["schema"] == "provision.verify/1"
    assert said["ok"] is True
    assert said["stats"]["unknown"] == 1
    assert said["hosts"]["h3"]["unknown"] == 1
