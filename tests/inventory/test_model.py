"""The model while a run adds to it: groups, implicit localhost, order of groups, threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from provisioner.errors import InputError
from provisioner.inventory import LEVELS, Inventory, Options, VarsFiles, combine, load
from tests.inventory.tree import plant


def test_added_hosts_and_groups() -> None:
    inventory = Inventory()
    assert inventory.add_host("a", ["web", "db"], {"x": 1})
    assert not inventory.add_host("a", ["web"], {"x": 1})
    assert inventory.add_host("a", [], {"x": 2})
    assert inventory.add_host("b")
    assert inventory.group_names("a") == ["db", "web"]
    assert inventory.group_names("b") == ["ungrouped"]
    assert combine(inventory.variables("a")) == {"x": 2}
    assert inventory.match("all") == ["b", "a"]


def test_group_by_makes_groups_with_parents() -> None:
    inventory = Inventory()
    inventory.add_host("a", ["web"])
    assert inventory.add_group("os_debian", ["os"])
    assert inventory.add_to_group("a", "os_debian")
    assert not inventory.add_to_group("a", "os_debian")
    assert inventory.group_names("a") == ["os", "os_debian", "web"]
    assert inventory.group_hosts("os") == ["a"]
    assert (inventory.depth("os"), inventory.depth("os_debian")) == (1, 2)


def test_a_host_leaves_ungrouped_when_it_joins_a_group() -> None:
    inventory = load(["a,b"])
    inventory.add_group("web")
    inventory.add_to_group("a", "web")
    assert inventory.group_hosts("ungrouped") == ["b"]


def test_circles_are_refused() -> None:
    inventory = Inventory()
    inventory.add_group("b", ["a"])
    with pytest.raises(InputError):
        inventory.add_child("b", "a")
    with pytest.raises(InputError):
        inventory.add_child("a", "a")


def test_localhost_comes_into_being_when_asked_for() -> None:
    inventory = load(["a,"])
    assert "localhost" not in inventory.hosts
    host = inventory.host("localhost")
    assert host is not None
    assert host.implicit
    assert combine(inventory.variables("localhost"))["ansible_connection"] == "local"
    assert inventory.match("all") == ["a"]
    assert inventory.host("127.0.0.1") is host
    assert inventory.host("nobody") is None
    with pytest.raises(KeyError):
        inventory.variables("nobody")


def test_a_listed_localhost_is_an_ordinary_host() -> None:
    inventory = load(["localhost,"])
    assert inventory.match("all") == ["localhost"]
    assert combine(inventory.variables("localhost")) == {}


TREE = """\
== inv/hosts.ini
[web]
w1 v=host
[web:vars]
v=web
[front]
w1
[front:vars]
v=front
ansible_group_priority=20
[prod:children]
web
front
[prod:vars]
v=prod
== inv/group_vars/all.yml
v: all file
== inv/group_vars/web/b.yml
v: web file b
== inv/group_vars/web/a.yml
v: web file a
== inv/group_vars/web/ignored.txt
v: no
== inv/host_vars/w1.json
{"v": "host file"}
== play/group_vars/all
v: all file of the playbook
== play/group_vars/prod.yaml
v: prod file of the playbook
== play/host_vars/w1/main
v: host file of the playbook
"""


def test_every_definition_at_its_level_weakest_first(tmp_path: Path) -> None:
    plant(tmp_path, TREE)
    inventory = load([tmp_path / "inv" / "hosts.ini"])
    found = [(source.level, source.values["v"], source.subject) for source in inventory.variables("w1", tmp_path / "play")]
    assert found == [
        ("inventory group vars", "prod", "group prod"),
        ("inventory group vars", "web", "group web"),
        ("inventory group vars", "front", "group front"),
        ("inventory group_vars/all", "all file", "group all"),
        ("playbook group_vars/all", "all file of the playbook", "group all"),
        ("inventory group_vars/*", "web file a", "group web"),
        ("inventory group_vars/*", "web file b", "group web"),
        ("playbook group_vars/*", "prod file of the playbook", "group prod"),
        ("inventory host vars", "host", "host w1"),
        ("inventory host_vars/*", "host file", "host w1"),
        ("playbook host_vars/*", "host file of the playbook", "host w1"),
    ]
    assert [level for level in LEVELS if level not in {entry[0] for entry in found}] == []
    file = inventory.variables("w1")[4]
    assert str(file.spans["v"]) == f"{tmp_path}/inv/group_vars/web/a.yml:1:1"
    assert inventory.groups["front"].sources[0].values == {"v": "front"}, "the priority is no variable"


def test_bad_and_orphaned_variables_files(tmp_path: Path) -> None:
    plant(
        tmp_path,
        "== hosts\n[web]\na\n== group_vars/web.yml\n- x\n== group_vars/wbe.yml\nx: 1\n== host_vars/a.yml\nx: [\n== group_vars/all\n",
    )
    inventory = load([tmp_path / "hosts"])
    found = inventory.check_files()
    assert [item.message for item in found.warnings] == [f"no group is called 'wbe': nothing reads {tmp_path}/group_vars/wbe.yml"]
    assert found.warnings[0].help == "did you mean 'web'?"
    errors = sorted(item.message for item in found.errors)
    assert len(errors) == 2
    assert "must hold variables, one 'name: value' a line, not a list" in errors[0]
    with pytest.raises(InputError):
        inventory.variables("a")


def test_merged_mappings_on_request(tmp_path: Path) -> None:
    plant(tmp_path, "== h.yml\nall: {vars: {d: {a: 1, b: {x: 1}}}, hosts: {h: {d: {b: {y: 2}}}}}\n")
    sources = load([tmp_path / "h.yml"]).variables("h")
    assert combine(sources) == {"d": {"b": {"y": 2}}}
    assert combine(sources, merge_hashes=True) == {"d": {"a": 1, "b": {"x": 1, "y": 2}}}


def test_threads_may_add_while_others_look() -> None:
    inventory = Inventory(VarsFiles())
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for index in range(50):
                inventory.add_host(f"h{number}-{index}", [f"g{index % 5}"])
                inventory.match("g1:&all")
                inventory.group_names(f"h{number}-{index}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(inventory.match("all")) == 200


@pytest.mark.parametrize(
    ("names", "group", "said"),
    [
        ("never", "web-1", "but not replaced"),
        ("always", "web_1", "and automatically replaced"),
        ("ignore", "web-1", ""),
        ("silently", "web_1", ""),
    ],
)
def test_group_names_that_are_no_names_of_variables(tmp_path: Path, names: Any, group: str, said: str) -> None:
    source = tmp_path / "hosts"
    source.write_text("[web-1]\na\n[web-1:vars]\nx=1\n[top:children]\nweb-1\n")
    inventory = load([source], options=Options(group_names=names))
    assert inventory.group_hosts(group) == inventory.group_hosts("top") == ["a"]
    assert [item.message for item in inventory.warnings] == ([f"Invalid characters were found in group names {said}"] if said else [])


def test_python_literals_of_ini_files_are_plain_values(tmp_path: Path) -> None:
    source = tmp_path / "hosts"
    source.write_text("[all:vars]\na=b'x'\nb=(1, 2)\nc={1, 2}\nd=1j\ne=...\nf=[b'x', (1,)]\n[web]\nh\n")
    found = combine(load([source]).variables("h"))
    assert found == {"a": "x", "b": [1, 2], "c": [1, 2], "d": "1j", "e": "...", "f": ["x", [1]]}
