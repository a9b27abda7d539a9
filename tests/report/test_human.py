"""Runs for people, compared with golden texts at a fixed width (``UPDATE_GOLDEN=1`` writes them anew)."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from provisioner.events import Event, HostLost, HostStuck, StepFinished
from provisioner.report.human import HumanReport
from provisioner.report.text import Paper
from tests.report import samples
from tests.report.samples import MODE, MOTD, PACKAGE, broken, change, end, fleet, run, step, task

GOLDEN = Path(__file__).parent / "golden"


def shown(events: Iterable[Event], *, width: int = 80, color: bool = False, **options: Any) -> str:
    """What a run looks like; warnings, which go to stderr, stand in the same text."""
    text = io.StringIO()
    paper = Paper(text, width=width, color=color)
    report = HumanReport(paper, paper, **options)
    for event in events:
        report(event)
    return text.getvalue()


def check(name: str, text: str) -> None:
    """Compare with a golden file."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


def retry(hosts: Iterable[str]) -> str:
    return f"provision apply inventory/prod.yml --limit {','.join(hosts)}"


def test_a_run_in_which_everything_happens() -> None:
    check("run_broken", shown(broken(), retry=retry))


def test_the_same_with_more_words() -> None:
    check("run_broken_verbose", shown(broken(), verbosity=1, retry=retry))


def test_narrow() -> None:
    check("run_narrow", shown(run([fleet("changed", "banner", changes=(MOTD, MODE))]), width=30))


def test_nothing_to_do() -> None:
    check("run_idle", shown(run([fleet(), fleet("skipped", "not here", line=11, reason="gpu_count > 4")])))


def test_skipped_tasks_show_on_request() -> None:
    text = shown(run([fleet("skipped", "not here", reason="gpu_count > 4")]), verbosity=1)
    assert "TASK not here" in text
    assert "skipped: gpu_count > 4" in text


def test_the_same_failure_on_forty_hosts_stands_once() -> None:
    hosts = tuple(f"gpu{number:02d}" for number in range(1, 41))
    events = run([task(*(step(host, "install", "failed", msg="no candidate for nvidia-driver-999") for host in hosts))], hosts, exit_code=2)
    text = shown(events)
    assert text.count("no candidate for nvidia-driver-999") == 2  # at the task, and in the summary
    assert "gpu[01-40]: no candidate" in text


def test_items_are_labelled_and_different_hosts_stand_apart() -> None:
    steps = [step("gpu01", "files", "changed", item=name, changes=(change("write_file", f"/etc/{name}", None, {}),)) for name in ("a", "b")]
    steps.append(step("gpu02", "files", "changed", item="a", changes=(change("write_file", "/etc/a", None, {}),)))
    steps.append(step("gpu02", "files", "failed", item="b", msg="no space left on device"))
    check("run_items", shown(run([task(*steps)], ("gpu01", "gpu02"), exit_code=2)))


def test_ignored_and_rescued() -> None:
    ignored = step("gpu01", "probe", "failed", msg="not there", ignored=True)
    rescued = step("gpu01", "try", "failed", msg="did not work", rescued=True, line=11)
    text = shown(run([task(ignored), task(rescued)], ("gpu01",)))
    check("run_tolerated", text)


def test_diffs_are_shown_when_asked_for() -> None:
    diff = "--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-h\udce9llo\n+héllo\n"
    events = run([fleet("changed", "banner", changes=(MOTD,), diffs=(diff,))])
    check("run_diff", shown(events, diff=True))
    assert "@@" not in shown(events)


def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = "\n".join(f"+line {number}" for number in range(5000))
    events = run([fleet("changed", "banner", changes=(MOTD,), diffs=(diff,))])
    assert "… 4600 more lines" in shown(events, diff=True)
    assert "+line 4999" in shown(events, diff=True, verbosity=1)


def test_debug_speaks() -> None:
    said = fleet("ok", "say", action="debug", result={"msg": "driver 535\nready", "changed": False})
    data = fleet("ok", "say more", action="debug", line=11, result={"gpus": [{"name": "H100"}], "changed": False})
    check("run_debug", shown(run([said, data])))


HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202etxt\u2066 \udce9 \x00 bell\x07 back\x08"


