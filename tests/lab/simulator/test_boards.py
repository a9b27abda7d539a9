"""Boards against table 4.3 and 6.5 of the GPU facts."""

from __future__ import annotations

import pytest

from provisioner.errors import UsageError
from provisioner.lab.simulator import GpuSpec, models, parse
from provisioner.lab.simulator.node.boards import BOARDS
from provisioner.lab.simulator.spec import entries

FACTS = [
    # board, lowest/default/highest limit in watts, memory in MiB, PCI device, compute capability
    ("T4", (60, 70, 70), 15360, 0x1EB8, "7.5"),
    ("L4", (40, 72, 72), 23034, 0x27B8, "8.9"),
    ("L40S", (100, 350, 350), 46068, 0x26B9, "8.9"),
    ("A40", (100, 300, 300), 46068, 0x2235, "8.6"),
    ("A100-SXM4-40GB", (100, 400, 400), 40960, 0x20B0, "8.0"),
    ("A100-PCIE-40GB", (150, 250, 250), 40960, 0x20F1, "8.0"),
    ("A100-PCIE-80GB", (150, 300, 300), 81920, 0x20B5, "8.0"),
    ("A100-SXM4-80GB", (100, 400, 400), 81920, 0x20B2, "8.0"),
    ("H100-PCIE", (200, 310, 350), 81559, 0x2331, "9.0"),
    ("H100-SXM", (200, 700, 700), 81559, 0x2330, "9.0"),
    ("H100-NVL", (200, 310, 400), 95830, 0x2321, "9.0"),
    ("H200-SXM", (200, 700, 700), 143771, 0x2335, "9.0"),
    ("B200", (200, 1000, 1000), 183359, 0x2901, "10.0"),
    ("V100-SXM2-32GB", (150, 300, 300), 32768, 0x1DB5, "7.0"),
    ("RTX-4090", (150, 450, 450), 24564, 0x2684, "8.9"),
    ("RTX-3090", (100, 350, 350), 24576, 0x2204, "8.6"),
]


@pytest.mark.parametrize(("key", "power", "memory", "device", "capability"), FACTS)
def test_facts(key: str, power: tuple[int, int, int], memory: int, device: int, capability: str) -> None:
    board = BOARDS[key]
    assert (board.power, board.memory, board.device_id, board.compute_capability) == (power, memory, device, capability)


@pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))
def test_every_board_is_whole(board: type) -> None:
    lowest, default, highest = BOARDS[board.key].power  # type: ignore[attr-defined]
    known = BOARDS[board.key]  # type: ignore[attr-defined]
    assert 0 < known.idle_power < lowest <= default <= highest
    assert all((known.name, known.architecture, known.vbios, *known.inforom, known.device_id, known.subsystem_id))
    assert known.memory > known.memory_reserved > 0
    assert known.open_modules or known.closed_modules
    assert known.application_clocks is None or known.application_clocks[0] == known.clocks_max[1]
    assert not known.ecc or known.row_remapping != known.page_retirement


@pytest.mark.parametrize(
    ("words", "boards"),
    [
        ("", []),
        ("none", []),
        ("8xH100", ["H100-SXM"] * 8),
        ("2 x A100-PCIE-40GB, T4", ["A100-PCIE-40GB", "A100-PCIE-40GB", "T4"]),
        ("rtx 4090", ["RTX-4090"]),
        ("NVIDIA L40S", ["L40S"]),
        ("v100", ["V100-SXM2-32GB"]),
    ],
)
def test_words(words: str, boards: list[str]) -> None:
    assert [gpu.model for gpu in parse(words)] == boards


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("H101", "no simulated board 'H101'"),
        ("0xT4", "'0xT4' asks for no GPU"),
        ("99xT4", "99 GPUs in one node"),
    ],
)
def test_bad_words(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse(words)
    assert caught.value.help or caught.value.why


def test_identities_follow_the_seed_and_the_slots() -> None:
    first, again, other = (entries(parse("2xA100,T4"), seed) for seed in ("node1", "node1", "node2"))
    assert first == again
    assert {entry["uuid"] for entry in first} & {entry["uuid"] for entry in other} == set()
    assert [entry["bus_id"] for entry in first] == ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0"]


def test_given_identities_are_kept_and_checked() -> None:
    made = entries([GpuSpec("T4"), GpuSpec("T4", bus_id="0000:07:00.0")], "x")
    assert [entry["bus_id"] for entry in made] == ["0000:07:00.0", "0000:0f:00.0"]
    with pytest.raises(UsageError, match="not a PCI address"):
        GpuSpec("T4", bus_id="00000000:07:00.0")
    with pytest.raises(UsageError, match="not a GPU UUID"):
        GpuSpec("T4", uuid="GPU-1")
    with pytest.raises(UsageError, match="same bus id"):
        entries([GpuSpec("T4", bus_id="0000:07:00.0")] * 2, "x")


def test_models_are_named() -> None:
    assert models()["RTX-4090"] == "NVIDIA GeForce RTX 4090"
