"""Reading inventories: what each form gives, and what is said when none can be read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import InputError
from provisioner.inventory import Inventory, Options, combine, load
from provisioner.values import WrittenFloat
from provisioner.vault import Envelope, Password, Vault

INI = """\
; a comment
solo ansible_host=10.0.0.1 port=22 name="x y" quoted='1' items=[1,2] yes=true truth=True nothing=None hex=0x10 branch=12.10 zip=007
v6:2222
web[01:02] z="a=b"
[grp:vars]
number=1
quoted='1'
text="x y"
items=[1, 2]
low=true
truth=True
spaced =  two words  # kept
empty=
pair = a = b
[grp]
db-[1:3:2].x p=1
[grp:children]
sub # a comment
[sub]
s1
"""


def write(folder: Path, name: str, text: str, mode: int = 0o644) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def values(inventory: Inventory, host: str) -> dict[str, Any]:
    return combine(inventory.variables(host))


def test_ini(tmp_path: Path) -> None:
    inventory = load([write(tmp_path, "hosts", INI)])
    assert inventory.groups_dict() == {
        "all": ["solo", "v6", "web01", "web02", "db-1.x", "db-3.x", "s1"],
        "ungrouped": ["solo", "v6", "web01", "web02"],
        "grp": ["db-1.x", "db-3.x", "s1"],
        "sub": ["s1"],
    }
    assert values(inventory, "solo") == {
        "ansible_host": "10.0.0.1",
        "port": 22,
        "name": "x y",
        "quoted": 1,
        "items": [1, 2],
        "yes": "true",
        "truth": True,
        "nothing": None,
        "hex": 16,
        "branch": 12.1,
        "zip": "007",
    }
    assert isinstance(values(inventory, "solo")["branch"], WrittenFloat)
    assert str(values(inventory, "solo")["branch"]) == "12.10"
    assert values(inventory, "v6") == {"ansible_port": 2222}
    assert values(inventory, "db-1.x") == {
        "number": 1,
        "quoted": "1",
        "text": "x y",
        "items": [1, 2],
        "low": "true",
        "truth": True,
        "spaced": "two words  # kept",
        "empty": "",
        "pair": "a = b",
        "p": 1,
    }
    assert inventory.group_names("s1") == ["grp", "sub"]


def test_places_of_ini_variables(tmp_path: Path) -> None:
    path = write(tmp_path, "hosts", INI)
    source = load([path]).variables("solo")[-1]
    assert str(source.spans["port"]) == f"{path}:2:28"
    group = load([path]).variables("s1")[0]
    assert (group.subject, group.origin, str(group.spans["pair"])) == ("group grp", path, f"{path}:14:1")


YAML = """\
all:
  vars: {region: eu}
  hosts:
    one: {zip: 0644, branch: 12.10, none: ~}
    "web[1:2]:2222": {p: 1}
  children:
    gpu:
      vars: {power: 350}
      hosts:
        gpu01:
      children:
        a100: {hosts: gpu02}
"""


def test_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, "hosts.yml", YAML)
    inventory = load([path])
    assert inventory.group_hosts("gpu") == ["gpu01", "gpu02"]
    assert values(inventory, "gpu02") == {"region": "eu", "power": 350}
    assert values(inventory, "web2") == {"region": "eu", "ansible_port": 2222, "p": 1}
    assert str(inventory.variables("gpu02")[1].spans["power"]) == f"{path}:8:14"
    host = inventory.hosts["gpu01"]
    assert (host.inventory_file, host.inventory_dir) == (path, str(tmp_path))


def test_json_is_yaml(tmp_path: Path) -> None:
    assert list(load([write(tmp_path, "h.json", json.dumps({"g": {"hosts": {"a": {"x": 1}}}}))]).hosts) == ["a"]


@pytest.mark.parametrize("text", ["a,b:22,web[1:2]", "a,", " a , b ,"])
def test_host_lists(text: str) -> None:
    inventory = load([text])
    assert inventory.match("a") == ["a"]
    assert set(inventory.hosts) <= {"a", "b", "web1", "web2"}


def test_a_path_may_have_a_comma(tmp_path: Path) -> None:
    assert list(load([write(tmp_path, "a,b", "host1")]).hosts) == ["host1"]


def test_toml(tmp_path: Path) -> None:
    text = '[web]\nchildren = ["front"]\nvars = {port = 80}\n[web.hosts]\nw1 = {}\n[front.hosts]\n"f[1:2]:33" = {x = 1}\n'
    path = write(tmp_path, "h.toml", text)
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli", reason="TOML needs the package tomli on Python 3.10")
    inventory = load([path])
    assert inventory.group_hosts("web") == ["w1", "f1", "f2"]
    assert values(inventory, "f1") == {"port": 80, "ansible_port": 33, "x": 1}


SCRIPT = """\
#!/bin/sh
if [ "$1" = --list ]; then
  echo '{"web": ["a", "b"], "db": {"hosts": ["c"], "vars": {"x": 1}, "children": ["web"]}, "old": {"k": 1}%s}'
