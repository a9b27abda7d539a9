"""Reality against a saved plan."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.plan.drift import drift
from tests.plan.test_compare import change, step

STILL = [
    ("the same", step("changed", change(before="a")), step("changed", change(before="a"))),
    ("idle in two ways", step("ok"), step("skipped")),
    ("touch", step("changed", change("set_times", after={"mtime": 1})), step("changed", change("set_times", after={"mtime": 2}))),
    ("still unknown", step("maybe", change(before={"unknown": "a"})), step("maybe", change(before={"unknown": "b"}))),
]

MOVED = [
    ("before", step("changed", change(before="a")), step("changed", change(before="b")), ("/etc/motd", "a", "b")),
    ("done by hand", step("changed", change(before="a")), step("ok"), ("/etc/motd", "a", None)),
    ("undone by hand", step("ok"), step("changed", change(before="b")), ("/etc/motd", None, "b")),
]


@pytest.mark.parametrize(("name", "then", "now"), STILL, ids=[case[0] for case in STILL])
def test_nothing_moved(name: str, then: dict[str, Any], now: dict[str, Any]) -> None:
    assert drift([then], [now]) == []


@pytest.mark.parametrize(("name", "then", "now", "expected"), MOVED, ids=[case[0] for case in MOVED])
def test_moved(name: str, then: dict[str, Any], now: dict[str, Any], expected: tuple[str, Any, Any]) -> None:
    (found,) = drift([then], [now])
    assert (found.target, (found.old or {}).get("before"), (found.new or {}).get("before")) == expected


def test_a_status_that_came_to_mean_something_else() -> None:
    (found,) = drift([step("changed")], [step("deferred", reason="installing nginx")])
    assert found.reason == "was changed, is deferred: installing nginx"
