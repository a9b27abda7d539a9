"""The recorded values of ``cases/`` are what stock ansible-core gives, by value and by type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.templating.natural import type_name
from tests.templating.cases import ALL, Cases
from tests.templating.stock import answers, play, run
from tests.templating.test_cases import same

pytestmark = pytest.mark.peers

COMPARED = [cases for cases in ALL if not cases.needs]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the answers of one run over all files."""
    folder = tmp_path_factory.mktemp("stock")
    plays = []
    for cases in COMPARED:
        good = [expression for expression, _ in recorded(cases)]
        bad = [*cases.bad, *(row[0] for row in cases.lenient if not _by_passlib(row[0]))]
        plays.append(play(cases.name, cases.variables, good, bad, folder))
    run(plays, folder)
    return folder


def recorded(cases: Cases) -> list[tuple[Any, Any]]:
    """Expressions and stock's values. Left out is ``omit``, which stock only resolves in the arguments of a task."""
    rows = [(row[0], row[1]) for row in (*cases.good, *cases.differs)]
    return [row for row in rows if "omit" not in str(row[0])]


def fits(kind: str, value: Any) -> bool:
    """Whether stock's name of a type is that of a value; tuples and views become lists only when they leave stock's expressions."""
    return isinstance(value, (list, dict)) or kind == ("NoneType" if value is None else type_name(value)) or kind == "Markup"


def _by_passlib(expression: Any) -> bool:
    """Whether stock answers it only with a library that may or may not be there."""
    return "password_hash" in str(expression)


@pytest.mark.parametrize("cases", COMPARED, ids=lambda cases: cases.name)
def test_values_and_types(cases: Cases, stock: Path) -> None:
    values, types, _refused = answers(cases.name, stock)
    different = [
        f"{expression}: recorded {expected!r}, stock {value!r} ({kind})"
        for (expression, expected), value, kind in zip(recorded(cases), values, types, strict=True)
        if not same(expected, value) or not fits(kind, expected)
    ]
    assert not different, "\n".join(different)


@pytest.mark.parametrize("cases", COMPARED, ids=lambda cases: cases.name)
def test_refusals(cases: Cases, stock: Path) -> None:
    refused = answers(cases.name, stock)[2]
    bad = [*cases.bad, *(row[0] for row in cases.lenient if not _by_passlib(row[0]))]
    accepted = [expression for index, expression in enumerate(bad) if f"e{index}" not in refused]
    assert not accepted


def test_count() -> None:
    assert sum(len(cases.good) for cases in COMPARED) >= 300
