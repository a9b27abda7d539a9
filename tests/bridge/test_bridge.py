"""What is found, what is refused and why, and what is packed."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from provisioner.bridge.archive import Library, pack
from provisioner.bridge.bridge import Bridge
from provisioner.bridge.core import INSTALL, Core, find_core
from provisioner.bridge.styles import style_of
from provisioner.errors import InputError
from provisioner.schema.registry import Registry
from tests.bridge.conftest import COLLECTIONS, CORE

HOME = "ansible_collections/my/own/plugins"


# -- the installation ----------------------------------------------------------------------------------------------------------------------


def test_an_installation_is_found_by_venv_packages_or_package(tmp_path: Path) -> None:
    (tmp_path / "venv" / "lib" / "python3.12").mkdir(parents=True)
    (tmp_path / "venv" / "lib" / "python3.12" / "site-packages").symlink_to(CORE)
    for named in (tmp_path / "venv", CORE, CORE / "ansible"):
        found = find_core(str(named))
        assert found is not None
        assert found.version == "2.99.1"
    assert find_core(str(tmp_path)) is None


# -- names ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "full", "sent"),
    [
        ("my.own.hello", "my.own.hello", "my.own.hello"),
        ("my.own.deep.bye", "my.own.deep.bye", "my.own.deep.bye"),
        ("my.own.renamed", "my.own.hello", "my.own.hello"),
        ("old_greeting", "my.own.hello", "my.own.hello"),
        ("frobnicate", "ansible.builtin.frobnicate", "ansible.builtin.frobnicate"),
        ("ansible.legacy.frobnicate", "ansible.builtin.frobnicate", "ansible.builtin.frobnicate"),
        ("ansible.builtin.copy", "ansible.builtin.copy", "copy"),
    ],
)
def test_names_lead_to_modules(bridge: Bridge, name: str, full: str, sent: str) -> None:
    found = bridge.registry.find(name)
    assert found is not None
    assert (found.full_name, found.sent_as) == (full, sent)
    assert bridge.registry.find(sent) == found
    assert bridge.refusal(found) is None


@pytest.mark.parametrize(
    ("name", "why", "help_"),
    [
        ("my.own.gone", "my.own says: use my.own.hello", ""),
        ("my.own.only_action", "its work is done by an action plugin", "do it in another way"),
        ("my.own.helo", "has no such module", "did you mean 'hello'?"),
        ("your.own.faraway", "the collection your.own is not installed here", "ansible-galaxy collection install your.own"),
        ("faraway", "the collection your.own is not installed here", "ansible-galaxy collection install your.own"),
        ("nowhere", "ansible-core 2.99.1 has no such module", ""),
    ],
)
def test_what_is_missing_is_explained(bridge: Bridge, name: str, why: str, help_: str) -> None:
    assert bridge.registry.find(name) is None
    found = bridge.absence(name)
    assert why in found[0]
    assert help_ in found[1]


def test_without_an_installation_both_steps_are_named() -> None:
    bridge = Bridge(None, Registry())
    why, help_ = bridge.absence("your.own.thing")
    assert why == "the collection your.own is not installed here"
    assert help_ == f"install the collection: ansible-galaxy collection install your.own; and {INSTALL}"
    assert INSTALL in bridge.absence("expect")[1]


def test_a_python_module_is_refused_without_an_installation(bridge: Bridge) -> None:
    alone = Bridge(None, Registry(collections=[COLLECTIONS]))
    found = alone.registry.find("my.own.hello")
    assert found is not None
    refused = alone.refusal(found)
    assert refused is not None
    assert refused[1] == INSTALL
    with pytest.raises(InputError, match=r"my\.own\.hello"):
        alone.program(found)


def test_a_module_that_an_action_plugin_stands_before_is_refused(bridge: Bridge) -> None:
    found = bridge.registry.find("my.own.acted")
    assert found is not None
    refused = bridge.refusal(found)
    assert refused is not None
    assert "action plugin" in refused[0]


def test_action_groups_extend_each_other(bridge: Bridge) -> None:
    assert bridge.routing.group("my.own", "greetings") == {"my.own.hello", "my.own.deep.bye"}


# -- kinds ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "shebang", "honest"),
    [
        (b"from ansible.module_utils.basic import AnsibleModule\n", "python", (), False),
        (b"#!/usr/bin/python\nimport ansible.module_utils.basic as b\nb.AnsibleModule({}, supports_check_mode=True)\n", "python", 1, True),
        (b"from ..module_utils.words import x\n", "python", (), False),
        (b"from ansible_collections.my.own.plugins.module_utils import x\n", "python", (), False),
        (b"#<<INCLUDE_ANSIBLE_MODULE_COMMON>>\nmain()\n", "python", (), False),
        (b"#!/bin/sh\n# WANT_JSON\ncat $1\n", "json", 1, False),
        (b"#!/usr/bin/env ruby\nARGS='<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>'\n", "complete", 2, False),
        (b"#!/bin/sh\n. $1\n", "words", 1, False),
        (b"\x7fELF\0\0\0", "json", (), False),
        ("#!/bin/sh\n# Grüße\n".encode(), "words", 1, False),
    ],
)
def test_the_kind_of_a_module(tmp_path: Path, text: bytes, kind: str, shebang: object, honest: bool) -> None:
    (tmp_path / "thing").write_bytes(text)
    style = style_of(tmp_path / "thing")
    assert (style.kind, style.honest) == (kind, honest)
    assert len(style.shebang) == (shebang or 0)


# -- archives ------------------------------------------------------------------------------------------------------------------------------


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_an_archive_holds_all_that_is_imported_and_no_more(bridge: Bridge) -> None:
    found = bridge.registry.find("my.own.hello")
    assert found is not None
    program = bridge.program(found)
    assert program.main == "ansible_collections.my.own.plugins.modules.hello"
    assert names(program.code) == [
        "ansible/__init__.py",
        "ansible/module_utils/__init__.py",
        "ansible/module_utils/basic.py",
        "ansible/module_utils/common/__init__.py",
        "ansible/module_utils/common/words.py",
        "ansible_collections/__init__.py",
        "ansible_collections/my/__init__.py",
        "ansible_collections/my/own/__init__.py",
        f"{HOME}/__init__.py",
        f"{HOME}/module_utils/__init__.py",
        f"{HOME}/module_utils/moved.py",
        f"{HOME}/module_utils/words.py",
        f"{HOME}/modules/__init__.py",
        f"{HOME}/modules/hello.py",
    ]


def test_an_archive_is_the_same_each_time(core: Core) -> None:
    text = b"from ansible.module_utils.basic import AnsibleModule\n"
    assert pack(Library(core), "ansible.legacy.x", text) == pack(Library(core), "ansible.legacy.x", text)


def test_own_module_utils_stand_before_those_of_the_installation(core: Core, tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "words.py").write_text("MINE = 1\n")
    (tmp_path / "own.py").write_text("OWN = 1\n")
    text = b"import ansible.module_utils.own\nfrom ansible.module_utils.nowhere import x\n"
    archive = zipfile.ZipFile(io.BytesIO(pack(Library(core, (tmp_path,)), "ansible.legacy.x", text)))
    assert archive.read("ansible/module_utils/common/words.py") == b"MINE = 1\n"
    assert archive.read("ansible/module_utils/own.py") == b"OWN = 1\n"
    assert archive.read("ansible/__init__.py") == b"__version__ = '2.99.1'\n"
