"""P06: a plan in which every module has a step changes nothing at all on the node."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner.node.session import find_module
from provisioner.schema.registry import Registry
from tests.modules.nodes import Node
from tests.playbooks.story import SNAPSHOT

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample ada@example"

STEPS: list[tuple[str, dict[str, Any]]] = [
    ("ping", {}),
    ("setup", {"gather_subset": ["min"]}),
    ("package_facts", {}),
    ("service_facts", {}),
    ("getent", {"database": "passwd"}),
    ("stat", {"path": "/etc/fstab"}),
    ("slurp", {"src": "/etc/fstab"}),
    ("fetch", {"src": "/etc/hostname", "dest": "x"}),
    ("find", {"paths": "/etc", "patterns": "*.conf"}),
    ("tempfile", {}),
    ("async_status", {"jid": "j1.1", "mode": "cleanup", "folder": "/srv/jobs"}),
    ("file", {"path": "/srv/new", "state": "directory", "mode": "0750"}),
    ("copy", {"dest": "/srv/new/f", "content": "hello\n", "mode": "0600"}),
    ("lineinfile", {"path": "/etc/hosts", "line": "10.0.0.9 gpu09"}),
    ("blockinfile", {"path": "/etc/profile", "block": "umask 022"}),
    ("replace", {"path": "/etc/fstab", "regexp": "^", "replace": "#"}),
    ("ini_file", {"path": "/etc/new.ini", "section": "a", "option": "b", "value": "c"}),
    ("assemble", {"src": "/etc/apt", "dest": "/etc/assembled", "regexp": "sources"}),
    ("unarchive", {"src": "/srv/archive.tgz", "dest": "/srv", "remote_src": True}),
    ("get_url", {"url": "file:///etc/fstab", "dest": "/srv/fstab"}),
    ("uri", {"url": "http://repository.lab:8088/", "method": "POST", "status_code": [200, 404, 501]}),
    ("group", {"name": "newgroup"}),
    ("user", {"name": "newuser", "generate_ssh_key": True, "groups": "newgroup"}),
    ("authorized_key", {"user": "admin", "key": KEY}),
    ("cron", {"name": "tidy", "job": "true", "user": "root"}),
    ("hostname", {"name": "other"}),
    ("timezone", {"name": "Europe/Berlin"}),
    ("sysctl", {"name": "vm.swappiness", "value": "11", "sysctl_set": True}),
    ("modprobe", {"name": "dummy", "persistent": "present"}),
    ("mount", {"path": "/mnt/new", "src": "tmpfs", "fstype": "tmpfs", "state": "mounted"}),
    ("debconf", {"name": "tzdata", "question": "tzdata/Areas", "value": "Asia", "vtype": "select"}),
    ("alternatives", {"name": "newtool", "link": "/usr/bin/newtool", "path": "/bin/true"}),
    ("dpkg_selections", {"name": "bash", "selection": "hold"}),
    ("apt_key", {"file": "/usr/share/keyrings/debian-archive-keyring.gpg", "keyring": "/etc/apt/trusted.gpg.d/test.gpg"}),
    ("systemd", {"name": "cron", "state": "stopped", "enabled": False, "masked": True, "daemon_reload": True}),
    ("service", {"name": "ssh", "state": "restarted"}),
    ("git", {"repo": "/srv/origin", "dest": "/srv/tree"}),
    ("pip", {"name": "six", "virtualenv": "/srv/venv", "virtualenv_command": "python3 -m venv"}),
    ("apt", {"name": "chrony", "autoremove": True, "clean": True}),
    ("package", {"name": "less", "state": "absent"}),
    ("dnf", {"name": "demo"}),
    ("gpu", {}),
    ("deb822_repository", {"name": "new", "uris": "http://repository.lab:8088/x", "suites": "/"}),
    ("apt_repository", {"repo": "deb http://repository.lab:8088/y ./"}),
    ("wait_for", {"port": 22, "timeout": 5}),
    ("command", {"cmd": "touch /srv/by-command"}),
    ("shell", {"cmd": "touch /srv/by-shell"}),
    ("script", {"cmd": "x.sh", "content": "touch /srv/by-script\n"}),
    ("reboot", {}),
]


def node_modules() -> set[str]:
    """The modules that do something on a node by themselves."""
    infos = (Registry().find(name) for name in Registry().names())
    found = {info.name: info.module for info in infos if info is not None and info.origin == "builtin"}
    return {name for name, module in found.items() if module.run is not None}


def test_every_module_has_a_step_here() -> None:
    assert node_modules() <= {module for module, _params in STEPS}


def test_p06_a_plan_changes_nothing(node: Node) -> None:
    node.sh(
        "cd /srv && rm -rf origin && git init -q origin && cd origin && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        ok=False,
    )
    node.sh("tar czf /srv/archive.tgz -C /etc fstab hostname; mkdir /srv/jobs; echo '{}' > /srv/jobs/j1.1")
    # debconf opens its files for writing even to read them, and the node's overlay copies them up then: once, like this.
    node.sh("mkdir -p -m 700 /var/cache/provision; echo GET tzdata/Areas | debconf-communicate > /srv/seen")
    node.sh("rm -f /var/cache/apt/*.bin")  # apt would make it again whenever it is asked
    node.sh("systemctl stop apt-daily.timer apt-daily-upgrade.timer man-db.timer e2scrub_all.timer 2>/dev/null; true")
    before = node.sh(SNAPSHOT).splitlines()
    plan = node.plan()
    planned = 0
    try:
        for module, params in STEPS:
            for extra in ({}, {"maybe": "a command comes first"}):
                reply = plan.run(module, params, **extra)
                planned += bool(reply.changes or reply.unknown)
    finally:
        plan.close()
    after = node.sh(SNAPSHOT).splitlines()
    assert [line for line in after if line not in before] == []
    assert [line for line in before if line not in after] == []
    assert planned > 40


def test_modules_are_declared_well() -> None:
    for name in node_modules():
        module = find_module(name)
        assert module.summary.endswith("."), name
        assert module.examples.strip(), name
