"""Which facts a gather_subset list means."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.node.facts import COLLECTORS, MINIMUM, chosen
from provisioner.node.facts.local import local


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


def test_local_facts_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    (tmp_path / "good.fact").write_text("[a]\nb = 100%% sure\n")
    (tmp_path / "bad.fact").write_text("[a]\nb = % wrong %\n")
    (tmp_path / "gone.fact").symlink_to("nowhere")
    script = tmp_path / "script.fact"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    found = local(str(tmp_path))["local"]
    assert found["good"] == {"a": {"b": "100% sure"}}
    assert found["bad"].startswith("error loading facts as ini")
    assert found["gone"].startswith("Could not stat fact")
    assert found["script"].startswith("Failure executing fact script")
    assert "rc: 3" in found["script"]
