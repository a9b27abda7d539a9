"""Constructed and generated inventories, with a renderer of a few lines in place of the template engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.nativetypes import NativeEnvironment

from provisioner.errors import InputError, ProvisionError
from provisioner.inventory import Inventory, combine, load
from provisioner.values import UnsafeText
from tests.inventory.tree import plant


def render(text: str, variables: Mapping[str, Any]) -> Any:
    try:
        value = NativeEnvironment(undefined=jinja2.StrictUndefined).from_string(text).render(variables)
        str(value)
    except jinja2.UndefinedError as error:
        raise ProvisionError(str(error)) from None
    return value


HOSTS = "== h.yml\nall: {hosts: {a: {os: deb.12, n: 1, tags: [x, y]}, b: {os: rh, empty: '', d: {k: v}}}}\n"


def build(folder: Path, options: str) -> Inventory:
    plant(folder, f"{HOSTS}== made.yml\nplugin: constructed\n{options}\n")
    return load([folder / "h.yml", folder / "made.yml"], render=render)


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ("groups: {one: n == 1, none: missing, deb: \"os.startswith('deb')\"}", {"one": ["a"], "deb": ["a"]}),
        ("keyed_groups: [{key: os, prefix: os}]", {"os_deb_12": ["a"], "os_rh": ["b"]}),
        ("keyed_groups: [{key: os}]", {"_deb_12": ["a"], "_rh": ["b"]}),
        ("leading_separator: false\nkeyed_groups: [{key: os}]", {"deb_12": ["a"], "rh": ["b"]}),
        ("keyed_groups: [{key: tags, prefix: t, separator: '__'}]", {"t__x": ["a"], "t__y": ["a"]}),
        ("keyed_groups: [{key: d, prefix: d}]", {"d_k_v": ["b"]}),
        ("keyed_groups: [{key: empty, prefix: e, default_value: no}]", {"e_False": ["b"]}),
        ("keyed_groups: [{key: os, prefix: os, parent_group: systems}]", {"systems": ["a", "b"], "os_deb_12": ["a"], "os_rh": ["b"]}),
    ],
)
def test_groups(tmp_path: Path, options: str, groups: dict[str, list[str]]) -> None:
    found = build(tmp_path, options).groups_dict()
    assert {name: hosts for name, hosts in found.items() if name not in ("all", "ungrouped")} == groups


def test_compose_is_seen_by_groups_and_is_data(tmp_path: Path) -> None:
    options = """\
compose:
  major: os.split('.')[-1]
  mark: "'{' ~ '{ os }' ~ '}'"
groups:
  twelve: major == 12 or major == '12'
"""
    inventory = build(tmp_path, options)
    assert inventory.group_hosts("twelve") == ["a"]
    mark = combine(inventory.variables("a"))["mark"]
    assert (mark, type(mark)) == ("{{ os }}", UnsafeText)


@pytest.mark.parametrize(
    ("options", "message", "line"),
    [
        ("keyed_group: []", "unknown option 'keyed_group'; did you mean 'keyed_groups'?", 2),
        ("groups: [a]", "option 'groups' must be a mapping, not a list", 2),
        ("strict: true\ngroups: {x: missing == 1}", "for host a: 'missing' is undefined", 3),
        ("keyed_groups: [{prefix: x}]", "must be a mapping with 'key'", 2),
        ("keyed_groups: [{key: n}]", "for host a: a key must be text, a list or a mapping, not a number", 2),
        ("keyed_groups: [{key: os, default_value: a, trailing_separator: no}]", "exclude each other", 2),
    ],
)
def test_mistakes(tmp_path: Path, options: str, message: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        build(tmp_path, options)
    error = caught.value.diagnostics.errors[0]
    assert message in error.message
    assert error.span is not None
    assert error.span.line == line


def test_without_a_renderer_it_is_said(tmp_path: Path) -> None:
    plant(tmp_path, "== made.yml\nplugin: constructed\n")
    with pytest.raises(InputError) as caught:
        load([tmp_path / "made.yml"])
    assert "nothing here renders them" in caught.value.diagnostics.errors[0].message


def test_generator(tmp_path: Path) -> None:
    text = """\
== gen.yml
plugin: generator
layers: {rack: [r1, r2], slot: [1, 2]}
hosts:
  name: "{{ rack }}-{{ slot }}"
  parents:
  - name: "{{ rack }}"
    vars: {rack: "{{ rack }}"}
    parents: [{name: racks}]
"""
    plant(tmp_path, text)
    inventory = load([tmp_path / "gen.yml"], render=render)
    assert inventory.group_hosts("racks") == ["r1-1", "r1-2", "r2-1", "r2-2"]
    assert combine(inventory.variables("r2-1")) == {"rack": "r2"}
