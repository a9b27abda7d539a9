"""Conditions: what holds, what is tolerated with a warning, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.diagnostics import Diagnostic, Span
from provisioner.errors import InputError
from tests.templating.build import templar

VARIABLES: dict[str, Any] = {
    "foo": "bar", "t": True, "f": False, "empty": "", "l": [1], "el": [], "n": None, "one": 1, "zero": 0, "no_text": "no", "nl": "a\nb",
    "false_text": "false", "expression": "foo == 'bar'", "rendered": "{{ 1 == 1 }}", "nested": "{{ expression }}", "d": {"a": 1},
}  # fmt: skip

PLAIN: list[tuple[Any, bool]] = [
    (True, True),
    (False, False),
    (None, True),
    ("t", True),
    ("f", False),
    ("foo == 'bar'", True),
    ("rendered", True),
    ("foo is defined and l | length > 0", True),
    ("'x' in foo", False),
    (["t", "foo == 'bar'"], True),
    (["t", "f"], False),
    ([], True),
    ("t == '{{ t }}'", True),
    ("'{{ foo }}' == 'bar'", True),
    ("foo in ['{{ foo }}']", True),
    ("'{{' in nl", False),
    ("nl == 'a\\nb'", True),
    ("'a.b' is match('a\\.b')", True),
    ("lookup('vars', 'foo') == 'bar'", True),
]

TOLERATED: list[tuple[Any, bool]] = [
    ("foo", True),
    ("'no'", True),
    ("empty", False),
    ("l", True),
    ("el", False),
    ("n", False),
    ("one", True),
    ("zero", False),
    (1, True),
    (0, False),
    ("", True),
    ("  ", True),
    ("false_text", True),
    ("foo | length", True),
    ("d", True),
    ("t and foo", True),
    ("{{ t }}", True),
    ("{{ f }}", False),
    ("{{ foo == 'bar' }}", True),
    ("{{ foo }} == 'bar'", True),
    ("{{ foo }} is defined", True),
    ("{{ t }} and {{ f }}", False),
    ("{{ false_text }}", False),
    ("{{ expression }}", True),
]


@pytest.mark.parametrize(("condition", "expected"), PLAIN)
def test_holds(condition: Any, expected: bool) -> None:
    warnings: list[Diagnostic] = []
    assert templar(VARIABLES, warnings=warnings).evaluate(condition) is expected
    assert warnings == []


@pytest.mark.parametrize(("condition", "expected"), TOLERATED)
def test_is_tolerated(condition: Any, expected: bool) -> None:
    warnings: list[Diagnostic] = []
    assert templar(VARIABLES, warnings=warnings).evaluate(condition, Span("site.yml", 3, 9)) is expected
    assert warnings
    assert all(item.severity == "warning" and item.span == Span("site.yml", 3, 9) and item.help for item in warnings)


REFUSED = [
    ("nope", "'nope' is undefined"),
    ("not nope", "'nope' is undefined"),
    ("{{ nope }}", "'nope' is undefined"),
    ("d.zz == 1", r"'zz' is missing in 'd' \(has: a\)"),
    ("foo is defined and", "Syntax error in template"),
    ("x y", "unexpected 'y' after the expression"),
    ("foo is nofest", "No test named 'nofest'"),
    ("foo | nofilter", "No filter named 'nofilter'"),
    ("{{ foo }}", "gives the text 'bar'|'bar' is undefined"),
]


@pytest.mark.parametrize(("condition", "message"), REFUSED)
def test_is_refused(condition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        templar(VARIABLES).evaluate(condition)


def test_data_is_never_an_expression() -> None:
    subject = templar(VARIABLES, {"said": "1 == 1", "said_no": "no", "said_false": "False"})
    with pytest.raises(InputError, match="gives the text '1 == 1'"):
        subject.evaluate("{{ said }}")
    assert subject.evaluate("{{ said_false }}") is False
    assert subject.evaluate("said_no") is True


@pytest.mark.parametrize("condition", ["foo", "", "l", 1])
def test_a_setting_refuses_what_is_no_boolean(condition: Any) -> None:
    subject = templar(VARIABLES)
    subject.environment.settings = {"ALLOW_BROKEN_CONDITIONALS": False}
    with pytest.raises(InputError):
        subject.evaluate(condition)
    assert subject.evaluate("{{ t }}") is True


def test_what_a_variable_gives_is_no_condition_unless_a_person_wrote_it() -> None:
    subject = templar({"outer": "{{ said }}", "checks": ["1 == 1"], "indirect": "{{ checks }}"}, {"said": "1 == 1", "several": ["1 == 1"]})
    with pytest.raises(InputError, match="gives the text '1 == 1'"):
        subject.evaluate("{{ outer }}")
    assert subject.condition_list("{{ indirect }}") == ["1 == 1"]
    assert subject.evaluate(subject.condition_list("{{ indirect }}")) is True
    with pytest.raises(InputError, match="gives the text '1 == 1'"):
        subject.evaluate(subject.condition_list("{{ several }}"))
