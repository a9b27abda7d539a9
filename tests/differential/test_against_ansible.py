"""The same playbooks by stock ansible-core and by us, on two fresh nodes: files, packages, users, units and task outcomes must agree.

Each file in ``playbooks/`` is a case. All run in one go on either node, since starting ansible-playbook forty times would take minutes;
each keeps to a folder of its own (``/srv/diff/NAME``), so a difference in the tree names its case. Outcomes are compared task by task.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioner import lab
from tests.differential import stock

HERE = Path(__file__).parent
PLAYBOOKS = sorted((HERE / "playbooks").glob("*.yml"))
NAME = "difftest"
ORDER = ["skipped", "ok", "changed", "failed", "unreachable"]
STEERING = ("include_tasks", "import_tasks", "include_role", "import_role", "meta", "add_host", "include_vars")
"""Actions of which each tool tells in its own way; what they bring about is compared all the same."""

# What a run leaves behind by nature: times, caches, and each tool's own traces.
SNAPSHOT = r"""
import hashlib, os, stat, sys, json
tops = ["/srv", "/etc", "/home", "/usr/local", "/var/spool/cron", "/opt", "/root"]
skipped = ("/etc/ld.so.cache", "/etc/mtab", "/etc/hostname", "/etc/hosts", "/etc/machine-id", "/etc/resolv.conf", "/etc/ssh")
skipped += ("/etc/.pwd.lock", "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/subuid", "/etc/subgid", "/etc/motd")
skipped += ("/root/.ansible", "/home/admin")
found = {}
for top in tops:
    for folder, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            if path.startswith(skipped):
                continue
            info = os.lstat(path)
            kind = stat.S_IFMT(info.st_mode)
            what = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            if stat.S_ISREG(info.st_mode):
                data = open(path, "rb").read()
                if path == "/etc/shadow":
                    # The day of the last password change depends on when the test runs.
                    data = b"\n".join(b":".join(l.split(b":")[:2]) for l in data.splitlines())
                if path.startswith("/var/spool/cron"):
                    # The crontab program, by which Ansible writes, puts a comment with the time at the head.
                    data = b"\n".join(l for l in data.splitlines() if not l.startswith((b"# DO NOT EDIT", b"# (")))
                what = data.decode("utf-8", "replace") if len(data) < 2000 else hashlib.sha256(data).hexdigest()
            mode = None if stat.S_ISLNK(info.st_mode) else oct(info.st_mode)
            found[path] = [mode, info.st_uid, info.st_gid, what]
