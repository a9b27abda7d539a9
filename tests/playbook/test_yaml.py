"""YAML as data and places."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError
from provisioner.playbook import yaml
from provisioner.values import UnsafeText, WrittenFloat, WrittenInt

# one text, the value Ansible reads, and its type
SCALARS: list[tuple[str, Any, type]] = [
    ("abc", "abc", str),
    ("yes", True, bool),
    ("Off", False, bool),
    ("y", "y", str),
    ("~", None, type(None)),
    ("", None, type(None)),
    ("null", None, type(None)),
    ("5", 5, WrittenInt),
    ("0644", 420, WrittenInt),
    ("0o644", "0o644", str),
    ("08", "08", str),
    ("0x10", 16, WrittenInt),
    ("0b11", 3, WrittenInt),
    ("1_000", 1000, WrittenInt),
    ("-3", -3, WrittenInt),
    ("22:22", 1342, WrittenInt),
    ("12.10", 12.1, WrittenFloat),
    ("1e3", "1e3", str),
    ("1.0e+3", 1000.0, float),
    (".inf", float("inf"), float),
    ("2001-01-01", "2001-01-01", str),
    ("2001-01-01 10:00:00", "2001-01-01 10:00:00", str),
    ("=", "=", str),
    ("'5'", "5", str),
    ('"yes"', "yes", str),
    ("!!str 5", "5", str),
    ("!!int '5'", 5, WrittenInt),
    ("!!bool 'yes'", True, bool),
    ("!unsafe '{{ x }}'", "{{ x }}", UnsafeText),
    ("!!binary aGVsbG8=", b"hello", bytes),
    ("!!set {a, b}", {"a", "b"}, set),
    ("|\n  a\n  b\n", "a\nb\n", str),
    (">\n  a\n  b\n", "a b\n", str),
]


@pytest.mark.parametrize(("text", "value", "kind"), SCALARS)
def test_scalars(text: str, value: Any, kind: type) -> None:
    found = yaml.load(f"k: {text}\n", diagnostics=Diagnostics()).data["k"]
    assert found == value
    assert type(found) is kind


def test_numbers_keep_their_spelling() -> None:
    data = yaml.load("mode: 0644\nversion: 12.10\nbig: 1_000\n").data
    assert data["mode"].text == "0644"
    assert str(data["version"]) == "12.10"
    assert data["version"] + 1 == pytest.approx(13.1)
    assert data["big"].text == "1_000"


TEXT = """\
- name: one
  copy:
    src: a
    list: [x, {y: z}]
- two
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ((), 1, 1),
        ((0,), 1, 3),
        ((0, "name"), 1, 9),
        ((0, "copy", "src"), 3, 10),
        ((0, "copy", "list", 1, "y"), 4, 19),
        ((1,), 5, 3),
        ((0, "no"), 1, 3),
    ],
)
def test_places_of_values(path: tuple[Any, ...], line: int, column: int) -> None:
    assert yaml.load(TEXT, "f.yml").span(*path) == Span("f.yml", line, column)


def test_places_of_keys() -> None:
    document = yaml.load(TEXT, "f.yml")
    assert document.key_span(0, "copy", "src") == Span("f.yml", 3, 5)
    assert document.key_span(0, "copy") == Span("f.yml", 2, 3)


def test_pure_parser_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = yaml.load(TEXT)
    monkeypatch.setattr(yaml, "_COMPOSER", yaml._PureLoader)
    assert yaml.load(TEXT) == fast


def test_anchors_and_merge_keys() -> None:
    data = yaml.load("a: &x {p: 1, q: 2}\nb: &y {q: 9, r: 3}\nc:\n  <<: [*x, *y]\n  p: 5\nd: *x\n").data
    assert data["c"] == {"p": 5, "q": 2, "r": 3}
    assert data["d"] is data["a"]


def test_unsafe_collections() -> None:
    data = yaml.load("a: !unsafe {b: ['{{ c }}']}\n").data
    assert type(data["a"]["b"][0]) is UnsafeText


def test_json_is_read_as_json() -> None:
    assert yaml.load('{\n\t"a": 1e3, "b": "\\/"}').data == {"a": 1000.0, "b": "/"}


