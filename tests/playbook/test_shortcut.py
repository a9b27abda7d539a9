"""Texts that are taken as right without asking Jinja: they must be right, and common enough to be worth it."""

from __future__ import annotations

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.playbook import checks

WORDS = [
    *("a", "b.c", "d['e']", "f[0]", "'x'", '"y"', "5", "true"),
    *("and", "or", "not", "is", "in", "if", "==", "!=", ">=", "defined", "changed"),
    *("| default('x')", "| bool", "| nothing", "(", ")", "{{", "}}", "{%", "text", "|", "\\", "'", "{"),
]


def parses(text: str) -> bool:
    """Whether Jinja accepts the syntax."""
    try:
        jinja2.Environment().parse(text)
    except jinja2.TemplateSyntaxError:
        return False
    return True


@given(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))
def test_what_is_taken_as_right_is_right(text: str) -> None:
    if checks._PLAIN_EXPRESSION.fullmatch(text):
        assert parses("{{ " + text + " }}")
    if checks._PLAIN_TEMPLATE.fullmatch(text):
        assert parses(text)


@pytest.mark.parametrize(
    "text",
    [
        "ansible_os_family == 'Debian'",
        "a is defined and not b",
        "result.stdout | default('') == ''",
        "item.value.enabled | bool",
        "ansible_facts['distribution'] == \"Ubuntu\" or x is not defined",
        "result.rc != 0",
    ],
)
def test_common_conditions_need_no_second_look(text: str) -> None:
    assert checks._PLAIN_EXPRESSION.fullmatch(text)


@pytest.mark.parametrize("text", ["plain text", "{{ a }}", "/etc/{{ a.b }}/{{ c | default('x') }}.conf", "{{ a['b'] | default(omit) }}"])
def test_common_templates_need_no_second_look(text: str) -> None:
    assert checks._PLAIN_TEMPLATE.fullmatch(text)


@pytest.mark.parametrize("text", ["{{ a | shout }}", "{{ a + }}", "{% if a %}", "{{ lookup('x') }}", "{{ a.b. }}"])
def test_all_else_is_looked_at(text: str) -> None:
    assert not checks._PLAIN_TEMPLATE.fullmatch(text)
