"""Which facts a gather_subset list means."""

from __future__ import annotations

import pytest

from provisioner.node.facts import COLLECTORS, MINIMUM, chosen


@pytest.mark.parametrize(
    ("subsets", "wanted"),
    [
        (["all"], set(COLLECTORS)),
        (["!all"], set(MINIMUM)),
        (["!all", "network"], {*MINIMUM, "network"}),
        (["network", "!all"], {*MINIMUM, "network"}),
        (["all", "!virtual"], set(COLLECTORS) - {"virtual"}),
    ],
)
def test_subsets(subsets: list[str], wanted: set[str]) -> None:
    assert set(chosen(subsets)) - {"interfaces"} == wanted & set(COLLECTORS) - {"interfaces"}


def test_taking_away_alone_leaves_the_minimum() -> None:
    assert set(chosen(["!virtual"])) == set(MINIMUM) & set(COLLECTORS)
    assert chosen(["!min"]) == []


def test_what_is_taken_away_stays_away() -> None:
    assert "hardware" not in chosen(["!hardware"])
    assert "user" not in chosen(["!all", "!min", "network"])
