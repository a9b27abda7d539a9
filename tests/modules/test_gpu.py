"""The module ``gpu``: which boards are meant, what is refused, what is told. Against simulated readings of nvidia-smi."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.node.api import Node
from provisioner.node.changes import SetValue
from provisioner.node.faults import Fail
from provisioner.node.session import find_module
from provisioner.schema.convert import coerce
from provisioner.testing.fake import FakeNode


def board(number: int, name: str, **other: Any) -> dict[str, Any]:
    """A board as the provider reads it."""
    watts = {"power_limit": 400.0, "power_default": 400.0, "power_min": 100.0, "power_max": 400.0}
    rest = {"persistence_mode": True, "compute_mode": "default", "ecc": True, "ecc_current": True, "mig": False, "mig_current": False}
    return {"uuid": f"GPU-{number}", "name": name, "bus": f"00000000:0{number}:00.0", **watts, **rest, **other}


A100 = board(1, "NVIDIA A100-SXM4-80GB")
H100 = board(2, "NVIDIA H100 80GB HBM3", power_max=700.0, power_default=700.0, power_limit=700.0)
RTX = board(3, "NVIDIA GeForce RTX 4090", ecc="unsupported", mig="unsupported", power_limit=450.0, power_max=600.0)


def run(boards: list[dict[str, Any]] | None, **params: Any) -> tuple[dict[str, Any], Node, list[tuple[str, Any]]]:
    """Result, node and the settings made, as (UUID/SETTING, value)."""
    readings = {("gpu", "list"): boards}
    for each in boards or ():
        readings |= {("gpu", f"{each['uuid']}/{name}"): value for name, value in each.items()}
    fake = FakeNode(values=readings)
    node = Node(fake, fake)
    values, problems = coerce(find_module("gpu"), params)
    assert not problems, problems
    module = find_module("gpu")
    result = module.run(node, module.params(**values))
    return result, node, [(change.key, change.value) for change in node.recorder.changes if isinstance(change, SetValue)]


def test_a_limit_by_model_goes_to_the_boards_of_that_model() -> None:
    result, node, made = run([A100, H100], power_limit={"NVIDIA A100*": 300, "NVIDIA H100*": 500})
    assert made == [("GPU-1/power_limit", 300.0), ("GPU-2/power_limit", 500.0)]
    assert result["unmatched"] == []
    assert node.warnings == []


def test_the_board_itself_comes_before_its_model() -> None:
    _, _, made = run([A100], power_limit={"NVIDIA A100*": 300, "GPU-1": 250})
    assert made == [("GPU-1/power_limit", 250.0)]


def test_a_table_for_a_mixed_fleet_may_name_models_that_are_elsewhere() -> None:
    result, node, made = run([A100], power_limit={"NVIDIA A100*": 300, "NVIDIA H100*": 500})
    assert made == [("GPU-1/power_limit", 300.0)]
    assert result["unmatched"] == ["NVIDIA H100*"]
    assert node.warnings == []


@pytest.mark.parametrize("selector", ["NVIDIA H100*", "A100", "NVIDIA A1O0*"])
def test_a_board_that_gets_no_limit_is_told(selector: str) -> None:
    _, node, made = run([A100], power_limit={selector: 300})
    assert made == []
    assert node.warnings == [
        f"no power limit for GPU 00000000:01:00.0 (NVIDIA A100-SXM4-80GB), it stays at 400 W: power_limit names {selector}"
    ]


def test_a_board_that_a_mixed_table_leaves_out_is_told() -> None:
    _, node, _ = run([A100, RTX], power_limit={"NVIDIA A100*": 300})
    assert node.warnings == [
        "no power limit for GPU 00000000:03:00.0 (NVIDIA GeForce RTX 4090), it stays at 450 W: power_limit names NVIDIA A100*"
    ]


def test_an_empty_table_wants_nothing() -> None:
    assert run([A100], power_limit={})[1].warnings == []


def test_a_limit_within_a_watt_is_the_same_limit() -> None:
    assert run([{**A100, "power_limit": 299.6}], power_limit=300)[2] == []


@pytest.mark.parametrize(
    ("boards", "params", "said"),
    [
        (None, {}, "nvidia-smi is not installed"),
        ([], {}, "there is no GPU here; expected: 0 says that this is as it should be"),
        ([A100], {"expected": 2}, "1 of 2 expected GPUs answer"),
        (
            [A100, {**H100, "error": "Unable to determine the device handle: GPU is lost"}],
            {},
            "GPU 00000000:02:00.0 does not answer: Unable",
        ),
        ([A100], {"gpus": ["NVIDIA T4*"]}, "no GPU matches NVIDIA T4*; there are 00000000:01:00.0 NVIDIA A100-SXM4-80GB GPU-1"),
        ([A100], {"power_limit": 900}, "900 W is not possible for GPU 00000000:01:00.0 (NVIDIA A100-SXM4-80GB): it takes 100.0 to 400.0 W"),
        ([A100, H100], {"power_limit": 500}, "500 W is not possible for GPU 00000000:01:00.0"),
        ([A100], {"power_limit": "much"}, "'much' is neither a number of watts nor default"),
        ([RTX], {"ecc": True}, "(NVIDIA GeForce RTX 4090) does not support ecc"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_set(boards: Any, params: dict[str, Any], said: str) -> None:
    fake = FakeNode(values={("gpu", "list"): boards})
    node = Node(fake, fake)
    module = find_module("gpu")
    values, _ = coerce(module, params)
    with pytest.raises(Fail) as refused:
        module.run(node, module.params(**values))
    assert said in refused.value.msg
    assert node.recorder.changes == []


def test_a_board_that_lacks_a_setting_may_be_reported_instead() -> None:
    result, _, made = run([A100, RTX], ecc=False, unsupported="report")
    assert made == [("GPU-1/ecc", False)]
    assert result["gpus"]["GPU-3"]["ecc"] == "unsupported"
    assert result["reboot_required"]


def test_no_gpu_is_fine_where_none_is_expected() -> None:
    assert run([], expected=0, power_limit=300)[0]["matched"] == 0


@pytest.mark.parametrize("address", ["0000:01:00.0", "00000000:01:00.0", "01:00.0"])
def test_pci_addresses_in_all_their_spellings(address: str) -> None:
    assert run([A100], gpus=[address], persistence_mode=False)[2] == [("GPU-1/persistence_mode", False)]
