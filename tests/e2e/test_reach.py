"""Nodes that cannot be reached, are not who they claim to be, or refuse: said at once, with the way out, while others go on."""

from __future__ import annotations

import secrets
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet

MARK = "- name: mark\n  file: {{path: {w}, state: directory}}\n"


def test_an_unreachable_host_is_named_and_the_others_go_on(fleet: Fleet, w: str) -> None:
    inventory = fleet.inventory_of({"one": {"node": 0}, "gone": {"ansible_host": "127.0.0.1", "ansible_port": 1}, "two": {"node": 1}})
    done = fleet("apply", fleet.play(MARK.format(w=w)), inventory=inventory)
    assert done.code == 4, done.all
    assert "gone" in done.out, done.all
    assert "refuse" in done.out, done.all
    assert "127.0.0.1 port 1" in done.out, done.all
    assert "--limit gone" in done.out, done.all
    for node in (0, 1):
        assert fleet.on(node, f"ls -d {w}") == w


def test_a_name_nobody_knows_and_an_address_nobody_has(fleet: Fleet) -> None:
    nowhere = fleet.lab.address(250)
    inventory = fleet.inventory_of(
        {"typo": {"ansible_host": "no-such-host.invalid"}, "off": {"ansible_host": nowhere, "ansible_timeout": 2}}
    )
    done = fleet("apply", fleet.play("- ping:\n"), "--format", "json", inventory=inventory)
    assert done.code == 4, done.all
    messages = {step["host"]: step["msg"] for step in done.document["steps"]}
    assert "no-such-host.invalid cannot be resolved" in messages["typo"]
    assert nowhere in messages["off"]


def command_of(text: str, start: str) -> str:
    """The command that an error tells the operator to use."""
    line = next(line for line in text.splitlines() if start in line)
    return start + line.split(start, 1)[1].split("; ")[0]


def test_an_unknown_host_key_is_refused_with_the_command_that_accepts_it(fleet: Fleet, w: str) -> None:
    known = fleet.folder / "known hosts"
    args = f"-F none -o UserKnownHostsFile={shlex.quote(str(known))}"
    inventory = fleet.inventory_of({"new": {"node": 0, "ansible_ssh_common_args": args}})
    play = fleet.play(MARK.format(w=w))
    refused = fleet("apply", play, inventory=inventory)
    assert refused.code == 4
    assert "the host key is not known" in refused.out, refused.all
    assert "SHA256:" in refused.out, refused.all
    assert fleet.on(0, f"ls -d {w} 2>/dev/null || echo none") == "none"

    subprocess.run(["bash", "-ec", command_of(refused.out, "ssh-keyscan")], check=True, capture_output=True)
    assert fleet("apply", play, inventory=inventory).code == 0


def test_a_changed_host_key_is_refused_with_the_command_that_forgets_the_old_one(fleet: Fleet, w: str) -> None:
    key = fleet.folder / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    known = fleet.write("known_hosts", f"{fleet.lab.nodes[0].address} {' '.join(Path(f'{key}.pub').read_text().split()[:2])}\n")
    inventory = fleet.inventory_of({"node": {"node": 0, "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={known}"}})
    play = fleet.play(MARK.format(w=w))
    for choice in ("yes", "accept-new"):
        refused = fleet("apply", play, "-e", f"ansible_host_key_checking={choice}", inventory=inventory)
        assert refused.code == 4
        assert "HOST KEY HAS CHANGED" in refused.out, refused.all
        assert f"{known}:1" in refused.out, refused.all
        assert fleet.on(0, f"ls -d {w} 2>/dev/null || echo none") == "none"

    subprocess.run(["bash", "-ec", command_of(refused.out, "ssh-keygen -R")], check=True, capture_output=True)
    accepted = fleet("apply", play, "-e", "ansible_host_key_checking=accept-new", inventory=inventory)
    assert accepted.code == 0, accepted.all
    assert fleet("apply", play, inventory=inventory).code == 0


