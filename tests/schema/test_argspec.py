"""Argument specifications of roles."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.schema.argspec import check
from provisioner.values import Unknown

OPTIONS: dict[str, Any] = {
    "port": {"type": "int", "required": True},
    "state": {"type": "str", "default": "on", "choices": ["on", "off"]},
    "names": {"type": "list", "elements": "int"},
    "path": {"type": "path", "aliases": ["dest"]},
    "users": {"type": "list", "elements": "dict", "options": {"name": {"required": True}, "uid": {"type": "int"}}},
    "any": {"type": "raw"},
}

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"port": 1}, []),
    ({"port": "80", "state": "off", "names": "1,2", "dest": "/x", "other": object()}, []),
    ({}, ["missing required arguments: port"]),
    ({"port": "x"}, ["port takes a whole number, not 'x'"]),
    ({"port": 1, "state": "broken"}, ["value of state must be one of: on, off, got: broken"]),
    ({"port": 1, "names": [1, "a"]}, ["names[1] takes a whole number, not 'a'"]),
    ({"port": 1, "users": [{"name": "a", "uid": "5"}, {"uid": 1}]}, ["missing required arguments: users[1].name"]),
    ({"port": 1, "users": [{"name": "a", "nme": 1}]}, ["unsupported option users[0].'nme'. did you mean 'name'?"]),
    ({"port": 1, "users": "x"}, ["users[0] takes a mapping, not 'x'"]),
    ({"port": Unknown("x"), "names": [Unknown("y")]}, []),
]


@pytest.mark.parametrize(("values", "wanted"), CASES)
def test_values(values: dict[str, Any], wanted: list[str]) -> None:
    assert check(OPTIONS, values) == wanted


def test_rules() -> None:
    options: dict[str, Any] = {name: {} for name in ("a", "b", "c", "d")}
    rules = {
        "mutually_exclusive": [["a", "b"]],
        "required_one_of": [["c", "d"]],
        "required_together": [["a", "c"]],
        "required_if": [["b", "x", ["d"]]],
    }
    assert check(options, {"a": "1", "b": "x"}, rules) == [
        "parameters are mutually exclusive: a and b",
        "one of the following is required: c, d",
        "parameters are required together: a, c",
        "b is x but all of: d are missing",
    ]
