"""Host entries: ports and ranges."""

from __future__ import annotations

import pytest

from provisioner.inventory.addresses import HostPatternError, expand


@pytest.mark.parametrize(
    ("entry", "names", "port"),
    [
        ("web", ["web"], None),
        ("web:2222", ["web"], 2222),
        ("web1.example.com:22", ["web1.example.com"], 22),
        ("10.0.0.1:22", ["10.0.0.1"], 22),
        ("[fe80::1]:22", ["fe80::1"], 22),
        ("fe80::1", ["fe80::1"], None),
        ("user@host:22", ["user@host:22"], None),
        ("web[1:3]", ["web1", "web2", "web3"], None),
        ("web[01:20:9]", ["web01", "web10", "web19"], None),
        ("web[08:11]:2222", ["web08", "web09", "web10", "web11"], 2222),
        ("web[:2]", ["web0", "web1", "web2"], None),
        ("n[a:c]", ["na", "nb", "nc"], None),
        ("n[a:e:2].x", ["na.x", "nc.x", "ne.x"], None),
        ("r[1:2]-n[1:2]", ["r1-n1", "r1-n2", "r2-n1", "r2-n2"], None),
        ("web[0]", ["web[0]"], None),
        (" web ", ["web"], None),
    ],
)
def test_entries(entry: str, names: list[str], port: int | None) -> None:
    assert expand(entry) == (names, port)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("web:", "a colon stands before a port"),
        ("key: value", "a colon stands before a port"),
        ("---", "begins a YAML file"),
        ("web[1:]", "has no end"),
        ("web[3:1]", "ends before it begins"),
        ("web[01:100]", "same number of digits"),
        ("web[1:z]", "neither from number to number"),
        ("web[1:5:0]", "at least 1"),
        ("web[1:5:x]", "is no number"),
        ("web[1:2:3:4]", "is not \\[first:last\\]"),
    ],
)
def test_entries_that_cannot_be_read(entry: str, reason: str) -> None:
    with pytest.raises(HostPatternError, match=reason):
        expand(entry)