@pytest.fixture
def asked(fleet: Fleet) -> str:
    """A user of node 0 whom sudo asks for a password, which is "right"."""
    name = f"u{secrets.token_hex(3)}"
    key = fleet.lab.key.with_suffix(".pub").read_text().strip() if fleet.lab.key.with_suffix(".pub").exists() else ""
    public = (
        key or subprocess.run(["ssh-keygen", "-y", "-f", str(fleet.lab.key)], capture_output=True, text=True, check=True).stdout.strip()
    )
    fleet.on(
        0,
        f"useradd -m -s /bin/bash {name}; echo {name}:right | chpasswd; install -d -m 700 -o {name} ~{name}/.ssh; "
        f"echo '{public}' > ~{name}/.ssh/authorized_keys; chown {name} ~{name}/.ssh/authorized_keys; "
        f"echo '{name} ALL=(ALL) ALL' > /etc/sudoers.d/{name}",
    )
    return name


def test_a_sudo_password_that_is_missing_or_wrong_is_said_at_once(fleet: Fleet, asked: str, w: str) -> None:
    """B02: one try, so that no account gets locked."""
    # Far from the limit for connecting: whoever waited for that would be seen.
    inventory = fleet.inventory_of({"node": {"node": 0, "ansible_user": asked, "ansible_timeout": 120}})
    play = fleet.play(MARK.format(w=w))
    missing = fleet("apply", play, inventory=inventory)
    assert missing.code == 4, missing.all
    assert missing.seconds < 60
    assert "sudo needs a password to become root" in missing.out, missing.all
    assert "-K" in missing.out, missing.all

    fleet.on(0, "journalctl --rotate --vacuum-time=1s -q || true")
    password = fleet.write("wrong", "very wrong\n")
    wrong = fleet("apply", play, "--become-password-file", password, inventory=inventory)
    assert wrong.code == 4, wrong.all
    assert wrong.seconds < 60
    assert "the sudo password is wrong" in wrong.out, wrong.all
    assert "very wrong" not in wrong.all
    assert fleet.on(0, f"journalctl -q --since -1min | grep -c 'sudo.*authentication failure.* user={asked}' || true") in ("0", "1")
    assert fleet.on(0, f"ls -d {w} 2>/dev/null || echo none") == "none"

    right = fleet("apply", play, "--become-password-file", fleet.write("password", "right\n"), inventory=inventory)
    assert right.code == 0, right.all


def test_a_user_who_may_not_become_root(fleet: Fleet, asked: str) -> None:
    fleet.on(0, f"rm /etc/sudoers.d/{asked}")
    inventory = fleet.inventory_of({"node": {"node": 0, "ansible_user": asked}})
    done = fleet("apply", fleet.play("- ping:\n"), "--become-password-file", fleet.write("password", "right\n"), inventory=inventory)
    assert done.code == 4, done.all
    assert f"{asked} may not become root with sudo" in done.out, done.all
    assert "sudoers" in done.out, done.all


def test_a_node_without_python_says_how_to_get_one_and_raw_does_it(fleet: Fleet, w: str) -> None:
    hidden = "for p in /usr/bin/python3*; do mv $p /root/${p##*/}.hidden; done"
    shown = "cd /root; for p in *.hidden; do mv $p /usr/bin/${p%.hidden}; done"
    fleet.on(1, hidden)
    try:
        other = fleet.play(MARK.format(w=w))
        done = fleet("apply", other, "--limit", f"{fleet.names[0]},{fleet.names[1]}", "-e", "ansible_python_interpreter=auto")
        assert done.code == 4, done.all
        assert "there is no Python on the node" in done.out, done.all
        assert "-m raw -a 'apt-get install -y python3' -b" in done.out, done.all
        assert fleet.on(0, f"ls -d {w}") == w
        assert fleet.on(1, f"ls -d {w} 2>/dev/null || echo none") == "none"

        adhoc = fleet("run", "-m", "raw", "-a", "echo $HOME; id -u", "-b", "--limit", fleet.names[1])
        assert adhoc.code == 0, adhoc.all
        assert "/root" in adhoc.all

        play = fleet.play(
            f'- name: bootstrap\n  raw: "{shown}; echo done"\n  register: got\n- assert: {{that: ["\'done\' in got.stdout"]}}\n'
            + MARK.format(w=w)
        )
        back = fleet("apply", play, "--limit", fleet.names[1])
        assert back.code == 0, back.all
        assert fleet.on(1, f"ls -d {w}") == w
    finally:
        fleet.on(1, shown, check=False)