else
  echo "{\\"asked\\": \\"$2\\"}"
fi
"""


@pytest.mark.parametrize(
    ("meta", "expected"),
    [("", {"x": 1, "asked": "a"}), (', "_meta": {"hostvars": {"a": {"m": 2}, "nobody": {}}}', {"x": 1, "m": 2})],
    ids=["asks for each host", "_meta has all"],
)
def test_script(tmp_path: Path, meta: str, expected: dict[str, Any]) -> None:
    inventory = load([write(tmp_path, "cloud.sh", SCRIPT % meta, 0o755)])
    assert inventory.group_hosts("db") == ["c", "a", "b"]
    assert values(inventory, "a") == expected
    assert values(inventory, "old")["k"] == 1
    assert "nobody" not in inventory.hosts


def test_a_folder_is_read_in_order_and_skips_what_is_none(tmp_path: Path) -> None:
    for name, text in {
        "10.yml": "g: {hosts: {a: {x: 1}}}",
        "20": "[g]\na x=2 y=1\nb",
        "notes.md": "?",
        "old.cfg": "?",
        ".hidden": "?",
        "skip.me": "?",
    }.items():
        write(tmp_path, name, text)
    for folder in ("group_vars", "sub", "host_vars"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "group_vars", "g.yml", "x: from file")
    write(tmp_path / "sub", "c", "deep")
    inventory = load([tmp_path], options=Options(ignore_patterns=(r"\.me$",)))
    assert list(inventory.hosts) == ["a", "b", "deep"]
    assert [source.values for source in inventory.variables("a")] == [{"x": "from file"}, {"x": 1}, {"x": 2, "y": 1}]


def test_vaulted_files(tmp_path: Path) -> None:
    sealed = Envelope.seal(b"g: {hosts: {a: {x: 1}}}", b"pw").text()
    ini = Envelope.seal(b"[h]\nb x=2\n", b"pw").text()
    vault = Vault([Password("default", b"pw")])
    inventory = load([write(tmp_path, "a.yml", sealed), write(tmp_path, "b", ini)], vault=vault)
    assert values(inventory, "a") == {"x": 1}
    assert values(inventory, "b") == {"x": 2}


def test_safe_group_names_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, "h", "[gpu-nodes]\na\n")
    assert "gpu-nodes" in load([path]).groups
    assert "gpu_nodes" in load([path], options=Options(group_names="always")).groups


def test_refresh_reads_again(tmp_path: Path) -> None:
    path = write(tmp_path, "h", "a\n")
    inventory = load([path])
    inventory.add_host("added")
    write(tmp_path, "h", "a\nb\n")
    inventory.refresh()
    assert list(inventory.hosts) == ["a", "b"]


REFUSED = [
    ("h", "[web\na\n", 1, "section '[web' is not [group]"),
    ("h", "[a b]\n", 1, "names have no blanks"),
    ("h", "[web:childern]\n", 1, "did you mean 'children'?"),
    ("h", "[web]\na b=1 c\n", 2, "after a host's name come name=value pairs, and 'c' is none"),
    ("h", "[web]\na 'b\n", 2, "no closing quotation"),
    ("h", "[web]\nx[3:1]\n", 2, "ends before it begins"),
    ("h", "[web]\n[wbe:vars]\na=1\n", 2, "is for a group that nothing declares; did you mean 'web'?"),
    ("h", "[a:children]\nb\n", 2, "names group 'b', which nothing declares"),
    ("h", "[a:vars]\nnonsense\n[a]\n", 2, "is name=value, not 'nonsense'"),
    ("h", "[a:children]\nb c\n[b]", 2, "one group's name"),
    ("h.yml", "all:\n  hosts:\n  - a\n", 3, "end each name with a colon"),
    ("h.yml", "all:\n  hosts:\n    a: 5\n", 3, "must be a mapping of variables, not a number"),
    ("h.yml", "all:\n  hosts:\n    12:\n", 3, "must be text, not 12"),
    ("h.yml", "web: [a]\n", 1, "group 'web' must be a mapping"),
    ("h.yml", "- hosts: all\n", 1, "must be a mapping of groups, not a list"),
    ("h.yml", "a: [1\n", 1, ""),
    ("h.yml", "plugin: construct\n", 1, "did you mean 'constructed'?"),
    ("h.yml", "plugin: aws_ec2\n", 1, "inventory plugin 'aws_ec2' is not supported"),
    ("h.yml", "a: {children: {b: {children: {a: }}}}", 1, "contain each other"),
    ("h.yml", "a: {children: {a: }}", 1, "contains itself"),
    ("h.yml", "g: {vars: {ansible_group_priority: high}}", 1, "must be a whole number, not 'high'"),
]


@pytest.mark.parametrize(("name", "text", "line", "reason"), REFUSED)
def test_refusals_have_a_place_and_a_reason(tmp_path: Path, name: str, text: str, line: int, reason: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        load([path])
    (error,) = caught.value.diagnostics.errors
    assert reason in error.message
    assert error.span is not None
    assert (error.span.file, error.span.line) == (path, line)
    assert error.help


def test_a_refusal_tells_what_every_parser_said(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load([write(tmp_path, "h.yml", "all:\n  hosts: [a]\n")])
    why = caught.value.diagnostics.errors[0].why
    assert "cannot be read as yaml" in why
    assert "as auto (line 1): it has no key 'plugin'" in why
    assert "as ini (line 1): 'all:' is no host" in why


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\necho oops >&2; exit 3\n", "failed with exit code 3: oops"),
        ("#!/bin/sh\necho hello\n", "did not print JSON"),
        ("#!/bin/sh\necho '[]'\n", "must print an object, not a list"),
        ("#!/bin/sh\necho '{\"a\": 5}'\n", "group 'a' must be an object or a list of hosts"),
        ('#!/bin/sh\necho \'{"a": {"hosts": "b"}}\'\n', "'hosts' of group 'a' must be a list"),
    ],
)
def test_scripts_that_fail(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        load([write(tmp_path, "cloud", text, 0o755)])
    assert reason in caught.value.diagnostics.errors[0].message


def test_problems_of_all_sources_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load([write(tmp_path, "a", "[x"), str(tmp_path / "nope"), write(tmp_path, "b.yml", "x: 1")])
    assert len(caught.value.diagnostics.errors) == 3


def test_a_missing_source_names_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "production.yml", "")
    with pytest.raises(InputError) as caught:
        load([str(tmp_path / "prodution.yml")])
    assert caught.value.diagnostics.errors[0].help == "did you mean 'production.yml'?"


def test_an_empty_file_is_an_empty_inventory(tmp_path: Path) -> None:
    assert not load([write(tmp_path, "h", "# nothing yet\n"), write(tmp_path, "h.yml", "---\n"), write(tmp_path, "e.yml", "")]).hosts


@pytest.mark.parametrize(
    ("typo", "meant"), [("host", "hosts"), ("hots", "hosts"), ("child", "children"), ("var", "vars"), ("variables", "vars")]
)
def test_a_key_that_is_nearly_right_is_refused(tmp_path: Path, typo: str, meant: str) -> None:
    """It would take its hosts away unseen."""
    path = write(tmp_path, "h.yml", f"all:\n  hosts: {{b: }}\n  {typo}: {{a: }}\n")
    with pytest.raises(InputError) as caught:
        load([path])
    (error,) = caught.value.diagnostics.errors
    assert error.message == f"group 'all' has an unknown key {typo!r}; did you mean {meant!r}?"
    assert str(error.span) == f"{path}:3:3"


@pytest.mark.parametrize("key", ["description", "x-vars", "_hosts", "gpu_nodes"])
def test_other_keys_are_skipped_with_a_warning_as_stock_does(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, "h.yml", f"g:\n  {key}: {{a: }}\n  hosts: {{b: }}\n")
    inventory = load([path])
    (warning,) = inventory.warnings
    assert f"key {key!r} of group 'g' means nothing" in warning.message
    assert str(warning.span) == f"{path}:2:3"
    assert list(inventory.hosts) == ["b"]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("h.yml", 'g:\n  hosts:\n    "": {a: 1}\n', ":3:5"),
        ("h.yml", 'g:\n  hosts:\n    " ": {a: 1}\n', ":3:5"),
        ("h.ini", '[g]\n"" a=1\n', ":2"),
        ("h.json", '{"g": {"hosts": {"": {}}}}', ""),
    ],
)
def test_a_host_without_a_name(tmp_path: Path, name: str, text: str, place: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        load([path])
    (error,) = caught.value.diagnostics.errors
    assert error.message == "a host's name is empty"
    assert str(error.span).startswith(path + place)