def test_nothing_from_a_node_steers_the_terminal() -> None:
    lost = HostLost("gpu02", HOSTILE, HOSTILE, HOSTILE)
    events = run(
        [
            task(step("gpu01", HOSTILE, "failed", msg=HOSTILE + "\n" + HOSTILE, result={"stderr": HOSTILE, "cmd": HOSTILE, "rc": 1})),
            task(step("gpu01", "x", "changed", line=11, item=HOSTILE, changes=(change("write_file", HOSTILE, HOSTILE, HOSTILE),))),
            task(step("gpu01", "y", "ok", line=12, action="debug", result={"msg": HOSTILE}, diffs=(f"+{HOSTILE}",))),
            [lost],
        ],
        ("gpu01", "gpu02"),
        exit_code=2,
    )
    for verbosity in (0, 3):
        text = shown(events, verbosity=verbosity, diff=True)
        assert not [char for char in text if ord(char) < 32 and char != "\n"]
        assert not [char for char in text if 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066" or 0xD800 <= ord(char) < 0xE000]
        assert "\\x1b[2J" in text
        assert "\\xe9" in text


def test_colours_only_where_wanted() -> None:
    assert "\x1b[" in shown(broken(), color=True)
    assert "\x1b[" not in shown(broken())


def test_a_stream_without_unicode_gets_plain_signs() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    report = HumanReport(Paper(stream), Paper(stream))
    for event in broken():
        report(event)
    stream.flush()
    assert b"mode 0644 -> 0600" in raw.getvalue()


def test_a_host_that_does_not_answer_is_named() -> None:
    events = run([[HostStuck("gpu02", "install", 600.0, aside=True)]], exit_code=4)
    text = shown(events, retry=retry)
    assert "gpu02 has not answered for 600 s in install: set aside" in text
    assert "STUCK\n  gpu02: nothing heard for 600 s in install" in text
    assert "--limit gpu02" in text


def late_run() -> list[Event]:
    late: StepFinished = step("gpu03", "pin the branch", "changed", changes=(MOTD,))
    early = fleet("changed", "pin the branch", "gpu01", "gpu02", changes=(MOTD,))
    return run([early, fleet("ok", "next", "gpu01", "gpu02", line=12), [late, end(late)], fleet("ok", "next", "gpu03", line=12)])


def test_a_task_is_told_once_when_all_hosts_are_through_with_it() -> None:
    text = shown(late_run())
    assert [line.split("  ")[0] for line in text.splitlines() if line.startswith("TASK")] == ["TASK pin the branch", "TASK next"]
    assert text.count("/etc/motd") == 1


def test_after_some_waiting_it_is_told_without_the_late_hosts_and_those_are_named() -> None:
    stream = io.StringIO()
    report = HumanReport(Paper(stream, width=80), Paper(stream), patience=60)
    for event in late_run():
        if isinstance(event, StepFinished) and event.host == "gpu03":
            report._groups._patience = 0
            report.tick()
        report(event)
    text = stream.getvalue()
    assert text.count("TASK pin the branch") == 2
    assert "  gpu[01-02]\n    + /etc/motd" in text
    assert "  gpu03\n    + /etc/motd" in text


def test_hosts_that_take_no_part_in_a_task_do_not_hold_it_up() -> None:
    only = fleet("changed", "only there", "gpu01", changes=(MOTD,))
    events = run([only, fleet("ok", "for all", line=12)])
    text = shown(events[:-2])
    assert "TASK only there" in text
    assert "TASK for all" in text


def test_waiting_long_enough_is_noticed_without_any_event() -> None:
    stream = io.StringIO()
    report = HumanReport(Paper(stream), Paper(stream), patience=0.01)
    for event in late_run()[:5]:
        report(event)
    time.sleep(0.02)
    report.tick()
    assert "TASK pin the branch" in stream.getvalue()


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_shown_at_two_v(count: int) -> None:
    text = shown(run([fleet("changed", "install", changes=(PACKAGE,), result={"rc": 0})]), verbosity=count)
    assert ('"rc": 0' in text) == (count > 1)


def test_samples_hold_all_statuses() -> None:
    statuses = {event.status for event in samples.broken() if isinstance(event, StepFinished)}
    assert statuses == {"ok", "changed", "failed", "unreachable"}
