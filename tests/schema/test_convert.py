"""Whole sets of arguments against a declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.diagnostics import Span
from provisioner.node.declare import Module
from provisioner.schema.convert import coerce
from provisioner.schema.registry import Registry
from provisioner.values import Unknown, WrittenInt

LIBRARY = Path(__file__).parent / "library"


@pytest.fixture(name="gadget", scope="module")
def _gadget() -> Module:
    found = Registry([LIBRARY]).find("gadget")
    assert found is not None
    return found.module


@pytest.fixture(name="talk", scope="module")
def _talk() -> Module:
    found = Registry([LIBRARY]).find("talk")
    assert found is not None
    return found.module


def given(module: Module, **args: Any) -> dict[str, Any]:
    """The parameters of right arguments, without defaults."""
    params, problems = coerce(module, args, defaults=False)
    assert problems == []
    return params


def messages(module: Module, **args: Any) -> list[str]:
    """What is wrong with arguments."""
    return [item.message for item in coerce(module, args)[1]]


def test_aliases_and_types(gadget: Module) -> None:
    found = given(
        gadget, gadget="x", force="yes", count="3", labels="a,b", ports=["22", 80], wait="2m", size="1k", mode=WrittenInt(0o600, "0600")
    )
    assert found == {
        "name": "x", "force": True, "count": 3, "tags": ["a", "b"], "ports": [22, 80], "wait": 120, "size": 1024, "mode": "0600",
    }  # fmt: skip


def test_defaults_fill_the_record(gadget: Module) -> None:
    params, problems = coerce(gadget, {"name": "x"})
    assert problems == []
    record = gadget.params(**params)
    assert (record.state, record.ratio, record.wait, record.src) == ("present", 0.5, 5, None)  # type: ignore[attr-defined]


def test_none_is_not_given(gadget: Module) -> None:
    assert given(gadget, name="x", state=None, mode=None) == {"name": "x"}
    assert messages(gadget, name=None) == ["gadget: missing required arguments: name"]


def test_all_problems_at_once(gadget: Module) -> None:
    found = messages(gadget, stat="absent", force="maybe", mode=WrittenInt(644, "644"), ports=[22, 23])
    assert found == [
        "gadget: unsupported option 'stat'",
        "gadget: force takes a boolean, not 'maybe'",
        "gadget: mode 644 is the number 644 = octal 1204; write '0644'",
        "gadget: ports must be one of: 22, 80, 443, got: 23",
        "gadget: missing required arguments: name",
    ]


def test_places_and_hints(gadget: Module) -> None:
    _, problems = coerce(gadget, {"name": "x", "stat": "absent"}, lambda name: Span("a.yml", 3, len(name)))
    assert problems[0].span == Span("a.yml", 3, 4)
    assert problems[0].help == "did you mean 'state'?"


def test_same_option_twice(gadget: Module) -> None:
    params, problems = coerce(gadget, {"title": "a", "name": "b"})
    assert params["name"] == "b"
    assert [(item.severity, item.message) for item in problems] == [("warning", "gadget: 'title' and 'name' are the same option")]


@pytest.mark.parametrize(("value", "wanted"), [(True, "yes"), (False, "no"), ("yes", "yes"), ("True", "yes"), ("maybe", "maybe")])
def test_choices_that_yaml_reads_as_booleans(gadget: Module, value: Any, wanted: str) -> None:
    assert given(gadget, name="x", answer=value)["answer"] == wanted


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"key": "a", "key_file": "b", "hint": "h"}, "gadget: parameters are mutually exclusive: key and key_file"),
        ({"user": "u"}, "gadget: parameters are required together: user, password"),
        ({"state": "linked"}, "gadget: state is linked but all of: src are missing"),
        ({"key": "a"}, "gadget: key also needs: hint"),
    ],
)
def test_rules(gadget: Module, args: dict[str, Any], message: str) -> None:
    assert messages(gadget, name="x", **args) == [message]


def test_unknown_values_pass_and_break_no_rule(gadget: Module) -> None:
    unknown = Unknown("running x")
    found = given(gadget, name=unknown, state=unknown, key=unknown, key_file=unknown, user=unknown, tags=["a", unknown], mode=unknown)
    assert found["name"] is unknown
    assert found["tags"][1] is unknown
    assert given(gadget, name="x", extra={"a": unknown})["extra"]["a"] is unknown


def test_free_form(talk: Module, gadget: Module) -> None:
    assert given(talk, _raw_params="hello") == {"line": "hello"}
    assert messages(gadget, name="x", _raw_params="hello") == ["gadget: takes no free-form text ('hello')"]


def test_options_of_any_name(talk: Module) -> None:
    assert given(talk, loud="yes", colour="red", none=None) == {"loud": True, "rest": {"colour": "red", "none": None}}
