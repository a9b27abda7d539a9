"""``provision inventory`` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from provisioner.cli.main import run
from provisioner.vault import Envelope
from tests.inventory.tree import plant


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sealed = Envelope.seal(b"hunter22", b"pw").text().replace("\n", "\n  ").rstrip()
    plant(
        tmp_path,
        f"== hosts\n[web]\nw1 x=1\nw2\n[db]\nd1\n== group_vars/web.yml\ny: '{{{{ x }}}}'\nsecret: !vault |\n  {sealed}\n"
        "== play/group_vars/all.yml\nz: 3\n== extra.yml\nn: 1\n",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def out(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["inventory", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_graph_is_the_default(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "@all:\n  |--@ungrouped:\n  |--@web:\n  |  |--w1\n  |  |--w2\n  |--@db:\n  |  |--d1\n"
    assert out(capsys, "hosts") == text
    assert out(capsys, "hosts", "db", "--graph") == "@db:\n  |--d1\n"
    assert out(capsys, "hosts", "web", "-l", "w2") == "@web:\n  |--w2\n"
    assert "{secret = (encrypted)}" in out(capsys, "hosts", "--graph", "--vars")


def test_list_and_host(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(out(capsys, "hosts", "--list", "-l", "web", "-e", "e=5"))
    assert listed["web"] == {"hosts": ["w1", "w2"]}
    assert "db" not in listed
    assert listed["_meta"]["hostvars"]["w1"]["e"] == "5"
    shown = json.loads(out(capsys, "hosts", "--host", "w1", "--playbook-dir", "play"))
    assert shown.pop("secret")["__ansible_vault"].startswith("$ANSIBLE_VAULT;1.1;AES256\n")
    assert shown == {"x": 1, "y": "{{ x }}", "z": 3}


def test_yaml_reads_back(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "copy.yml").write_text(out(capsys, "hosts", "--list", "--yaml", "--export"))
    assert "!vault |" in (project / "copy.yml").read_text()
    first, second = (json.loads(out(capsys, name, "--list", "--export")) for name in ("hosts", "copy.yml"))
    assert first == second
    assert yaml.safe_load(out(capsys, "hosts", "--host", "d1", "-y")) == {}


def test_output_file_and_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "ansible.cfg").write_text("[defaults]\ninventory = hosts\n")
    assert out(capsys, "--list", "--output", "list.json") == ""
    assert "web" in json.loads((project / "list.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hosts", "-l", "w1,w9"], "--limit: no host or group is called 'w9'"),
        (["hosts", "--host", "w9"], "no host is called 'w9'"),
        (["hosts", "wbe"], "did you mean 'web'?"),
        (["hosts", "--list", "--graph"], "choose one of"),
        (["hosts", "--yaml"], "--yaml is for --list and --host"),
        (["none"], "inventory 'none' does not exist"),
        ([], "name an inventory"),
        (["hosts", "--list", "--output", "no/such"], "cannot write no/such"),
    ],
)
def test_mistakes(project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert words in out(capsys, *arguments, code=1)
