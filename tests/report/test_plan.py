"""Plans as text, Markdown and JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from provisioner.events import HostLost, Record
from provisioner.report.json import dumps
from provisioner.report.markdown import plan_markdown
from provisioner.report.plan_text import write_plan
from provisioner.report.text import Paper, cause
from provisioner.values import Unknown
from tests.report.samples import MODE, MOTD, RESTART, change, fleet, run
from tests.report.test_human import HOSTILE, check

BUILD = change("run_command", "make install", None, Unknown("running make install"))
CONF = change("write_file", "/etc/nginx.conf", Unknown("installing nginx"), {"sha256": "b", "mode": "0644"}, certain=False)
SWAP = change("install_packages", "new-agent", {"new-agent": None, "old-agent": "1.0"}, {"new-agent": "2.0", "old-agent": None})


def document(*tasks: Any, hosts: tuple[str, ...] = ("gpu01", "gpu02", "gpu03")) -> dict[str, Any]:
    record = Record()
    for event in run(tasks, hosts, mode="plan"):
        record(event)
    return record.document()


def mixed() -> dict[str, Any]:
    return document(
        fleet("changed", "banner", changes=(MOTD, MODE)),
        fleet("skipped", "not here", line=11, reason="gpu_count > 4"),
        fleet("changed", "build", "gpu01", line=12, action="command", changes=(BUILD,)),
        fleet("ok", "build again", "gpu01", line=13, action="command", msg="/opt/tool exists"),
        fleet("maybe", "configure", "gpu01", line=14, changes=(CONF,), reason="installing nginx"),
        fleet("deferred", "remove the default site", "gpu01", line=15, reason="installing nginx"),
        fleet("changed", "agent", "gpu02", line=16, changes=(SWAP,)),
        fleet("changed", "restart docker", "gpu02", "gpu03", line=30, handler=True, changes=(RESTART,), reason="/etc/docker/daemon.json"),
    )


def text(plan: dict[str, Any], **options: Any) -> str:
    stream = io.StringIO()
    write_plan(Paper(stream, width=options.pop("width", 80), color=options.pop("color", False)), plan, **options)
    return stream.getvalue()


def test_text() -> None:
    check("plan", text(mixed()))


def test_full_text() -> None:
    check("plan_full", text(mixed(), full=True))


def test_markdown() -> None:
    check("plan_markdown", plan_markdown(mixed()))


def test_would_run_is_not_skipped() -> None:
    shown = text(mixed(), full=True)
    assert "! would run: make install" in shown
    assert "not needed: /opt/tool exists" in shown
    assert "skipped: gpu_count > 4" in shown


def test_identical_hosts_stand_once() -> None:
    shown = text(document(fleet("changed", "banner", changes=(MOTD,))))
    assert shown.count("/etc/motd") == 1
    assert "gpu[01-03] (3 hosts)" in shown
    assert shown.endswith("Plan: 3 to change on 3 hosts.\n")


def test_nothing_to_do() -> None:
    assert text(document(fleet("ok"))) == "Plan: nothing to do on 3 hosts.\n"


def test_hosts_that_could_not_be_planned_are_said() -> None:
    plan = document(fleet("ok", "x", "gpu01"), [HostLost("gpu02", "no route to gpu02", help="check the cable")], hosts=("gpu01", "gpu02"))
    shown = text(plan)
    assert "gpu02 unreachable: no route to gpu02\n    help: check the cable" in shown
    assert "nothing to do on 1 host. 1 host could not be planned: gpu02." in shown


def test_an_error_in_the_plan() -> None:
    shown = text(document(fleet("failed", "start", msg="there is no unit nosuch.service")))
    assert "failed: there is no unit nosuch.service" in shown
    assert "Plan: 3 failed on 3 hosts." in shown


def test_a_banner_comes_first() -> None:
    assert text(mixed(), banner="already applied 2026-01-02").startswith("already applied 2026-01-02\n")
    assert "> **already applied" in plan_markdown(mixed(), banner="already applied 2026-01-02")


def test_json_is_valid_for_foreign_bytes() -> None:
    plan = document(fleet("changed", "x", changes=(change("write_file", "/h\udce9", None, HOSTILE),)))
    said = dumps(plan)
    assert said.isascii()
    assert json.loads(said)["steps"][0]["changes"][0]["target"] == "/h\\xe9"


def test_markdown_cannot_be_broken_out_of() -> None:
    plan = document(fleet("changed", "x", changes=(change("write_file", "/a```\n<script>", None, {}),)))
    assert plan_markdown(plan).count("```") == 2


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("installing nginx", "because of installing nginx"),
        ("/etc/docker/daemon.json", "because of /etc/docker/daemon.json"),
        ("because /etc/docker/daemon.json", "because of /etc/docker/daemon.json"),
        ("only if /etc/x changes", "only if /etc/x changes"),
        ("it has to run for real", "because it has to run for real"),
        ("the deferred step alternatives", "because of the deferred step alternatives"),
        ("", "because it depends on an earlier step"),
    ],
)
def test_reasons_read_as_sentences(reason: str, said: str) -> None:
    assert cause(reason) == said
