"""Host patterns: what they select, and what is said of names that are not there (bug-cases L11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.diagnostics import Span
from provisioner.errors import InputError, UsageError
from provisioner.inventory import Inventory, Options, load

INI = "zeta\n[web]\nw[1:3]\n[db]\nd1\nd2\n[gpu_nodes]\ngpu01\n[prod:children]\nweb\ndb\n[first]\nw1\n[empty]\n"


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    (tmp_path / "hosts").write_text(INI)
    return load([tmp_path / "hosts"])


EVERYTHING = "zeta gpu01 w1 w2 w3 d1 d2"


@pytest.mark.parametrize(
    ("pattern", "limit", "names"),
    [
        ("all", None, EVERYTHING),
        ("*", None, EVERYTHING),
        ("web", None, "w1 w2 w3"),
        ("db:web", None, "d1 d2 w1 w2 w3"),
        ("db,web", None, "d1 d2 w1 w2 w3"),
        (["db", "w1,zeta"], None, "d1 d2 w1 zeta"),
        ("web:&first", None, "w1"),
        ("web:!first", None, "w2 w3"),
        ("!web", None, "zeta gpu01 d1 d2"),
        ("&web", None, "w1 w2 w3"),
        ("!w1:web:&prod", None, "w2 w3"),
        ("w*", None, "w1 w2 w3"),
        ("?1", None, "w1 d1"),
        ("~(w|d)1", None, "w1 d1"),
        ("web[0]", None, "w1"),
        ("web[-1]", None, "w3"),
        ("web[1:2]", None, "w2 w3"),
        ("web[1:]", None, "w2 w3"),
        ("web[7]", None, ""),
        ("prod[0]:prod[3]", None, "w1 d1"),
        ("ungrouped", None, "zeta"),
        ("localhost", None, "localhost"),
        ("nobody", None, ""),
        ("all", "w1,d*", "w1 d1 d2"),
        ("all", "!web", "zeta gpu01 d1 d2"),
        ("d2,w1", "prod", "d2 w1"),
        ("db", "web", ""),
    ],
)
def test_select(inventory: Inventory, pattern: str, limit: str | None, names: str) -> None:
    assert inventory.match(pattern, limit) == names.split()


def test_limits_from_files(inventory: Inventory, tmp_path: Path) -> None:
    (tmp_path / "retry").write_text("# failed yesterday\nw1\n\n  d1  \nw2:gpu*\n")
    assert inventory.match("all", f"@{tmp_path}/retry") == ["gpu01", "w1", "w2", "d1"]
    with pytest.raises(UsageError, match="cannot read the limit file"):
        inventory.match("all", f"@{tmp_path}/none")


@pytest.mark.parametrize(
    "pattern", ["all", "web:db", "w1", "*", "gpu*", "~gpu", "web[0]", "empty", "empty[0]", "localhost", "127.0.0.1", "!first"]
)
def test_known_names_pass(inventory: Inventory, pattern: str) -> None:
    assert not inventory.check(pattern)


@pytest.mark.parametrize(
    ("pattern", "option", "message", "help"),
    [
        ("gpu_nodse", "", "no host or group is called 'gpu_nodse'", "did you mean 'gpu_nodes'?"),
        ("w1,w9", "--limit", "--limit: no host or group is called 'w9'", "did you mean"),
        ("w1,!w9", "--limit", "--limit: no host or group is called 'w9'", "did you mean"),
        ("all:&prd", "", "no host or group is called 'prd'", "did you mean 'prod'?"),
        ("xylophone", "", "no host or group is called 'xylophone'", "the groups are db, empty, first, gpu_nodes, prod, web"),
        ("web[7]", "", "'web[7]' selects nobody: 'web' has 3 hosts", ""),
        ("~[", "", "host pattern '~[' is not a regular expression", ""),
    ],
)
def test_unknown_names_are_errors(inventory: Inventory, pattern: str, option: str, message: str, help: str) -> None:
    span = Span("site.yml", 3, 10)
    (error,) = inventory.check(pattern, span, option=option).errors
    assert error.message == message
    assert error.help.startswith(help)
    assert error.span == span


def test_every_unknown_name_is_told(inventory: Inventory) -> None:
    assert [item.message for item in inventory.check(["nope", "web,nada"])] == [
        "no host or group is called 'nope'",
        "no host or group is called 'nada'",
    ]


def test_wildcards_without_a_match_and_later_hosts_are_warnings(inventory: Inventory) -> None:
    assert [item.severity for item in inventory.check("x*:web")] == ["warning"]
    assert [item.severity for item in inventory.check("added", mismatch="warning")] == ["warning"]
    assert not inventory.check("added", mismatch="ignore")


def test_the_setting_decides_unless_told_otherwise(tmp_path: Path) -> None:
    inventory = load(["a,"], options=Options(mismatch="ignore"))
    assert not inventory.check("nope")
    assert inventory.check("nope", mismatch="error").errors


def test_bad_regular_expressions_stop_a_selection(inventory: Inventory) -> None:
    with pytest.raises(InputError):
        inventory.match("~[")