def test_vault() -> None:
    seen: list[tuple[str, Span]] = []

    def vault(text: str, span: Span) -> str:
        seen.append((text, span))
        return "a: 5\n" if not span.line else "secret"

    document = yaml.load("a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3133\n", "f.yml", vault)
    assert document.data == {"a": "secret"}
    assert yaml.load("$ANSIBLE_VAULT;1.1;AES256\n3133\n", "g.yml", vault).data == {"a": 5}
    assert seen[0][1] == Span("f.yml", 1, 4)
    assert seen[1][1] == Span("g.yml")
    with pytest.raises(InputError, match="no vault password"):
        yaml.load("a: !vault x\n")


BROKEN: list[tuple[str, int, int, str]] = [
    ("a: {{ x }}\n", 1, 4, "starts with {{ and is not quoted"),
    ("a: {{ x }}/b\n", 1, 4, "starts with {{ and is not quoted"),
    ("{{ a }}: 1\n", 1, 1, "starts with {{ and is not quoted"),
    ("a: {% if x %}b{% endif %}\n", 1, 4, "starts with {% and is not quoted"),
    ("a:\n\tb: 1\n", 2, 1, "a tab in the indentation"),
    ("a: 'x\nb: 1\n", 1, 4, "quote is opened here and never closed"),
    ('a: "x\n', 1, 4, "quote is opened here and never closed"),
    ("- n: x\n  foo:bar\n  baz: 1\n", 2, 6, "no space after the colon"),
    ('m: "{{ x }}" y\n', 1, 14, "text after a closing quote"),
    ("a: b: c\n", 1, 5, "a second colon in one line"),
    ("a: *x\n", 1, 4, "starts with * and is not quoted"),
    ("a: %x\n", 1, 4, "starts with % and is not quoted"),
    ("a: @x\n", 1, 4, "starts with @ and is not quoted"),
    ("a: [1,\nb: 2\n", 1, 4, "a [ or { is opened here and not closed"),
    ("- a: 1\n b: 2\n", 2, 2, "wrong indentation"),
    ('a: "\\q"\n', 1, 5, "unknown escape"),
    ("a: 1\n---\nb: 2\n", 2, 1, "a second document"),
    ("a: !Ref x\n", 1, 4, "unknown tag !Ref"),
    ("a: !unsave x\n", 1, 4, "unknown tag !unsave"),
    ("a: &x [*x]\n", 1, 4, "an anchor contains itself"),
    ("? [a]\n: b\n", 1, 3, "a list or mapping cannot be a key"),
    ("a: \x01\n", 1, 4, "a character that YAML does not allow"),
    ("<<: 5\n", 1, 5, "'<<' takes a mapping"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), BROKEN)
def test_broken_files_are_explained(text: str, line: int, column: int, message: str) -> None:
    found = Diagnostics()
    assert yaml.load(text, "f.yml", diagnostics=found).data is None
    assert len(found) == 1
    assert message in found.items[0].message
    assert found.items[0].span == Span("f.yml", line, column)


def test_duplicate_keys_name_both_lines() -> None:
    found = Diagnostics()
    assert yaml.load("a: 1\nb: 2\na: 3\n", "f.yml", diagnostics=found).data == {"a": 3, "b": 2}
    assert [(item.severity, item.message) for item in found] == [("warning", "key 'a' is given twice: first in line 1, again in line 3")]


def test_base_60_is_named() -> None:
    found = Diagnostics()
    yaml.load("port: 22:22\n", "f.yml", diagnostics=found)
    assert (found.items[0].message, found.items[0].span) == ("22:22 is the base-60 number 1342", Span("f.yml", 1, 7))
    assert found.items[0].help == 'quote it: "22:22"'


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\n")
    assert yaml.load(tmp_path / "a.yml").data == {"a": "é"}
    (tmp_path / "b.yml").write_bytes(b"a: \xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        yaml.load(tmp_path / "b.yml")
    with pytest.raises(InputError, match="cannot read"):
        yaml.load(tmp_path / "c.yml")


def test_several_documents() -> None:
    assert yaml.load_all("a: 1\n---\n- 2\n") == [{"a": 1}, [2]]
    with pytest.raises(InputError):
        yaml.load_all("a: {{ x }}\n")


def test_data_agrees_with_pyyaml() -> None:
    text = "a: [1, 2.5, x, yes, ~]\nb: {c: 'd', e: 0x1F}\n2: three\n"
    assert yaml.load(text).data == pyyaml.safe_load(text)
    assert pyyaml.safe_load("d: 2001-01-01")["d"] == datetime.date(2001, 1, 1)  # there, but not here
