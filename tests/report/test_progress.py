"""What is shown while a run goes on."""

from __future__ import annotations

import io
import time

from provisioner.diagnostics import Span
from provisioner.events import HostLost, HostStuck, PlayStarted, RunFinished, RunStarted, TaskStarted
from provisioner.events import Progress as Said
from provisioner.report.human import HumanReport
from provisioner.report.progress import Progress, duration
from provisioner.report.text import Paper
from tests.report.samples import SITE, broken, end, step

HOSTS = tuple(f"gpu{number:02d}" for number in range(1, 7))


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def begun(clock: Clock, *, live: bool = True) -> tuple[Progress, io.StringIO]:
    text = io.StringIO()
    progress = Progress(Paper(text, width=60), live=live, heartbeat=0.05, clock=clock)
    progress(PlayStarted("GPU nodes", HOSTS, 0, Span(SITE, 3)))
    progress(TaskStarted("GPU nodes", "driver", "install", "apt", Span(SITE, 10), f"play[0]/{SITE}:10"))
    return progress, text


def test_the_task_its_count_and_the_slowest_hosts() -> None:
    clock = Clock()
    progress, _ = begun(clock)
    clock.now += 2
    progress(end(step("gpu01", "install")))
    progress(HostLost("gpu02", "no route"))
    progress(Said("gpu03", "Setting up nvidia-dkms-535\n"))
    progress(HostStuck("gpu04", "apt", 65.0))
    clock.now += 250
    assert progress._lines("*") == [
        "* driver : install  1/5 hosts  4:12",
        "    gpu06  4:12",
        "    gpu05  4:12",
        "    gpu04  4:12  nothing heard for 1:05",
        "    and 1 more host",
    ]
    for host in ("gpu04", "gpu05", "gpu06"):
        progress(end(step(host, "install")))
    assert progress._lines("*")[1:] == ["    gpu03  4:12  Setting up nvidia-dkms-535"]


def test_live_lines_are_redrawn_in_place_and_wiped() -> None:
    clock = Clock()
    progress, text = begun(clock)
    progress._draw()
    progress._draw()
    assert text.getvalue().count("\x1b[1F\x1b[J") == 1
    with progress.aside():
        text.write("a result\n")
    assert text.getvalue().endswith("\x1b[1F\x1b[Ja result\n")
    clock.now += 10
    progress._draw()
    progress.close()
    assert text.getvalue().endswith("\x1b[5F\x1b[J")


def test_live_lines_fit_the_width() -> None:
    clock = Clock()
    progress, text = begun(clock)
    progress(Said("gpu01", "x" * 500))
    clock.now += 10
    progress._draw()
    assert all(len(line) < 60 for line in text.getvalue().splitlines())


def test_away_from_a_terminal_there_are_plain_heartbeats() -> None:
    progress, text = begun(Clock(), live=False)
    progress(RunStarted("apply", "apply", (SITE,), HOSTS))
    deadline = time.monotonic() + 5
    while not text.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    progress(RunFinished(True, 0, {}, 1.0))
    assert text.getvalue().startswith("… driver : install  0/6 hosts  0:00\n")
    assert "\x1b" not in text.getvalue()


def test_a_report_and_its_progress_on_one_terminal() -> None:
    text = io.StringIO()
    paper = Paper(text, width=80)
    progress = Progress(paper, live=True)
    report = HumanReport(paper, paper, progress=progress)
    for event in broken():
        report(event)
        if isinstance(event, TaskStarted):
            progress._draw()
    lines = text.getvalue().split("\x1b[J")
    assert lines[-1].endswith("\n")
    assert "SUMMARY" in lines[-1]


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.9, 60, 3723)] == ["0:00", "0:59", "1:00", "1:02:03"]
