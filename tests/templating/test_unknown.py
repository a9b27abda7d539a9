"""What is not known before the apply spreads through expressions, and never becomes a guess."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.values import Unknown
from tests.templating.build import templar

UNKNOWN = Unknown("running make")
DATA: dict[str, Any] = {"r": {"rc": UNKNOWN, "stdout": UNKNOWN, "changed": True, "failed": False}, "whole": UNKNOWN, "known": [1, 2]}

NOT_KNOWN = [
    "{{ r.rc }}",
    "{{ whole.a.b['c'] }}",
    "{{ r.rc == 0 }}",
    "{{ 0 == r.rc }}",
    "{{ r.rc in [0, 2] }}",
    "{{ 'x' in r.stdout }}",
    "{{ not r.rc }}",
    "{{ r.rc == 0 and true }}",
    "{{ true and r.rc == 0 }}",
    "{{ r.rc == 0 or false }}",
    "{{ 'a' if r.rc else 'b' }}",
    "port={{ r.stdout }}",
    "{{ r }}!",
    "{{ r.stdout ~ 'x' }}",
    "{{ '%s' % r.stdout }}",
    "{{ '%s' % [r.stdout] }}",
    "{{ '{}'.format([r.stdout]) }}",
    "{{ 'x'.join([r.stdout]) }}",
    "{{ {'a': 1}[r.stdout] }}",
    "{{ {'a': 1}.get(r.stdout) }}",
    "{{ known[r.rc] }}",
    "{{ r.stdout in {'a': 1} }}",
    "{{ r.stdout | upper }}",
    "{{ r.stdout | default('x') }}",
    "{{ r.stdout | default('x', true) }}",
    "{{ [r.stdout] | join }}",
    "{{ [r.stdout] | flatten }}",
    "{{ [r.stdout, r.stdout] | unique }}",
    "{{ {'a': r.stdout} | to_json }}",
    "{{ [r.stdout] | to_nice_yaml }}",
    "{{ r | to_json | hash }}",
    "{{ r.stdout is string }}",
    "{{ r.stdout is not none }}",
    "{{ r.rc is version('1', '>') }}",
    "{{ [{'a': r.rc}] | selectattr('a', 'equalto', 1) }}",
    "{{ known | select('gt', r.rc) | list }}",
    "{{ lookup('pipe', 'echo ' ~ r.stdout) }}",
    "{{ lookup('file', whole) }}",
    "{{ range(r.rc) | list }}",
    "{% if r.rc %}a{% else %}b{% endif %}",
    "{% for x in r.stdout %}a{% endfor %}",
    "{% set x = r.stdout %}{{ x }}",
    "{{ '0' + r.stdout }}",
    "{{ r.rc + 1 > 2 }}",
    "{{ r.rc < 1 < 2 }}",
]

KNOWN: list[tuple[str, Any]] = [
    ("{{ r.rc is defined }}", True),
    ("{{ r.rc is undefined }}", False),
    ("{{ r is changed }}", True),
    ("{{ r is failed }}", False),
    ("{{ r is mapping }}", True),
    ("{{ false and r.rc == 0 }}", False),
    ("{{ r.rc == 0 and false }}", False),
    ("{{ true or r.rc == 0 }}", True),
    ("{{ r.rc == 0 or true }}", True),
    ("{{ [r.rc, 1] | length }}", 2),
    ("{{ [r.rc, 1][1] }}", 1),
    ("{{ r.stdout in [] }}", False),
    ("{{ r | dict2items | map(attribute='key') | list }}", ["rc", "stdout", "changed", "failed"]),
    ("{{ r.keys() | list }}", ["rc", "stdout", "changed", "failed"]),
    ("{{ {'a': r.rc, 'b': 2}.b }}", 2),
    ("{{ known | map('string') | join }}", "12"),
]


@pytest.mark.parametrize("text", NOT_KNOWN)
def test_spreads(text: str) -> None:
    value = templar(data=DATA).render(text)
    assert isinstance(value, Unknown), value
    assert value.because == "running make"


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_stops_where_the_answer_is_certain(text: str, expected: Any) -> None:
    assert templar(data=DATA).render(text) == expected


def test_stays_a_leaf_of_containers() -> None:
    value = templar(data=DATA).render({"a": "{{ r.rc }}", "b": ["x{{ r.stdout }}", "{{ known }}"]})
    assert value["b"][1] == [1, 2]
    assert all(isinstance(leaf, Unknown) for leaf in (value["a"], value["b"][0]))


def test_through_lazy_variables() -> None:
    subject = templar({"port": "{{ r.stdout }}", "url": "http://x:{{ port }}", "all": {"url": "{{ url }}", "n": 1}}, DATA)
    assert isinstance(subject.render("{{ all.url }}"), Unknown)
    assert subject.render("{{ all.n }}") == 1


@pytest.mark.parametrize("text", ["r.rc == 0", ["true", "r.rc == 0"], "{{ r.rc }} == 0", "not r.rc", "r.rc"])
def test_conditions(text: Any) -> None:
    assert isinstance(templar(data=DATA).evaluate(text), Unknown)


@pytest.mark.parametrize("text", [["r.rc == 0", "false"], "r.rc == 0 and 1 == 2", ["false", "nope_is_never_looked_at"]])
def test_conditions_that_are_certainly_false(text: Any) -> None:
    assert templar(data=DATA).evaluate(text) is False


def test_beside_an_unknown_condition_a_failure_says_nothing() -> None:
    assert isinstance(templar(data=DATA).evaluate("r.rc == 0 and nope.x == 1"), Unknown)


def test_template_files() -> None:
    assert isinstance(templar(data=DATA).text("a\n{{ r.stdout }}\n", "x.j2"), Unknown)
    assert templar(data=DATA).text("{% if r.rc is defined %}yes{% endif %}", "x.j2") == "yes"
