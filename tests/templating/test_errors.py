"""An error names the file, line and column of the text that is wrong, what is missing, and what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.diagnostics import Diagnostic, Span
from provisioner.errors import InputError
from provisioner.templating import Environment, Layer, Level, Scope, Templar, UndefinedVariable
from tests.templating.build import templar


def problem(caught: pytest.ExceptionInfo[InputError]) -> Diagnostic:
    return caught.value.diagnostics.errors[0]


def test_deep_in_a_template_file(tmp_path: Path) -> None:
    """Bug case L13."""
    file = tmp_path / "x.j2"
    file.write_text("".join(f"line {number}\n" for number in range(1, 41)) + "    W={{ gpu.limit.watts }}\n" + "end\n" * 19)
    subject = templar({"gpu": {"branch": 535, "count": 8}})
    with pytest.raises(UndefinedVariable) as caught:
        subject.text(file.read_text(), str(file))
    found = problem(caught)
    assert found.message == "'limit' is missing in 'gpu' (has: branch, count)"
    assert found.span == Span(str(file), 41, 14)
    assert len(found.render().splitlines()) <= 6
    assert "  41 |     W={{ gpu.limit.watts }}\n     |              ^" in found.render()


def test_in_an_included_file(tmp_path: Path) -> None:
    (tmp_path / "inner.j2").write_text("fine\n{% for x in [1] %}\n{{ nope }}\n{% endfor %}\n")
    outer = tmp_path / "outer.j2"
    outer.write_text("{% include 'inner.j2' %}\n")
    with pytest.raises(UndefinedVariable) as caught:
        templar().text(outer.read_text(), str(outer))
    assert problem(caught).span == Span(str(tmp_path / "inner.j2"), 3, 4)


def test_after_a_header_line(tmp_path: Path) -> None:
    with pytest.raises(UndefinedVariable) as caught:
        templar().text("#jinja2: trim_blocks: False\nfine\n{{ nope }}\n", "x.j2")
    assert problem(caught).span == Span("x.j2", 3, 4)


YAML = """\
- hosts: all
  tasks:
    - copy:
        dest: "/etc/{{ name }}/{{ nope }}"
        content: |
          first
          second {{ gpu['limit'] }}
      when: gpu.limit is defined and gpu.count > wrong
