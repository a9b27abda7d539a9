"""Names, counts and addresses of labs: what an inventory may rely on before a node exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import ProvisionError, UsageError
from provisioner.lab import model
from provisioner.lab.model import Lab, Node


def lab(name: str = "lab", *, network: int = 0, count: int = 2) -> Lab:
    bare = Lab(name, Path("/state/labs") / name, "nspawn", "bookworm", network, gpus=("T4",), restore={"net/ipv4/ip_forward": "0"})
    return bare.with_nodes(Node(bare.node_name(i), i, bare.address(i), f"ssh-ed25519 KEY{i} {name}-{i}") for i in range(count, 0, -1))


def test_addresses_follow_from_the_network_and_the_position() -> None:
    made = lab(network=7)
    assert [(node.name, node.address, node.port) for node in made.nodes] == [("lab-1", "10.213.7.1", 22), ("lab-2", "10.213.7.2", 22)]
    assert (made.gateway, made.subnet, made.bridge) == ("10.213.7.254", "10.213.7.0/24", "provlab7")
    assert made.hosts() == {"lab-1": "10.213.7.1", "lab-2": "10.213.7.2", "repository.lab": "10.213.7.254"}


def test_the_default_lab_always_has_the_same_network() -> None:
    assert model.choose_network("lab", {"other": 9}) == 0


def test_other_labs_never_share_a_network() -> None:
    taken: dict[str, int] = {}
    for index in range(254):
        name = f"x{index}"
        number = model.choose_network(name, taken)
        assert number not in taken.values()
        assert 1 <= number <= 254
        taken[name] = number
    assert model.choose_network("x3", taken) == taken["x3"]
    with pytest.raises(UsageError, match="254 labs"):
        model.choose_network("one-more", taken)


def test_interface_names_fit_the_kernel() -> None:
    last = lab("a" * 16, network=254, count=model.MOST_NODES)
    assert len(last.bridge) <= 15
    assert len(f"pl{last.network}-{last.nodes[-1].index}") <= 15


@pytest.mark.parametrize("name", ["lab", "a", "gpu-test", "x1"])
def test_good_names(name: str) -> None:
    assert model.check_name(name) == name


@pytest.mark.parametrize("name", ["", "Lab", "1a", "a_b", "a-", "a" * 17, "../x", "a b", "läb"])
def test_bad_names(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a lab"):
        model.check_name(name)


@pytest.mark.parametrize("count", [-1, 0, 251])
def test_bad_counts(count: int) -> None:
    with pytest.raises(UsageError, match="1 to 250 nodes"):
        model.check_count(count)


def test_json_round_trip() -> None:
    made = lab()
    assert Lab.from_json(made.folder, made.to_json()) == made


def test_json_of_another_version_is_refused() -> None:
    with pytest.raises(ProvisionError, match=r"provision\.lab/9"):
        Lab.from_json(Path("/x"), {"schema": "provision.lab/9"})


def test_a_node_is_found_by_name_or_number() -> None:
    made = lab()
    assert made.node("lab-2") is made.node("2")


@pytest.mark.parametrize(("wanted", "hint"), [("lab-22", "lab-2"), ("zzz", "it has lab-1, lab-2")])
def test_an_unknown_node_gets_a_hint(wanted: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        lab().node(wanted)
    assert hint in caught.value.help
