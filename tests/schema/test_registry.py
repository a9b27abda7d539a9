"""Finding modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import InputError
from provisioner.schema import registry
from provisioner.schema.fields import fields_of
from provisioner.schema.registry import Registry

LIBRARY = Path(__file__).parent / "library"


def test_built_in_names() -> None:
    found = Registry().find("copy")
    assert found is not None
    assert (found.name, found.origin, found.full_name) == ("copy", "builtin", "ansible.builtin.copy")
    assert found.module.name == "copy"
    assert "MODULE" in found.source()
    for name in ("ansible.builtin.copy", "ansible.legacy.copy"):
        assert Registry().find(name) == found


def test_scan_agrees_with_every_declaration() -> None:
    for info in Registry().modules():
        if info.origin == "builtin":
            assert info.path is not None
            assert registry._scan(info.path) == (info.module.aliases, info.module.collection), info.name
            assert info.module.name == info.name
            assert fields_of(info.module.params) is not None


def test_every_alias_leads_to_its_module() -> None:
    known = Registry()
    for info in known.modules():
        for alias in info.module.aliases:
            found = known.find(alias)
            assert found is not None
            assert found.name == info.name


def test_library_shadows_short_names_only(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text((LIBRARY / "gadget.py").read_text())
    known = Registry([tmp_path])
    short, full = known.find("copy"), known.find("ansible.builtin.copy")
    assert short is not None
    assert full is not None
    assert (short.origin, full.origin) == ("library", "builtin")
    assert short.module.name == "gadget"


def test_foreign_modules_have_no_declaration(tmp_path: Path) -> None:
    (tmp_path / "foreign.py").write_text("from ansible.module_utils.basic import AnsibleModule\n")
    found = Registry([tmp_path]).find("foreign")
    assert found is not None
    assert not found.declared
    with pytest.raises(TypeError):
        assert found.module


def test_collections(tmp_path: Path) -> None:
    folder = tmp_path / "ansible_collections" / "my" / "own" / "plugins" / "modules"
    folder.mkdir(parents=True)
    (folder / "thing.py").write_text("pass\n")
    known = Registry(collections=[tmp_path])
    found = known.find("my.own.thing")
    assert found is not None
    assert found.full_name == "my.own.thing"
    assert known.find("thing") is None
    assert known.find("thing", ["my.own"]) == found


def test_homes_bring_libraries_and_collections(tmp_path: Path) -> None:
    known = Registry()
    assert known.find("gadget") is None
    known.add_home(LIBRARY.parent)
    assert known.find("gadget") is not None
    (tmp_path / "action_plugins").mkdir()
    (tmp_path / "action_plugins" / "act.py").write_text("")
    known.add_home(tmp_path)
    assert known.action_plugin("act") is not None


@pytest.mark.parametrize(("written", "hint"), [("coppy", "copy"), ("ansible.builtin.comand", "command"), ("wrong.collection.copy", "copy")])
def test_nearest(written: str, hint: str) -> None:
    assert Registry().find(written) is None
    assert repr(hint) in Registry().nearest(written)


def test_broken_module_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("MODULE = Module(\n")
    (tmp_path / "empty.py").write_text("from provisioner.node.declare import Module\nMODULE: object = Module(**{}) if 0 else 5\n")
    known = Registry([tmp_path])
    for name, message in (("broken", "does not load: SyntaxError"), ("empty", "declares no MODULE")):
        found = known.find(name)
        assert found is not None
        with pytest.raises(InputError, match=message):
            assert found.module


def test_what_a_playbook_brings_is_searched_before_what_settings_name(tmp_path: Path) -> None:
    for place in ("shared", "project/library"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "thing.py").write_text("pass\n")
    for place in ("installed", "project/collections"):
        folder = tmp_path / place / "ansible_collections" / "my" / "own" / "plugins" / "modules"
        folder.mkdir(parents=True)
        (folder / "other.py").write_text("pass\n")
    known = Registry([tmp_path / "shared"], [tmp_path / "installed"])
    known.add_home(tmp_path / "project")
    for name in ("thing", "my.own.other"):
        found = known.find(name)
        assert found is not None
        assert found.path is not None
        assert found.path.is_relative_to(tmp_path / "project")
