"""Planned against made."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.plan.compare import Comparison


def change(
    kind: str = "write_file", target: str = "/etc/motd", after: Any = "x", *, certain: bool = True, before: Any = None
) -> dict[str, Any]:
    return {"kind": kind, "target": target, "before": before, "after": after, "certain": certain}


def step(
    status: str = "changed", *changes: dict[str, Any], address: str = "play[0]/site.yml:4", host: str = "h1", **more: Any
) -> dict[str, Any]:
    return {"host": host, "task": "banner", "source": "site.yml:4", "status": status, "address": address, "changes": list(changes), **more}


UNKNOWN = {"unknown": "installing nginx"}

KEPT = [
    ("equal", step("changed", change()), step("changed", change())),
    ("no change twice", step("ok"), step("ok")),
    ("skipped twice", step("skipped"), step("skipped")),
    ("before does not matter", step("changed", change(before="a")), step("changed", change(before="b"))),
    ("uncertain change absent", step("changed", change(certain=False)), step("ok")),
    ("uncertain change made", step("changed", change(certain=False)), step("changed", change())),
    ("unknown value became known", step("changed", change(after=UNKNOWN)), step("changed", change(after={"sha256": "1"}))),
    ("unknown inside", step("changed", change(after={"a": UNKNOWN, "b": 1})), step("changed", change(after={"a": 5, "b": 1}))),
    ("maybe absent", step("maybe", change()), step("skipped")),
    ("maybe made", step("maybe", change()), step("changed", change())),
    ("maybe made differently", step("maybe", change()), step("changed", change(after="other"))),
    ("maybe of which nothing was foreseen", step("maybe"), step("changed", change())),
    ("deferred does anything", step("deferred"), step("changed", change(target="/anything"))),
    ("failed half-way", step("changed", change(), change(target="/b")), step("failed", change())),
    ("lost", step("changed", change()), step("unreachable")),
    (
        "the name of a backup differs",
        step("changed", change(target="/etc/motd.812.2026-01-02@03:04:05~")),
        step("changed", change(target="/etc/motd.9.2026-01-02@03:05:11~")),
    ),
    (
        "times are the clock's",
        step("changed", change("set_times", after={"mtime": 1})),
        step("changed", change("set_times", after={"mtime": 2})),
    ),
]

BROKEN = [
    ("another result", step("changed", change(after="x")), step("changed", change(after="y")), ""),
    ("another target", step("changed", change()), step("changed", change(target="/etc/issue")), ""),
    ("one too many", step("changed", change()), step("changed", change(), change(target="/b")), ""),
    ("certain change absent", step("changed", change()), step("ok"), ""),
    ("condition flipped to false", step("changed", change()), step("skipped"), "skipped"),
    ("condition flipped to true", step("skipped"), step("changed", change()), "was to be skipped"),
    ("was fine, is not", step("ok"), step("changed", change()), "nothing was to be changed"),
    ("maybe with something else", step("maybe", change()), step("changed", change(target="/b")), ""),
    ("another kind", step("changed", change()), step("changed", change("remove")), ""),
]


@pytest.mark.parametrize(("name", "planned", "made"), KEPT, ids=[case[0] for case in KEPT])
def test_kept(name: str, planned: dict[str, Any], made: dict[str, Any]) -> None:
    assert Comparison([planned]).check(made) is None


@pytest.mark.parametrize(("name", "planned", "made", "reason"), BROKEN, ids=[case[0] for case in BROKEN])
def test_broken(name: str, planned: dict[str, Any], made: dict[str, Any], reason: str) -> None:
    mismatch = Comparison([planned]).check(made)
    assert mismatch is not None
    assert mismatch.host == "h1"
    assert mismatch.task == "banner"
    assert reason in mismatch.reason


def test_a_step_that_was_not_planned_may_do_nothing_only() -> None:
    comparison = Comparison([])
    assert comparison.check(step("ok")) is None
    mismatch = comparison.check(step("changed", change()))
    assert mismatch is not None
    assert mismatch.reason == "the plan has no such step"


def test_items_and_includes_below_something_deferred_are_free() -> None:
    comparison = Comparison([step("deferred", address="play[0]/site.yml:9")])
    assert comparison.check(step("changed", change(), address="play[0]/site.yml:9#a")) is None
    assert comparison.check(step("changed", change(), address="play[0]/site.yml:9/inc.yml:2")) is None
    assert comparison.check(step("changed", change(), address="play[0]/site.yml:99")) is not None


def test_a_step_that_was_never_reached() -> None:
    comparison = Comparison([step("changed", change()), step("maybe", change(), address="b"), step("changed", change(), host="h2")])
    unmade = comparison.unmade(["h1"])
    assert [(one.host, one.reason) for one in unmade] == [("h1", "the step was never reached")]
    comparison.check(step("changed", change()))
    assert comparison.unmade(["h1"]) == []