json.dump(found, sys.stdout)
"""


@dataclass
class Side:
    """One node as a tool left it, and what the tool said of each task: (play, action, outcome)."""

    outcomes: list[tuple[str, str, str]]
    tree: dict[str, Any]
    packages: list[str]
    users: list[str]
    groups: list[str]
    units: list[str]


pytestmark = [
    pytest.mark.nodes,
    pytest.mark.peers,
    pytest.mark.skipif(os.geteuid() != 0, reason="lab nodes need root"),
    pytest.mark.skipif(stock.program() is None, reason="ansible-core is not installed (make peers)"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[list[str], Path]]]:
    """Two fresh nodes: how to reach each, and an inventory of its own in which it has the same name as the other."""
    made = lab.up(2, name=NAME)
    try:
        group = next(iter(yaml.safe_load(Path(made.inventory).read_text()).values()))
        found = []
        for index, node in enumerate(made.nodes):
            path = tmp_path_factory.mktemp(f"side{index}") / "inventory.yml"
            path.write_text(yaml.safe_dump({"gpu_nodes": {"hosts": {"node": group["hosts"][node.name]}, "vars": group["vars"]}}))
            found.append((lab.ssh_command(made, node, ["sudo", "bash", "-s"]), path))
        yield found
    finally:
        lab.down(NAME)


def run_stock(inventory: Path) -> list[tuple[str, str, str]]:
    # Pipelining only makes it faster.
    done = stock.run(inventory.parent, ["-i", str(inventory), *map(str, PLAYBOOKS)], {"ANSIBLE_PIPELINING": "1"})
    assert done.code == 0, done.output[-3000:]
    whole = [line for line in done.lines if "stats" not in line and line["item"] is None]
    outcomes = [(line["play"], short(line["action"]), line["state"].replace("ignored", "failed")) for line in whole]
    return [outcome for outcome in outcomes if outcome[1] not in STEERING]


def run_ours(inventory: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    command = [sys.executable, "-m", "provisioner", "apply", str(inventory), *map(str, PLAYBOOKS), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, json.loads(done.stdout) if done.stdout.startswith("{") else {}


def outcomes_of(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """One outcome a task, as stock tells it: the items of a loop are one, and it changed when one of them did."""
    found: list[tuple[str, str, str]] = []
    last: tuple[str, str] | None = None
    for step in document["steps"]:
        action = short(step["action"])
        if action in STEERING:
            continue
        key = (step["play"], step["source"])
        if last == key and step.get("item") is not None:
            play, name, before = found[-1]
            found[-1] = (play, name, max(before, step["status"], key=ORDER.index))
        else:
            found.append((step["play"], action, step["status"]))
        last = key
    return found


def short(action: str) -> str:
    return {"systemd_service": "systemd", "gather_facts": "setup"}.get(action.rpartition(".")[2], action.rpartition(".")[2])


def ask(reach: list[str], script: str) -> str:
    return subprocess.run(reach, input=script, capture_output=True, text=True, check=True).stdout


def look(reach: list[str], outcomes: list[tuple[str, str, str]]) -> Side:
    tree = json.loads(ask(reach, f"python3 - <<'END'\n{SNAPSHOT}\nEND\n"))
    packages = ask(reach, "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'").splitlines()
    units = ask(reach, "for u in diff-one diff-two diff-three cron; do echo $u $(systemctl is-active $u) $(systemctl is-enabled $u); done")
    users, groups = ask(reach, "getent passwd").splitlines(), ask(reach, "getent group").splitlines()
    return Side(outcomes, tree, sorted(packages), sorted(users), sorted(groups), units.splitlines())


@pytest.fixture(scope="module")
def sides(nodes: list[tuple[list[str], Path]]) -> tuple[Side, Side]:
    (stock_node, stock_inventory), (our_node, our_inventory) = nodes
    theirs = look(stock_node, run_stock(stock_inventory))
    done, document = run_ours(our_inventory)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return theirs, look(our_node, outcomes_of(document))


def test_there_are_enough_cases() -> None:
    assert len(PLAYBOOKS) >= 40


@pytest.mark.parametrize("case", [path.stem for path in PLAYBOOKS])
def test_the_trees_agree(case: str, sides: tuple[Side, Side]) -> None:
    prefix = f"/srv/diff/{case}"
    theirs, ours = ({path: entry for path, entry in side.tree.items() if path == prefix or path.startswith(prefix + "/")} for side in sides)
    assert theirs, "the case left nothing on the stock node"
    assert ours == theirs


@pytest.mark.parametrize("case", [path.stem for path in PLAYBOOKS])
def test_the_outcomes_agree(case: str, sides: tuple[Side, Side]) -> None:
    theirs, ours = ([(action, state) for play, action, state in side.outcomes if play == case] for side in sides)
    assert ours == theirs


def test_the_rest_of_the_tree_agrees(sides: tuple[Side, Side]) -> None:
    theirs, ours = ({path: entry for path, entry in side.tree.items() if not path.startswith("/srv/diff")} for side in sides)
    different = {path: (theirs.get(path), ours.get(path)) for path in sorted({*theirs, *ours}) if theirs.get(path) != ours.get(path)}
    assert different == {}


@pytest.mark.parametrize("what", ["packages", "users", "groups", "units"])
def test_the_systems_agree(what: str, sides: tuple[Side, Side]) -> None:
    theirs, ours = (getattr(side, what) for side in sides)
    assert ours == theirs
