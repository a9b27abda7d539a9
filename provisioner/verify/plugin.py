"""The pytest side: the ``host`` fixture over our connections, each test once a host, and every outcome handed on as a ``Case``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from provisioner.errors import HostUnreachable
from provisioner.verify.cases import Case, Outcome
from provisioner.verify.suites import Suite

Variables = Callable[[str, str], Mapping[str, Any]]
"""(host, role) → the variables that hold there; an empty role stands for the play."""


@dataclass(frozen=True)
class Subject:
    """A host as the tests of one suite see it."""

    name: str
    role: str
    host: Host
    variables: Variables


class VerifyPlugin:
    """Collects cases while pytest runs. Fixtures: ``host``, ``hostvars``, ``role_vars``."""

    def __init__(
        self,
        suites: Sequence[Suite],
        hosts: Mapping[str, Host],
        variables: Variables,
        on_case: Callable[[Case], None],
        base: Path,
    ) -> None:
        self._suites = suites
        self._hosts = hosts
        self._variables = variables
        self._on_case = on_case
        self._base = base
        self._lost: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        """Short tracebacks; the option for it belongs to pytest's terminal, which is left out."""
        config.option.tbstyle = "short"

    # -- fixtures ------------------------------------------------------------------------------------------------------------------

    @pytest.fixture(scope="module")
    def _subject(self, request: pytest.FixtureRequest) -> Subject:
        """The host a test runs against."""
        subject: Subject = request.param
        return subject

    @pytest.fixture(scope="module")
    def host(self, _subject: Subject) -> Host:
        """testinfra's ``host``."""
        return _subject.host

    @pytest.fixture(scope="module")
    def hostvars(self, _subject: Subject) -> Mapping[str, Any]:
        """The variables of the host as the play sees them."""
        return _subject.variables(_subject.name, "")

    @pytest.fixture(scope="module")
    def role_vars(self, _subject: Subject) -> Mapping[str, Any]:
        """The variables of the host as the role beside this test sees them: its defaults, overridden by the host's own."""
        return _subject.variables(_subject.name, _subject.role)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test that asks for a host runs once for each host of its suite."""
        if "_subject" not in metafunc.fixturenames:
            return
        suite = self._suite_of(metafunc.definition.path)
        names = suite.hosts if suite else ()
        role = suite.role if suite else ""
        subjects = [Subject(name, role, self._hosts[name], self._variables) for name in names]
        metafunc.parametrize("_subject", subjects, ids=list(names), indirect=True, scope="module")

    def _suite_of(self, file: Path) -> Suite | None:
        return next((suite for suite in self._suites if file in suite.files), None)

    # -- outcomes ------------------------------------------------------------------------------------------------------------------

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Tests of a host that is gone are not tried one by one."""
        name = _host_of(item)
        if name in self._lost:
            raise HostUnreachable(self._lost[name])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Turn the report of a test into a case."""
        report: pytest.TestReport = yield
        self._seconds[item.nodeid] = self._seconds.get(item.nodeid, 0.0) + report.duration
        unreachable = call.excinfo is not None and isinstance(call.excinfo.value, HostUnreachable)
        if unreachable and call.excinfo is not None:
            self._lost.setdefault(_host_of(item), str(call.excinfo.value))
        if report.when == "call" or not report.passed:
            outcome: Outcome = "unreachable" if unreachable else _outcome(report)
            self._on_case(self._case(item, outcome, report))
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be read is an error of its own."""
        if report.failed:
            text = report.longreprtext
            suite = self._suite_of(self._base / report.nodeid)
            role = suite.role if suite else ""
            self._on_case(Case("tests", "", report.nodeid, "error", role, report.nodeid, message=_last_line(text), details=text))

    def _case(self, item: pytest.Item, outcome: Outcome, report: pytest.TestReport) -> Case:
        file, line, _ = item.location
        suite = self._suite_of(item.path)
        details = report.longreprtext if outcome in ("failed", "error") else ""
        for title, content in report.sections if details else ():
            details += f"\n--- {title} ---\n{content}"
        return Case(
            part="tests",
            host=_host_of(item),
            name=getattr(item, "originalname", None) or item.name,
            outcome=outcome,
            role=suite.role if suite else "",
            place=f"{file}:{(line or 0) + 1}",
            seconds=round(self._seconds[item.nodeid], 4),
            message=_message(report, self._lost.get(_host_of(item), "")),
            details=details,
        )


def _host_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    subject = callspec.params.get("_subject") if callspec else None
    return subject.name if isinstance(subject, Subject) else ""


def _outcome(report: pytest.TestReport) -> Outcome:
    if report.skipped:
        return "skipped"
    if report.passed:
        return "passed"
    return "failed" if report.when == "call" else "error"


def _message(report: pytest.TestReport, lost: str) -> str:
    if lost:
        return lost
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message).splitlines()[0] if crash is not None else _last_line(report.longreprtext)


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "").removeprefix("E").strip()
