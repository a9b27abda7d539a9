"""The field failures that the tool was designed against are tests: each case of the language and of templates names its test by its id."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CASES = ("L02", "L03", "L05", "L06", "L07", "L08", "L11", "L13", "T02", "T03")


@pytest.mark.parametrize("case", CASES)
def test_the_case_is_a_test(case: str) -> None:
    files = [file for pattern in ("*.py", "*.yml", "*.yaml") for file in TESTS.rglob(pattern) if file != Path(__file__)]
    assert any(case in file.read_text() for file in files), f"no test names {case}"