def test_an_interpreter_that_is_not_there(fleet: Fleet) -> None:
    done = fleet("apply", fleet.play("- ping:\n"), "-e", "ansible_python_interpreter=/opt/none/python3", "--limit", fleet.names[0])
    assert done.code == 2, done.all
    assert "The module interpreter '/opt/none/python3' was not found." in done.out, done.all
    assert "ansible_python_interpreter" in done.out, done.all


def test_a_noisy_login_changes_nothing(fleet: Fleet, asked: str) -> None:
    """C07."""
    fleet.on(
        0,
        f"echo '{asked} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/{asked}; "
        f"printf 'echo welcome to the machine; echo {{\\n' | cat - ~{asked}/.bashrc > /tmp/rc; cp /tmp/rc ~{asked}/.bashrc",
    )
    inventory = fleet.inventory_of({"node": {"node": 0, "ansible_user": asked}})
    play = fleet.play("- name: clean\n  command: echo just this\n  register: r\n- assert: {that: [r.stdout == 'just this']}\n")
    done = fleet("apply", play, "-vvv", inventory=inventory)
    assert done.code == 0, done.all

    fleet.on(0, f"usermod -s /usr/sbin/nologin {asked}")
    closed = fleet("apply", play, inventory=inventory)
    assert closed.code == 4
    assert "not available" in closed.out or "login shell" in closed.out, closed.all


def test_the_same_trouble_on_many_hosts_is_told_once(fleet: Fleet) -> None:
    hosts = {f"gpu{number:02}": {"ansible_host": "127.0.0.1", "ansible_port": 1} for number in range(1, 13)}
    done = fleet("apply", fleet.play("- ping:\n"), inventory=fleet.inventory_of(hosts))
    assert done.code == 4
    assert "gpu[01-12]" in done.out, done.all
    assert done.out.split("\nUNREACHABLE\n")[1].count("127.0.0.1 port 1") == 1


def test_a_user_who_may_become_another_but_not_root(fleet: Fleet, asked: str, w: str) -> None:
    """Each account has an agent of its own then; one that has no home keeps what it has to keep elsewhere."""
    app = f"app{asked[1:]}"
    fleet.on(
        0,
        f"useradd -r -d /nonexistent -s /usr/sbin/nologin {app}; mkdir -m 777 {w}; "
        f"echo '{asked} ALL=({app}) NOPASSWD: ALL' > /etc/sudoers.d/{asked}",
    )
    inventory = fleet.inventory_of({"node": {"node": 0, "ansible_user": asked, "app": app}})
    play = fleet.write(
        "site.yml",
        f"""
- hosts: all
  gather_facts: false
  tasks:
    - name: mine
      copy: {{dest: {w}/mine, content: x}}
    - name: conf
      copy: {{dest: {w}/conf, content: x}}
      become: true
      become_user: "{{{{ app }}}}"
      notify: restart
    - name: each
      file: {{path: "{w}/by-{{{{ item }}}}", state: directory}}
      become: true
      become_user: "{{{{ item }}}}"
      loop: ["{{{{ app }}}}", {asked}]
    - name: breaks
      command: "{{{{ 'true' if quick | default(false) | bool else 'false' }}}}"
  handlers:
    - name: restart
      command: touch {w}/restarted
      become: true
      become_user: "{{{{ app }}}}"
""",
    )
    plan = fleet("plan", play, "-e", "quick=true", inventory=inventory)
    assert plan.code == 0, plan.all
    assert "steps before it run as another account" in plan.out
    assert fleet("apply", play, inventory=inventory).code == 2
    done = fleet("apply", play, "-e", "quick=true", "--format", "json", inventory=inventory)
    assert done.code == 0, done.all
    assert done.step("restart")["status"] == "changed"
    owners = fleet.on(0, f"stat -c '%n %U' {w}/*").replace(f"{w}/", "").splitlines()
    assert owners == [f"by-{app} {app}", f"by-{asked} {asked}", f"conf {app}", f"mine {asked}", f"restarted {app}"]
    again = fleet("apply", play, "-e", "quick=true", "--format", "json", inventory=inventory)
    assert again.document["hosts"]["node"]["changed"] == 1, again.all

    refused = fleet("apply", play, "-e", "quick=true app=root", inventory=inventory)
    assert refused.code == 4, refused.all
    assert "sudo needs a password to become root" in refused.out, refused.all
