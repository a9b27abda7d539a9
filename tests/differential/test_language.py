"""Small language playbooks by stock ansible-core and by us, on local and ssh connections: the same outcomes for each host, task and item,
the same results and registered values, the same counts and exit codes.

What stock does is recorded (``records.py``); a sample of the records is compared with stock itself in every run where it is installed, and
all of them with ``PROVISION_PEERS_FULL=1``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.cli.process import process
from provisioner.values import Secrets
from tests.differential import ours, records, stock
from tests.differential.cases import read
from tests.differential.connections import CONNECTIONS, settings_of

CASES = read()
FULL = os.environ.get("PROVISION_PEERS_FULL") == "1"
ASKED = list(CASES) if FULL else list(CASES)[::15]
"""The cases that stock itself is asked about."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="owners in results, and accounts to become: recorded as root"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module", params=CONNECTIONS)
def reached(request: pytest.FixtureRequest) -> Iterator[tuple[str, Mapping[str, str]]]:
    """A connection and the settings that choose it."""
    with settings_of(request.param) as settings:
        yield request.param, settings


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Where a case is put; stock's and ours have the same name, which playbooks may show."""
    return tmp_path / "project"


@pytest.mark.parametrize("name", CASES)
def test_same_outcomes(name: str, reached: tuple[str, Mapping[str, str]], project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, settings = reached
    case = CASES[name]
    expected = records.recorded(case, connection)
    case.write(project)
    for variable in [variable for variable in os.environ if variable.startswith("ANSIBLE_")]:
        monkeypatch.delenv(variable)
    for variable, value in {**settings, "XDG_CACHE_HOME": str(project.parent / "cache")}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(project)
    monkeypatch.setattr(process, "secrets", Secrets())  # what other tests of this process hide is no secret here
    found = ours.run(project, case.args)
    if "refused" in case.settings:
        assert found.exit == "refused"
        assert expected.exit != "ok"
        return
    assert found.exit == expected.exit
    for host in sorted({row[0] for row in (*expected.rows, *found.rows)}):
        assert [row for row in found.rows if row[0] == host] == [row for row in expected.rows if row[0] == host]
    assert found.stats == expected.stats


@pytest.mark.peers
@pytest.mark.skipif(stock.program() is None, reason="ansible-core is not installed (make peers)")
@pytest.mark.parametrize("name", ASKED)
def test_the_records_are_what_stock_does(name: str, reached: tuple[str, Mapping[str, str]], project: Path) -> None:
    connection, settings = reached
    case = CASES[name]
    settings = {**settings, "ANSIBLE_HOME": str(project.parent / "home")}
    assert records.ask(case, project, None, settings) == records.recorded(case, connection)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 150


def test_every_record_is_of_a_case() -> None:
    found = {f"{path.stem}/{name}" for path in records.FOLDER.glob("*.json") for name in records.load(path.stem)}
    assert found == set(CASES)


def test_an_edited_case_has_no_record() -> None:
    case = next(iter(CASES.values()))
    assert records.recorded(case, "ssh").rows
    with pytest.raises(LookupError, match=f"{case.name} is not recorded as it is now"):
        records.recorded(replace(case, text=case.text + "# edited\n"), "ssh")
