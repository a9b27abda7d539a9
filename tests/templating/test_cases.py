"""Each expression of ``cases/`` gives the recorded value, of the recorded type, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.errors import InputError
from tests.templating.cases import ALL, Cases

OURS = [
    pytest.param(cases, expression, expected, id=f"{cases.name}-{index}")
    for cases in ALL
    for index, (expression, expected) in enumerate([*cases.good, *cases.lenient, *((row[0], row[2]) for row in cases.differs)])
]
BAD = [pytest.param(cases, expression, id=f"{cases.name}-{index}") for cases in ALL for index, expression in enumerate(cases.bad)]
TABLE = [pytest.param(cases, query, id=query or "none") for cases in ALL for query in cases.ipaddr]


def same(left: Any, right: Any) -> bool:
    """Equal, and equal in type all the way down."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool) and isinstance(left, str) == isinstance(right, str)


@pytest.mark.parametrize(("cases", "expression", "expected"), OURS)
def test_value(cases: Cases, expression: Any, expected: Any) -> None:
    value = cases.templar().render(expression)
    assert same(value, expected), f"{expression}\n  expected {expected!r}\n  found    {value!r}"


@pytest.mark.parametrize(("cases", "expression"), BAD)
def test_refusal(cases: Cases, expression: Any) -> None:
    with pytest.raises(InputError):
        cases.templar().render(expression)


@pytest.mark.parametrize(("cases", "query"), TABLE)
def test_ipaddr(cases: Cases, query: str) -> None:
    templar = cases.templar()
    argument = int(query) if query.lstrip("-").isdigit() else query
    found = {value: templar.render(f"{{{{ {value!r} | ansible.utils.ipaddr({argument!r}) }}}}") for value in cases.ipaddr[query]}
    assert found == cases.ipaddr[query]
