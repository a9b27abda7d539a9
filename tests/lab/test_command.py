"""``provision lab``: what its words mean and what it prints; the nodes themselves are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from provisioner.cli.lab import lab as command
from provisioner.errors import UsageError
from provisioner.lab import model, state
from provisioner.lab.model import Lab, Node


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Two labs on record, none of whose nodes run."""
    monkeypatch.setenv("PROVISION_STATE", str(tmp_path))
    monkeypatch.setattr("provisioner.lab.nspawn.Nspawn.running", lambda self, lab, node: node.index == 1)
    for name, network in (("lab", 0), ("gpu-x", 9)):
        bare = Lab(name, state.lab_folder(tmp_path, name), "nspawn", "bookworm", network)
        bare.folder.mkdir(parents=True)
        state.save(bare.with_nodes(Node(bare.node_name(i), i, bare.address(i), "ssh-ed25519 K") for i in (1, 2)))
    return state.load(tmp_path, "lab")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What ``up``, ``down`` and ``ssh`` were asked for."""
    calls: list[Any] = []

    def up(count: int, **options: Any) -> Lab:
        calls.append((count, {key: value for key, value in options.items() if key != "say"}))
        bare = Lab(options["name"], Path("/s/labs/x"), "nspawn", "bookworm", 3)
        return bare.with_nodes(Node(bare.node_name(i), i, bare.address(i), "k") for i in range(1, count + 1))

    def ssh(argv: list[str]) -> int:
        calls.append(argv)
        return 7

    monkeypatch.setattr("provisioner.lab.operations.up", up)
    monkeypatch.setattr("provisioner.lab.operations.down", lambda name, say: calls.append(name))
    monkeypatch.setattr("provisioner.lab.operations.subprocess.call", ssh)
    return calls


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(command, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_up_passes_on_what_was_asked(asked: list[Any]) -> None:
    code, out, told = run("up", "-n", "3", "--name", "x", "--suite", "trixie", "--gpus", "4xA100, T4")
    assert code == 0
    assert asked == [(3, {"name": "x", "suite": "trixie", "backend": "auto", "gpus": ["4xA100", "T4"]})]
    assert out == "x-1\t10.213.3.1\nx-2\t10.213.3.2\nx-3\t10.213.3.3\n"
    assert "provision apply /s/labs/x/inventory.yml" in told


@pytest.mark.parametrize(("words", "gpus"), [((), None), (("--gpus", "none"), []), (("--gpus", "8xH100"), ["8xH100"])])
def test_gpus_in_words(asked: list[Any], words: tuple[str, ...], gpus: list[str] | None) -> None:
    run("up", *words)
    assert asked[0][1]["gpus"] == gpus


@pytest.mark.parametrize(("words", "names"), [((), ["lab"]), (("a", "b"), ["a", "b"]), (("--all",), ["gpu-x", "lab"])])
def test_down_takes_the_default_the_named_or_all(made: Lab, asked: list[Any], words: tuple[str, ...], names: list[str]) -> None:
    assert run("down", *words)[0] == 0
    assert asked == names


def test_down_of_all_goes_without_names(made: Lab, asked: list[Any]) -> None:
    with pytest.raises(UsageError):
        run("down", "lab", "--all")
    assert asked == []


def test_list_for_people(made: Lab) -> None:
    _, out, _ = run("list")
    assert "gpu-x: bookworm with nspawn" in out
    assert "lab-1        10.213.0.1      running" in out
    assert "lab-2        10.213.0.2      not running" in out


def test_list_for_programs(made: Lab) -> None:
    document = json.loads(run("list", "--format", "json")[1])
    assert document["schema"] == "provision.labs/1"
    assert [entry["name"] for entry in document["labs"]] == ["gpu-x", "lab"]
    assert document["labs"][1]["nodes"][0] == {"name": "lab-1", "address": "10.213.0.1", "port": 22, "running": True}


def test_list_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_STATE", str(tmp_path))
    assert run("list")[1] == ""
    assert "provision lab up" in run("list")[2]


@pytest.mark.parametrize(
    ("words", "target", "rest"),
    [
        (("1",), "10.213.0.1", []),
        (("lab-2", "uptime", "-p"), "10.213.0.2", ["--", "uptime", "-p"]),
        (("gpu-x-1", "--", "ls", "--all"), "10.213.9.1", ["--", "ls", "--all"]),
        (("--name", "gpu-x", "2"), "10.213.9.2", []),
    ],
)
def test_ssh_finds_the_node_and_ends_as_it_does(made: Lab, asked: list[Any], words: tuple[str, ...], target: str, rest: list[str]) -> None:
    assert run("ssh", *words)[0] == 7
    argv = asked[0]
    place = argv.index(f"{model.USER}@{target}")
    assert argv[place + 1 :] == rest
    assert "StrictHostKeyChecking=yes" in argv


@pytest.mark.parametrize(("node", "hint"), [("lab-9", "lab-1"), ("lob-1", "'lab'"), ("9", "lab-1, lab-2")])
def test_ssh_to_what_is_not_there(made: Lab, asked: list[Any], node: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        run("ssh", node)
    assert hint in caught.value.help
