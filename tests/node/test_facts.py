"""Which facts a gather_subset list means."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.node.facts import BY_NAME, COLLECTORS, MINIMUM, chosen, gpus
from provisioner.node.facts.local import local


@pytest.mark.parametrize(
    ("subsets", "wanted"),
    [
        (["all"], set(COLLECTORS) - BY_NAME),
        (["all", "gpus"], set(COLLECTORS)),
        (["!all"], set(MINIMUM)),
        (["!all", "network"], {*MINIMUM, "network"}),
        (["network", "!all"], {*MINIMUM, "network"}),
        (["all", "!virtual"], set(COLLECTORS) - BY_NAME - {"virtual"}),
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


HEALTHY = "0, GPU-1, NVIDIA H100 80GB HBM3, 00000000:3B:00.0, 81559, Enabled, 700.00"
FOUND = {
    "index": 0, "uuid": "GPU-1", "name": "NVIDIA H100 80GB HBM3", "bus": "00000000:3B:00.0", "memory_mb": 81559,
    "persistence_mode": True, "power_limit_watts": 700.0,
}  # fmt: skip


def test_gpus_as_the_driver_tells_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sick board spoils the common answer: the others are told all the same, and it by its address."""
    answers = {(): HEALTHY}
    monkeypatch.setattr(gpus, "output", lambda argv, _timeout: answers.get(tuple(argv[4:]), ""))
    monkeypatch.setattr(gpus, "text", lambda path: "535.154.05\n" if path == "/sys/module/nvidia/version" else "")
    monkeypatch.setattr(gpus, "addresses", lambda: ["0000:3b:00.0", "0000:5e:00.0"])
    assert gpus.gpus() == {"gpus": [FOUND], "nvidia_driver_version": "535.154.05"}
    monkeypatch.setattr(gpus, "output", lambda argv, _timeout: HEALTHY if argv[-1] == "0000:3b:00.0" else "")
    assert gpus.gpus()["gpus"] == [FOUND, {"bus": "0000:5e:00.0"}]


def test_what_a_gpu_does_not_have_is_left_out() -> None:
    assert gpus.parsed("1, GPU-2, Tesla T4, 00000000:5E:00.0, 15360, Disabled, [N/A]") == {
        "index": 1, "uuid": "GPU-2", "name": "Tesla T4", "bus": "00000000:5E:00.0", "memory_mb": 15360, "persistence_mode": False,
    }  # fmt: skip
