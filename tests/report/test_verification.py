"""Verifications for people and for build servers."""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

from provisioner.report.junit import junit_xml
from provisioner.report.text import Paper
from provisioner.report.verification import write_verification
from provisioner.verify.cases import Case, document
from tests.report.test_human import HOSTILE, check

HOSTS = ("gpu01", "gpu02", "gpu03")


def cases() -> list[Case]:
    left = "changed: driver : install (roles/driver/tasks/main.yml:9): nvidia-driver"
    return [
        Case("plan", "gpu01", "nothing left to do", "passed"),
        Case("plan", "gpu02", "nothing left to do", "failed", message="1 step left to do", details=left),
        Case(
            "plan",
            "gpu03",
            "nothing left to do",
            "unknown",
            message="1 step not known without applying",
            details="deferred: build (site.yml:4)",
        ),
        *(Case("tests", host, "test_module_is_loaded", "passed", "driver", "roles/driver/tests/test_driver.py:4", 0.01) for host in HOSTS),
        *(
            Case(
                "tests",
                host,
                "test_limit",
                "failed",
                "power",
                "roles/power/tests/test_power.py:9",
                0.25,
                "assert 250 == 300",
                f"E assert 250 == 300 on {host}",
            )
            for host in HOSTS[:2]
        ),
        Case("tests", "gpu03", "test_limit", "skipped", "power", message="no GPU here"),
    ]


def said() -> dict[str, Any]:
    return document(cases(), {"hosts": {name: {} for name in HOSTS}, "steps": []}, 3.21)


def text(verification: dict[str, Any], **options: Any) -> str:
    stream = io.StringIO()
    write_verification(Paper(stream, width=80), verification, **options)
    return stream.getvalue()


def test_text() -> None:
    check("verify", text(said()))


def test_text_with_everything() -> None:
    shown = text(said(), verbosity=1)
    assert "passed driver : test_module_is_loaded on gpu[01-03]" in shown
    assert "skipped power : test_limit on gpu03: no GPU here" in shown


def test_equal_failures_stand_once() -> None:
    assert text(said()).count("assert 250 == 300 on") == 1


def test_junit() -> None:
    root = ElementTree.fromstring(junit_xml([case.as_dict() for case in cases()]))
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == set(HOSTS)
    assert suites["gpu02"].attrib == {"name": "gpu02", "tests": "3", "failures": "2", "errors": "0", "skipped": "0", "time": "0.260"}
    failure = suites["gpu02"].find("testcase[@name='test_limit']/failure")
    assert failure is not None
    assert failure.get("message") == "assert 250 == 300"
    unknown = suites["gpu03"].find("testcase[@name='nothing left to do']/skipped")
    assert unknown is not None
    assert unknown.get("message") == "unknown: 1 step not known without applying"


def test_junit_is_valid_whatever_a_node_says() -> None:
    case = Case("tests", "gpu01", HOSTILE, "failed", message=HOSTILE + "\ufffe", details="]]>" + HOSTILE)
    ElementTree.fromstring(junit_xml([case.as_dict()]))
    assert "\x1b" not in text(document([case], {"hosts": {}}, 0.0))
