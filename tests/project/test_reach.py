"""How hosts are reached, judged before any connection: values that cannot be meant are refused where they are written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from provisioner.diagnostics import Diagnostic
from provisioner.engine.options import Options
from provisioner.inventory import load
from provisioner.project import preflight
from provisioner.project.reach import check_hosts
from provisioner.project.session import Session


def errors(folder: Path, inventory: str, playbook: str = "", extra_vars: dict[str, Any] | None = None, **choices: Any) -> list[Diagnostic]:
    """The problems of a play on all hosts of an inventory, ``hosts.yml``."""
    (folder / "hosts.yml").write_text(inventory)
    (folder / "site.yml").write_text(playbook or "- hosts: all\n  tasks: []\n")
    session = Session.open([folder / "hosts.yml"], extra_vars=extra_vars)
    return preflight.check(session.read([folder / "site.yml"]), session.inventory, Options(extra_vars=extra_vars or {}, **choices)).errors


@pytest.mark.parametrize(
    ("variable", "value", "message", "advice"),
    [
        ("ansible_port", "ssh", "'ssh' is not a port number", "22"),
        ("ansible_port", "'22a'", "'22a' is not a port number", "22"),
        ("ansible_port", "true", "'True' is not a port number", "22"),
        ("ansible_port", "0", "0 is not a port number", "from 1 to 65535"),
        ("ansible_port", "65536", "65536 is not a port number", "from 1 to 65535"),
        ("ansible_ssh_port", "70000", "70000 is not a port number", "from 1 to 65535"),
        ("ansible_connection", "shh", "'shh' is not known", "did you mean 'ssh'?"),
        ("ansible_connection", "winrm", "'winrm' is not known", "docker, local, podman, ssh"),
        ("ansible_become_method", "sodu", "'sodu' is not known", "doas, runuser, su, sudo"),
        ("ansible_become", "yess", "'yess' is neither yes nor no", "did you mean 'yes'?"),
        ("ansible_timeout", "soon", "'soon' is not a number of seconds", "such as 10"),
        ("ansible_host_key_checking", "maybe", "'maybe' is neither yes nor no", "true or false"),
    ],
)
def test_values_that_cannot_be_meant(tmp_path: Path, variable: str, value: str, message: str, advice: str) -> None:
    (error,) = errors(tmp_path, f"all:\n  hosts:\n    a:\n      {variable}: {value}\n")
    assert error.message == f"{variable}: {message}"
    assert advice in error.help
    assert str(error.span) == f"{tmp_path / 'hosts.yml'}:4:7"
    assert error.hosts == ("a",)


@pytest.mark.parametrize(
    "line",
    [
        "ansible_port: 22",
        "ansible_port: '2222'",
        "ansible_port: '{{ port_of_site }}'",
        "ansible_port:",
        "ansible_port: ''",
        "ansible_connection: ansible.builtin.ssh",
        "ansible_connection: '{{ how }}'",
        "ansible_become_method: ansible.builtin.sudo",
        "ansible_become_method: community.general.doas",
        "ansible_become: 'yes'",
        "ansible_become: 1",
        "ansible_host_key_checking: accept-new",
        "ansible_timeout: 2.5",
        "ansible_port: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        6162",
    ],
)
def test_values_that_can(tmp_path: Path, line: str) -> None:
    assert errors(tmp_path, f"all:\n  hosts:\n    a:\n      {line}\n") == []


GROUP = "web:\n  hosts: {a: , b: {ansible_port: 22}, c: }\n  vars:\n    ansible_port: ssh\n"


def test_one_problem_of_a_group_is_told_once(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, GROUP)
    assert error.hosts == ("a", "c")
    assert str(error.span).endswith("hosts.yml:4:5")


def test_only_what_counts_is_judged(tmp_path: Path) -> None:
    assert errors(tmp_path, GROUP, limit="b") == []
    assert errors(tmp_path, GROUP, "- hosts: web\n  vars: {ansible_port: 22}\n  tasks: []\n") == []
    assert errors(tmp_path, GROUP, extra_vars={"ansible_port": 22}) == []
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars" / "a.yml").write_text("ansible_port: sshd\n")
    assert [(error.message, error.hosts) for error in errors(tmp_path, GROUP)] == [
        ("ansible_port: 'sshd' is not a port number", ("a",)),
        ("ansible_port: 'ssh' is not a port number", ("c",)),
    ]


def test_ten_thousand_hosts_cost_less_than_half_a_second(tmp_path: Path) -> None:
    path = tmp_path / "hosts.ini"
    path.write_text("[gpu]\n" + "".join(f"gpu{number:05} ansible_port=22\n" for number in range(10_000)))
    inventory = load([path])
    names = list(inventory.hosts)
    for name in names:
        inventory.variables(name)
    start = time.process_time()
    assert not check_hosts(inventory, names).errors
    assert time.process_time() - start < 0.5