"""

PLACES: list[tuple[str, tuple[int, int], tuple[int, int], str]] = [
    ("/etc/{{ name }}/{{ nope }}", (4, 15), (4, 35), "'nope' is undefined"),
    ("first\nsecond {{ gpu['limit'] }}\n", (5, 18), (7, 26), "'limit' is missing in 'gpu' (has: count)"),
]


@pytest.mark.parametrize(("text", "start", "place", "message"), PLACES)
def test_in_a_yaml_file(tmp_path: Path, text: str, start: tuple[int, int], place: tuple[int, int], message: str) -> None:
    file = tmp_path / "site.yml"
    file.write_text(YAML)
    with pytest.raises(UndefinedVariable) as caught:
        templar({"name": "x", "gpu": {"count": 1}}).render(text, Span(str(file), *start))
    assert problem(caught).message == message
    assert problem(caught).span == Span(str(file), *place)


def test_in_a_condition(tmp_path: Path) -> None:
    file = tmp_path / "site.yml"
    file.write_text(YAML)
    with pytest.raises(UndefinedVariable) as caught:
        templar({"gpu": {"count": 1, "limit": 2}}).evaluate("gpu.limit is defined and gpu.count > wrong", Span(str(file), 8, 13))
    assert problem(caught).span == Span(str(file), 8, 50)


def test_spans_of_nested_values() -> None:
    spans = {"args.env": Span("site.yml", 5, 3), "args.env.0": Span("site.yml", 6, 3), "args.mode": Span("site.yml", 9, 3)}
    with pytest.raises(UndefinedVariable) as caught:
        templar().render({"mode": "0644", "env": ["{{ nope }}"]}, Span("site.yml", 1, 1), spans=spans, at="args")
    assert problem(caught).span == Span("site.yml", 6, 3)


def test_the_chain_of_variables() -> None:
    spans = {"outer": Span("group_vars/all.yml", 1, 8), "inner": Span("group_vars/all.yml", 2, 8)}
    layer = Layer(Level.INVENTORY_GROUP_ALL, {"outer": "{{ inner.x }}", "inner": {"x": "{{ nope }}"}}, "group_vars/all.yml", spans=spans)
    with pytest.raises(UndefinedVariable) as caught:
        Templar(Environment(environ={}), Scope([layer])).render("{{ outer }}", Span("site.yml", 7, 11))
    found = problem(caught)
    assert found.message == "'nope' is undefined"
    assert found.span == Span("group_vars/all.yml", 2, 8)
    assert found.why == "needed by variable 'inner.x' (group_vars/all.yml:2:8); needed by variable 'outer' (group_vars/all.yml:1:8)"


MESSAGES: list[tuple[str, str]] = [
    ("{{ gpus }}", "'gpus' is undefined"),
    ("{{ gpu.limit }}", "'limit' is missing in 'gpu' (has: branch, count)"),
    ("{{ gpu['limit'] }}", "'limit' is missing in 'gpu' (has: branch, count)"),
    ("{{ gpu.branch.minor }}", "'minor' is missing in 'gpu.branch' (a number)"),
    ("{{ l[5] }}", "element 5 is missing in 'l' (has 2 elements)"),
    ("{{ empty.x }}", "'x' is missing in 'empty' (it is empty)"),
    ("{{ nothing.x }}", "'x' is missing in 'nothing' (empty (null))"),
    ("{{ (l | first).x }}", "'x' is missing in 'l | first' (a number)"),
    ("{{ l.__class__ }}", "'__class__' is missing in 'l' (has 2 elements)"),
    ("{{ undef(hint='set it in group_vars') }}", "set it in group_vars"),
    ("{{ [] | first }}", "No first item, sequence was empty."),
    ("{{ [nope] }}", "'nope' is undefined"),
    ("{{ nope | upper }}", "'nope' is undefined"),
    ("{{ l | map(attribute='x') | join }}", "'x' is missing"),
    ("{{ 'x' | defualt('y') }}", "Syntax error in template: No filter named 'defualt'"),
    ("{{ 'x' is definde }}", "Syntax error in template: No test named 'definde'"),
    ("{{ 1 + }}", "Syntax error in template: unexpected 'end of print statement'"),
    ("{% if true %}", "Syntax error in template: Unexpected end of template"),
    ("{{ 'x' + 1 }}", 'Error rendering template: can only concatenate str (not "int") to str'),
    ("{{ 1 / 0 }}", "Error rendering template: division by zero"),
    ("{{ 'a' | int('b', 1, 2, 3) }}", "filter plugin 'int' failed: do_int() takes from 1 to 3 positional arguments but 5 were given"),
    ("{{ '{' | from_json }}", "filter plugin 'from_json' failed: Expecting property name enclosed in double quotes"),
    ("{{ 'x' is failed }}", "test plugin 'failed' failed: the 'failed' test needs the registered result of a step, not a text"),
    ("{{ lookup('nope') }}", "the lookup plugin 'nope' was not found"),
    ("{{ lookup('file', '/nonexistent') }}", "lookup plugin 'file' failed: file '/nonexistent' not found"),
    (
        "{{ lookup('pipe', 'echo oops >&2; exit 3') }}",
        "lookup plugin 'pipe' failed: the command 'echo oops >&2; exit 3' ended with 3: oops",
    ),
    ("{{ l.append }}", "a builtin_function_or_method cannot be the value of a variable"),
    ("{% include 'nope.j2' %}", "template 'nope.j2' not found"),
]


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_messages(text: str, message: str) -> None:
    variables: dict[str, Any] = {"gpu": {"branch": 535, "count": 8}, "l": [1, 2], "empty": {}, "nothing": None}
    with pytest.raises(InputError) as caught:
        templar(variables).render(text)
    assert problem(caught).message.startswith(message)


def test_did_you_mean() -> None:
    for text, help in [
        ("{{ gpu_cuont }}", "did you mean 'gpu_count'?"),
        ("{{ gpu.cuont }}", "did you mean 'count'?"),
        ("{{ 1 | defualt }}", "did you mean 'default'?"),
        ("{{ lookup('flie', 'x') }}", "did you mean 'file'"),
    ]:
        with pytest.raises(InputError) as caught:
            templar({"gpu_count": 1, "gpu": {"count": 1}}).render(text)
        assert problem(caught).help.startswith(help), text


def test_a_skipped_result_says_so() -> None:
    """Bug case L06."""
    with pytest.raises(UndefinedVariable) as caught:
        templar(data={"r": {"changed": False, "skipped": True}}).render("{{ r.stdout }}")
    assert "it is the result of a step that was skipped" in problem(caught).why


def test_a_fault_in_a_variable_is_not_hidden() -> None:
    subject = templar({"bad": "{{ 1 / 0 }}", "undefined_inside": "{{ nope }}"})
    assert subject.render("{{ undefined_inside | default('d') }} {{ undefined_inside is defined }}") == "d False"
    for text in ("{{ bad | default('d') }}", "{{ bad is defined }}"):
        with pytest.raises(InputError, match="division by zero"):
            subject.render(text)
    assert subject.render("{{ 'x' if true else bad }}") == "x"


CHECKS: list[tuple[str, str | None]] = [
    ("plain", None),
    ("{{ anything.at.all | default(1) }}", None),
    ("{{ x", "Syntax error in template"),
    ("{{ x | nofilter }}", "No filter named 'nofilter'"),
    ("{% if x is defined %}{{ x | nofilter }}{% endif %}", "No filter named 'nofilter'"),
    ("{{ lookup('nolookup', 1) }}", "the lookup plugin 'nolookup' was not found"),
    ("{{ lookup(name, 1) }}", None),
    ("{{ x | ansible.builtin.default(1) is ansible.builtin.defined }}", None),
]


@pytest.mark.parametrize(("text", "message"), CHECKS)
def test_parse_check(text: str, message: str | None) -> None:
    found = templar().parse_check(text, Span("site.yml", 3, 5))
    assert (found is None) == (message is None)
    if found is not None and message is not None:
        assert message in found.message
        assert found.span == Span("site.yml", 3, 5)


def test_expression_check() -> None:
    environment = Environment(environ={})
    assert environment.expression_check("x is defined") is None
    found = environment.expression_check("x is defined and", Span("site.yml", 1, 1))
    assert found is not None
    assert found.span == Span("site.yml", 1, 1)
    missing = environment.expression_check("x | nofilter == 1")
    assert missing is not None
    assert "nofilter" in missing.message


def test_what_only_python_refuses_is_a_syntax_error_too() -> None:
    with pytest.raises(InputError, match="keyword argument repeated"):
        templar({}).render("{{ lookup('vars', 'v', default='', default='') }}")


def test_filters_over_a_missing_list_give_it_on() -> None:
    subject = templar()
    assert subject.render("{{ nope | map('upper') | default([]) }} {{ nope | selectattr('x') is defined }}") == "[] False"
    with pytest.raises(UndefinedVariable, match="'nope' is undefined"):
        subject.render("{{ nope | map('upper') | list }}")
