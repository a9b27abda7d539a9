"""Template files: line ends, options, the header, includes and imports, variables of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import InputError
from provisioner.templating import Syntax, template_variables
from tests.templating.build import templar

VARIABLES: dict[str, Any] = {"i": 7, "l": [1, 2], "d": {"a": 1}, "t": True, "n": None, "s": "x", "two": "a\n\n"}

TEXTS: list[tuple[str, str]] = [
    ("", ""),
    ("plain", "plain"),
    ("plain\n", "plain\n"),
    ("plain\n\n\n", "plain\n\n\n"),
    ("{{ i }}", "7"),
    ("{{ i }}\n", "7\n"),
    ("{{ l }} {{ d }} {{ t }} {{ n }}|{{ 1.50 }}", "[1, 2] {'a': 1} True |1.5"),
    ('{"k": "{{ 1 }}", "l": [1,   2]}', '{"k": "1", "l": [1,   2]}'),
    ("{% if t %}\n  x\n{% endif %}\nend\n", "  x\nend\n"),
    ("  {% if t %}\n  x\n  {% endif %}\n", "    x\n  \n"),
    ("{% for x in l %}{{ x }},{% endfor %}", "1,2,"),
    ("{%- for x in l %}\n{{ x }}\n{%- endfor %}\n", "12\n"),
    ("{% if false %}\nx\n{% endif %}\n\n", ""),
    ("{{ '' }}\n", "\n"),
    ("{{ n }}\n", ""),
    ("{# c #}\n", ""),
    ("\n", "\n"),
    ("{% if t %}\nx\n{% endif %}\n\n\n", "x\n\n\n"),
    ("{{ 'a' if false }}|", "|"),
    ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
    ("a {# c #} b", "a  b"),
    ("{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, b=i) }}", "1-2 1-7"),
    ("{% set x %}{{ 5 }}{% endset %}{{ x + 1 }}", "6"),
    ("{% set ns = namespace(n=0) %}{% for x in l %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "3"),
    ("{% filter upper %}a{{ s }}{% endfilter %}", "AX"),
    ("{{ 'a\\nb' }}", "a\nb"),
    ("{{ 'a.b' | regex_replace('\\.', '-') }}", "a-b"),
    ("line 1\r\nline {{ i }}\r\n", "line 1\nline 7\n"),
    ("#jinja2: trim_blocks: False\n{% if t %}\nx\n{% endif %}\n", "\nx\n"),
    ("#jinja2: lstrip_blocks: True, trim_blocks: true\n  {% if t %}\n  x\n  {% endif %}\nend", "  x\nend"),
    ('#jinja2: variable_start_string: "[[", variable_end_string: "]]"\n[[ i ]] {{ i }}\n', "7 {{ i }}\n"),
    ("#jinja2:block_start_string:'<%',block_end_string:'%>'\n<% if t %>x<% endif %>", "x"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_text(text: str, expected: str) -> None:
    assert templar(VARIABLES).text(text, "x.j2") == expected


def test_last_newline_of_yaml_texts() -> None:
    """Bug cases T02 and T03."""
    subject = templar({"m": "line1\n{{ 'x' }}\n", "m2": "{{ 'y' }}\n"})
    assert subject.render("{{ m }}") == "line1\nx\n"
    assert subject.render("a{{ m2 }}b") == "ay\nb"
    assert subject.render('{"k": "{{ 1 }}", "l": [1,   2]}') == '{"k": "1", "l": [1,   2]}'
    assert subject.render({"a": 1, "b": True, "c": "é"}) == {"a": 1, "b": True, "c": "é"}


def test_syntax_options() -> None:
    subject = templar(VARIABLES)
    assert subject.text("[[ i ]] {{ i }}", "x.j2", syntax=Syntax(variable_start_string="[[", variable_end_string="]]")) == "7 {{ i }}"
    assert subject.text("a\n{% if t %}\nb\n{% endif %}\nc\n", "x.j2", syntax=Syntax(trim_blocks=False)) == "a\n\nb\n\nc\n"
    assert subject.text("a\n{{ i }}\n", "x.j2", syntax=Syntax(newline_sequence="\r\n")) == "a\r\n7\r\n"
    assert subject.text("{{ two }}", "x.j2") == "a\n\n"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("#jinja2: trim_block: False", "unknown option 'trim_block'"),
        ("#jinja2: trim_blocks: maybe", "trim_blocks is maybe, not True or False"),
        ("#jinja2: trim_blocks", "Missing key-value separator in 'trim_blocks'"),
    ],
)
def test_wrong_header(header: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        templar().text(f"{header}\nx\n", "x.j2")


def test_includes_imports_and_parents(tmp_path: Path) -> None:
    role = tmp_path / "role"
    beside = role / "templates" / "sub"
    beside.mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    (beside / "near.j2").write_text("near {{ i }}{{ x }}\n")
    (role / "templates" / "macros.j2").write_text("{% macro m(v) %}<{{ v }}{{ i | default('!') }}>{% endmacro %}")
    (role / "templates" / "base.j2").write_text("top\n{% block body %}base{% endblock %}\nend\n")
    (tmp_path / "templates" / "play.j2").write_text("from the play")
    subject = templar({**VARIABLES, "x": "global"}, search_paths=(role, tmp_path))
    file = str(beside / "main.j2")
    assert subject.text("{% set x = 'local' %}{% include 'near.j2' %}", file) == "near 7local"
    assert subject.text("{% for x in l %}{% include 'near.j2' %}{% endfor %}", file) == "near 71near 72"
    assert subject.text("{% from 'macros.j2' import m with context %}{{ m(1) }}", file) == "<17>"
    assert subject.text("{% import 'macros.j2' as a %}{{ a.m(1) }}", file) == "<1!>"
    assert subject.text("{% extends 'base.j2' %}{% block body %}{{ super() }}+{{ i }}{% endblock %}", file) == "top\nbase+7end"
    assert subject.text("{% include 'play.j2' %}", file) == "from the play"
    assert subject.text("{% include ['nope.j2', 'play.j2'] %}{% include 'nope.j2' ignore missing %}", file) == "from the play"


def test_an_included_file_may_change(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("one")
    subject = templar(search_paths=(tmp_path,))
    assert subject.render("{% include 'a.j2' %}") == "one"
    (tmp_path / "a.j2").write_text("longer text")
    assert subject.render("{% include 'a.j2' %}") == "longer text"


def test_what_a_lookup_of_a_template_gives(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "list.j2").write_text("{{ l }}")
    (tmp_path / "templates" / "own.j2").write_text("{{ template_path | basename }} {{ more | default('-') }} {{ ansible_managed }}\n")
    subject = templar({**VARIABLES, "ansible_managed": "by {{ s }}"}, search_paths=(tmp_path,))
    assert subject.render("{{ lookup('template', 'list.j2') }}") == [1, 2]
    assert subject.render("{{ lookup('template', 'own.j2', template_vars={'more': 'M'}) }}") == "own.j2 M by x\n"


def test_template_variables(tmp_path: Path) -> None:
    file = tmp_path / "x.j2"
    file.write_text("")
    found = template_variables(file, destination="/etc/x")
    assert (found["template_fullpath"], found["template_destpath"], found["ansible_managed"]) == (str(file), "/etc/x", "Ansible managed")
    assert set(found) >= {"template_host", "template_uid", "template_mtime", "template_run_date", "template_path"}
