"""Ten thousand hosts are read in two seconds, and twice as many take no more than about twice the memory."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

from provisioner.inventory import load


def fleet(path: Path, count: int) -> Path:
    lines = ["all:", "  children:"]
    for number in range(count):
        if number % 100 == 0:
            lines += [f"    rack{number // 100}:", f"      vars: {{rack: {number // 100}}}", "      hosts:"]
        lines += [f"        gpu{number:05}:", f"          ansible_host: 10.0.{number // 256}.{number % 256}", "          power_limit: 350"]
    path.write_text("\n".join(lines) + "\n")
    return path


def memory(path: Path) -> int:
    tracemalloc.start()
    try:
        inventory = load([path])
        assert inventory.hosts
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_ten_thousand_hosts(tmp_path: Path) -> None:
    path = fleet(tmp_path / "fleet.yml", 10_000)
    started = time.perf_counter()
    inventory = load([path])
    names = inventory.match("all:!rack7")
    for name in names:
        inventory.variables(name)
    assert len(names) == 9_900
    assert time.perf_counter() - started < 2


def test_memory_is_linear(tmp_path: Path) -> None:
    small, large = (memory(fleet(tmp_path / f"{count}.yml", count)) for count in (1000, 2000))
    assert large < 2.5 * small
    assert small / 1000 < 12_000, "bytes a host"
