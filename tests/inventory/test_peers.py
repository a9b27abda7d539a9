"""Stock Ansible and we read the same inventories alike, and select the same hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioner.inventory import load
from provisioner.inventory.dump import Dump, to_json
from provisioner.project.expressions import inventory_renderer
from tests.inventory import peer_cases
from tests.inventory.stock import ask
from tests.inventory.tree import plant

pytestmark = pytest.mark.peers

VIEWS = (["--list"], ["--list", "--export"], ["--graph"], ["--graph", "--vars"])


def unmarked(value: Any) -> Any:
    """Rendered text is untrusted data in Ansible and written as such; with us it has no mark of its own."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: unmarked(child) for key, child in value.items()}
    return [unmarked(child) for child in value] if isinstance(value, list) else value


def ours(sources: list[str], view: list[str]) -> Any:
    dump = Dump(load(sources, render=inventory_renderer()), export="--export" in view)
    if "--graph" in view:
        return list(dump.graph(variables="--vars" in view))
    return unmarked(json.loads(to_json(dump.listing())))


def parsed(answer: Any, view: list[str]) -> Any:
    assert isinstance(answer, str), answer
    return answer.rstrip("\n").split("\n") if "--graph" in view else unmarked(json.loads(answer))


@pytest.mark.parametrize("name", peer_cases.CASES)
def test_listings_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sources, files = peer_cases.CASES[name]
    plant(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    given = [argument for source in sources for argument in ("-i", source)]
    answers = ask([("show", [[*given, *view]]) for view in VIEWS], tmp_path)
    for view, answer in zip(VIEWS, answers, strict=True):
        assert ours(sources, view) == parsed(answer, view), view


def test_variables_of_one_host_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, files = peer_cases.CASES["several sources and folders"]
    plant(
        tmp_path,
        files + "== play/group_vars/all.yml\ngv: play-all\n== play/group_vars/web.yml\nhv: play-web\nn: 1\n== play/host_vars/w1\nn: 2\n",
    )
    monkeypatch.chdir(tmp_path)
    hosts = ["w1", "w2", "d2", "f1", "zeta", "localhost"]
    given = [argument for source in sources for argument in ("-i", source)]
    answers = ask([("show", [[*given, "--playbook-dir", "play", "--host", host]]) for host in hosts], tmp_path)
    dump = Dump(load(sources), playbook=Path("play"))
    for host, answer in zip(hosts, answers, strict=True):
        mine = json.loads(to_json(dump.host(host)))
        mine.pop("ansible_python_interpreter", None)
        theirs = json.loads(answer)
        theirs.pop("ansible_python_interpreter", None)
        assert mine == theirs, host


def test_patterns_select_the_same_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, peer_cases.PATTERN_FILES)
    monkeypatch.chdir(tmp_path)
    answers = ask([("match", [peer_cases.PATTERN_SOURCES, pattern, peer_cases.LIMITS]) for pattern in peer_cases.PATTERNS], tmp_path)
    for pattern, answer in zip(peer_cases.PATTERNS, answers, strict=True):
        inventory = load(peer_cases.PATTERN_SOURCES)
        assert [inventory.match(pattern, limit) for limit in peer_cases.LIMITS] == answer, pattern
