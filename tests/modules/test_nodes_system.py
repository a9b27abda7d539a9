"""Modules that change the system itself, on a real node: units, accounts, names, mounts, kernel parameters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.modules.nodes import Node, shown

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

UNIT = "[Service]\nExecStart=/bin/sleep {}\n[Install]\nWantedBy={}\n"


@pytest.fixture
def unit(node: Node) -> Iterator[str]:
    yield "/etc/systemd/system/demo.service"
    node.sh("systemctl disable --now demo; rm -f /etc/systemd/system/demo.service /etc/systemd/system/*/demo.service", ok=False)
    node.sh("systemctl daemon-reload")


def test_a_unit_that_is_written_started_and_enabled(node: Node, unit: str) -> None:
    plan = node.plan()
    try:
        plan.run("copy", {"dest": unit, "content": UNIT.format(1000, "multi-user.target")})
        planned = plan.run("systemd", {"name": "demo", "state": "started", "enabled": True})
    finally:
        plan.close()
    assert shown(planned) == ["set_unit demo.service", "set_unit demo.service"]
    node.converge("copy", {"dest": unit, "content": UNIT.format(1000, "multi-user.target")})
    made = node.converge("systemd", {"name": "demo", "state": "started", "enabled": True})
    assert made.changes == planned.changes
    assert made.result["status"]["ActiveState"] == "active"
    assert (made.result["state"], made.result["enabled"]) == ("started", True)


def test_s01_a_definition_that_is_stale(node: Node, unit: str) -> None:
    node.converge("copy", {"dest": unit, "content": UNIT.format(1000, "multi-user.target")})
    node.converge("systemd", {"name": "demo", "state": "started", "enabled": True})
    node.converge("copy", {"dest": unit, "content": UNIT.format(2000, "graphical.target")})
    wanted = {"name": "demo", "state": "restarted", "enabled": True}
    plan = node.plan()
    try:
        planned = plan.run("systemd", wanted)
    finally:
        plan.close()
    made = node.apply.run("systemd", wanted)
    assert planned.changes == made.changes
    assert "reload_units systemd" in shown(made)
    assert node.sh("systemctl show -P ExecStart demo").count("/bin/sleep 2000") == 1
    assert node.sh("tr '\\0' ' ' </proc/$(systemctl show -P MainPID demo)/cmdline") == "/bin/sleep 2000"
    assert node.sh("ls -d /etc/systemd/system/*/demo.service") == "/etc/systemd/system/graphical.target.wants/demo.service"
    again = node.apply.run("systemd", {"name": "demo", "state": "started", "enabled": True})
    assert again.changes == []


def test_s02_masked_and_running_without_a_file(node: Node, unit: str) -> None:
    masked = node.converge("systemd", {"name": "cron", "masked": True})
    assert shown(masked) == ["set_unit cron.service"]
    assert "is masked; unmask it first" in node.refuses("systemd", {"name": "cron", "state": "restarted"})
    node.converge("systemd", {"name": "cron", "masked": False})
    node.converge("copy", {"dest": unit, "content": UNIT.format(1000, "multi-user.target")})
    node.converge("service", {"name": "demo", "state": "started"})
    node.sh(f"rm {unit}; systemctl daemon-reload")
    assert node.sh("systemctl is-active demo") == "active"
    node.converge("service", {"name": "demo", "state": "stopped"})
    assert "Could not find the requested service demo.service" in node.refuses("service", {"name": "demo", "state": "stopped"})
    assert "Could not find the requested service nosuch" in node.refuses("service", {"name": "nosuch", "state": "started"})


def test_restarts_and_reloads_happen_each_time(node: Node) -> None:
    for _ in range(2):
        made = node.apply.run("service", {"name": "cron", "state": "restarted"})
        assert made.result["changed"]
        assert shown(made) == ["request_unit cron.service"]
    assert node.apply.run("systemd", {"daemon_reload": True}).result["changed"] is False
    listed = node.apply.run("service_facts").result["ansible_facts"]["services"]["cron.service"]
    assert (listed["state"], listed["status"], listed["source"]) == ("running", "enabled", "systemd")


def test_a_start_that_fails_says_why(node: Node, unit: str) -> None:
    node.converge("copy", {"dest": unit, "content": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo the reason >&2; exit 3'\n"})
    failed = node.apply.run("systemd", {"name": "demo", "state": "started"}).result
    assert failed["failed"]
    assert "the reason" in failed["msg"]


def test_users_and_groups(node: Node) -> None:
    node.converge("group", {"name": "gpu", "gid": 4711, "system": True})
    wanted = {
        "name": "ada",
        "uid": 4712,
        "group": "gpu",
        "groups": ["adm", "cdrom"],
        "shell": "/bin/bash",
        "comment": "Ada L.",
        "password": "$6$x",
    }
    made = node.converge("user", wanted)
    assert made.changes[0]["after"]["password"] == "********"
    assert "$6$x" not in str(made)
    assert node.sh("getent passwd ada") == "ada:x:4712:4711:Ada L.:/home/ada:/bin/bash"
    assert node.sh("getent shadow ada | cut -d: -f2") == "$6$x"
    more = node.converge("user", {"name": "ada", "groups": ["video"], "append": True})
    assert more.changes[0]["before"] == {"append_groups": ["adm", "cdrom"]}
    assert sorted(node.sh("id -Gn ada").split()) == ["adm", "cdrom", "gpu", "video"]
    node.converge("user", {"name": "ada", "groups": "audio", "shell": "/bin/sh", "expires": 1893456000, "password_expire_max": 90})
    assert sorted(node.sh("id -Gn ada").split()) == ["audio", "gpu"]
    assert node.sh("getent shadow ada | cut -d: -f5,8") == "90:21915"
    node.converge("user", {"name": "ada", "password_lock": True})
    assert node.sh("getent shadow ada | cut -d: -f2") == "!$6$x"
    assert node.apply.run("user", {"name": "ada", "password": "other", "update_password": "on_create"}).changes == []
    assert "does not exist" in node.refuses("user", {"name": "eve", "group": "nosuchgroup"})
    assert "primary group of the user ada" in node.refuses("group", {"name": "gpu", "state": "absent"})
    node.converge("user", {"name": "ada", "state": "absent", "remove": True})
    assert node.sh("ls -d /home/ada", ok=False) == ""
    node.converge("group", {"name": "gpu", "state": "absent"})


def test_a_key_pair_and_who_may_log_in(node: Node) -> None:
    made = node.apply.run("user", {"name": "bob", "generate_ssh_key": True, "ssh_key_type": "ed25519", "ssh_key_comment": "bob@here"})
    assert not made.result["failed"], made.result
    assert made.result["ssh_public_key"].startswith("ssh-ed25519 ")
    assert node.sh("stat -c '%U %a' /home/bob/.ssh /home/bob/.ssh/id_ed25519").splitlines() == ["bob 700", "bob 600"]
    assert node.apply.run("user", {"name": "bob", "generate_ssh_key": True, "ssh_key_type": "ed25519"}).changes == []
    node.converge("authorized_key", {"user": "bob", "key": made.result["ssh_public_key"]})
    assert node.sh("stat -c '%U %G %a' /home/bob/.ssh/authorized_keys") == "bob bob 600"
    table = node.converge("cron", {"name": "tidy", "job": "/bin/true", "user": "bob", "special_time": "daily"})
    assert node.sh("crontab -l -u bob").splitlines() == ["#Ansible: tidy", "@daily /bin/true"]
    assert table.result["jobs"] == ["tidy"]
    node.converge("user", {"name": "bob", "state": "absent", "remove": True})
    node.sh("rm /var/spool/cron/crontabs/bob")


def test_names_and_time(node: Node) -> None:
    before = node.sh("hostname")
    made = node.converge("hostname", {"name": "gpu01.example.com"})
    assert made.result["ansible_facts"]["ansible_hostname"] == "gpu01"
    assert node.sh("hostname; cat /etc/hostname").splitlines() == ["gpu01.example.com"] * 2
    node.converge("hostname", {"name": before})
    node.converge("timezone", {"name": "Europe/Berlin"})
    assert node.sh("date -d 2024-07-01T00:00Z +%Z; cat /etc/timezone").splitlines() == ["CEST", "Europe/Berlin"]
    node.converge("timezone", {"name": "Etc/UTC", "hwclock": "local"})
    assert node.sh("sed -n 3p /etc/adjtime") == "LOCAL"
    assert "is no time zone known here" in node.refuses("timezone", {"name": "Mars/Olympus"})


def test_mounts(node: Node) -> None:
    wanted = {"path": "/mnt/my data", "src": "tmpfs", "fstype": "tmpfs", "opts": "size=1m,mode=0750"}
    made = node.converge("mount", {**wanted, "state": "mounted"})
    assert shown(made) == ["write_file /etc/fstab", "make_directory /mnt/my data", "set mount /mnt/my data"]
    assert node.sh("findmnt -no SIZE '/mnt/my data'") == "1M"
    changed = node.converge("mount", {**wanted, "opts": "size=2m,mode=0750", "state": "mounted"})
    assert node.sh("findmnt -no SIZE '/mnt/my data'") == "2M"
    assert "write_file /etc/fstab" in shown(changed)
    node.converge("mount", {"path": "/mnt/my data", "state": "unmounted"})
    node.converge("mount", {**wanted, "state": "ephemeral"})
    node.converge("mount", {"path": "/mnt/my data", "state": "absent"})
    assert node.sh("ls -d '/mnt/my data'; grep -c my /etc/fstab", ok=False) == "0"


def test_m12_the_kernel_itself(node: Node) -> None:
    node.sh("sysctl -qw vm.swappiness=60; rm -f /etc/sysctl.d/90-test.conf")
    wanted = {"name": "vm.swappiness", "value": "13", "sysctl_file": "/etc/sysctl.d/90-test.conf", "sysctl_set": True}
    made = node.converge("sysctl", wanted)
    assert shown(made) == ["set kernel parameter vm.swappiness", "write_file /etc/sysctl.d/90-test.conf"]
    assert node.sh("cat /proc/sys/vm/swappiness; echo; cat /etc/sysctl.d/90-test.conf").split() == ["13", "vm.swappiness=13"]
    node.sh("sysctl -qw vm.swappiness=60")
    again = node.converge("sysctl", wanted)
    assert [(change["before"], change["after"]) for change in again.changes] == [("60", "13")]
    refused = node.apply.run("sysctl", {**wanted, "name": "net.ipv4.ip_forward", "value": "lots"}).result
    assert refused["failed"]
    assert "the kernel refuses net.ipv4.ip_forward = lots: Invalid argument" in refused["msg"]
    node.converge("sysctl", {"name": "vm.swappiness", "state": "absent", "sysctl_file": "/etc/sysctl.d/90-test.conf"})


def test_m14_files_that_lock_people_out(node: Node) -> None:
    made = node.converge("copy", {"dest": "/etc/sudoers.d/gpu", "content": "ada ALL=(ALL) NOPASSWD: ALL\n"})
    assert made.result["mode"] == "0440"
    refused = node.apply.run("copy", {"dest": "/etc/sudoers.d/gpu", "content": "ada ALL = nonsense(\n"}).result
    assert refused["failed"]
    assert "expected a fully-qualified path name" in refused["msg"]
    assert node.sh("cat /etc/sudoers.d/gpu") == "ada ALL=(ALL) NOPASSWD: ALL"
    dotted = node.apply.run("copy", {"dest": "/etc/sudoers.d/x.conf", "content": "ada ALL=(ALL) ALL\n"}).result
    assert "sudo passes over /etc/sudoers.d/x.conf" in dotted["warnings"][0]
    refused = node.apply.run("lineinfile", {"path": "/etc/ssh/sshd_config", "line": "NoSuchOption yes"}).result
    assert refused["failed"]
    assert "Bad configuration option: NoSuchOption" in refused["msg"]
    node.sh("rm /etc/sudoers.d/gpu /etc/sudoers.d/x.conf; ! grep NoSuch /etc/ssh/sshd_config")


def test_answers_and_alternatives(node: Node) -> None:
    asked = {"name": "tzdata", "question": "tzdata/Areas", "value": "Europe", "vtype": "select"}
    node.converge("debconf", asked)
    assert node.sh("echo GET tzdata/Areas | debconf-communicate") == "0 Europe"
    node.converge("debconf", {**asked, "value": "Etc"})
    node.sh("printf '#!/bin/sh\\n' > /opt/one; cp /opt/one /opt/two; chmod +x /opt/one /opt/two")
    common = {"name": "demo-tool", "link": "/usr/local/bin/demo-tool"}
    node.converge("alternatives", {**common, "path": "/opt/one", "priority": 10})
    node.converge("alternatives", {**common, "path": "/opt/two", "priority": 20, "state": "present"})
    assert node.sh("readlink -f /usr/local/bin/demo-tool") == "/opt/one"
    node.converge("alternatives", {**common, "path": "/opt/two", "state": "auto"})
    assert node.sh("readlink -f /usr/local/bin/demo-tool") == "/opt/two"
    node.converge("alternatives", {"name": "demo-tool", "path": "/opt/two", "state": "absent"})
    node.converge("alternatives", {"name": "demo-tool", "path": "/opt/one", "state": "absent"})
    assert "Specified path /opt/none does not exist" in node.refuses("alternatives", {**common, "path": "/opt/none"})


def test_keys_apt_trusts(node: Node) -> None:
    source = node.sh("ls /usr/share/keyrings/debian-archive-keyring.gpg /etc/apt/trusted.gpg.d/*.asc 2>/dev/null | head -1")
    node.sh(f"cp {source} /tmp/key.gpg; mkdir -p /tmp/saved; mv /etc/apt/trusted.gpg.d/* /tmp/saved/ 2>/dev/null; true")
    try:
        made = node.converge("apt_key", {"file": "/tmp/key.gpg"})
        first = made.result["fp"]
        assert len(first) == 40
        assert node.apply.run("apt_key", {"id": first[-8:], "url": "http://127.0.0.1:1/key"}).changes == []
        assert f"and not {'0' * 40}" in node.refuses("apt_key", {"id": "0" * 40, "file": "/tmp/key.gpg"})
        gone = node.converge("apt_key", {"id": first, "state": "absent"})
        assert first not in gone.result["after"]
    finally:
        node.sh("rm -f /etc/apt/trusted.gpg.d/*; mv /tmp/saved/* /etc/apt/trusted.gpg.d/ 2>/dev/null; true")


def test_p02_a_service_of_a_package_that_is_only_planned(node: Node) -> None:
    plan = node.plan()
    try:
        plan.run("apt", {"name": "chrony"})
        planned = plan.run("systemd", {"name": "chrony", "state": "started", "enabled": True})
        assert shown(planned) == ["? set_unit chrony.service", "? set_unit chrony.service"]
        assert planned.changes[0]["before"].because == "installing chrony"
    finally:
        plan.close()
    assert "Could not find the requested service nosuch.service" in node.refuses("systemd", {"name": "nosuch.service", "state": "started"})
