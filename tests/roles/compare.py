"""Public roles, unmodified, by stock ansible-core on one fresh node and by us on another: end states and second runs must agree.

    python tests/roles/compare.py SUITE.yml --checkouts FOLDER [--only id,id] [--report FILE] [--keep FOLDER]

SUITE.yml is a list: ``id``, ``roles``, ``vars``, ``groups``, ``playbook`` (instead of roles, below a checkout) and ``from``: role →
[repository, folder in it]. FOLDER holds a checkout of each repository as ``OWNER__NAME``. Nothing of them belongs to this repository, so a
machine that has none skips this. Needs root (lab nodes), and ansible-playbook with the collections the roles use ($PROVISION_PEERS).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from provisioner import lab

HERE = Path(__file__).parent
NAME = "roles"
LIMIT = 900
"""Seconds a run may take."""
RECAP = re.compile(r"ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)\s+skipped=(\d+)\s+rescued=(\d+)")
COUNTS = ("ok", "changed", "unreachable", "failed", "skipped", "rescued")
Counts = dict[str, int]


@dataclass
class Node:
    """One side: how to reach it, its inventory, and the words that only it has."""

    reach: list[str]
    inventory: Path
    words: list[str]

    def state(self) -> dict[str, Any]:
        """What the node looks like."""
        script = (HERE / "state.py").read_text("utf-8")
        arguments = " ".join(self.words)
        text = f"cat > /run/state.py <<'END_OF_SCRIPT'\n{script}\nEND_OF_SCRIPT\npython3 /run/state.py {arguments}; rm /run/state.py\n"
        done = subprocess.run(self.reach, input=text, capture_output=True, text=True, check=True, timeout=LIMIT)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@dataclass
class Outcome:
    """What came of one role."""

    name: str
    stock: list[Counts] = field(default_factory=list)
    ours: list[Counts] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def verdict(self) -> str:
        """One word: whether the role passes."""
        if self.trouble:
            return "failed"
        if self.differences:
            return "state"
        if any(counts.get("failed") or counts.get("unreachable") for counts in self.ours):
            return "failed"
        return "passed" if self.ours[1]["changed"] <= self.stock[1]["changed"] else "not idempotent"


def playbook_of(case: dict[str, Any], checkouts: Path, folder: Path) -> Path:
    """The playbook that applies the roles; the roles are links to the checkouts."""
    roles = folder / "roles"
    roles.mkdir(parents=True)
    if case.get("playbook"):
        owner, name, rest = str(case["playbook"]).split("/", 2)
        return checkouts / f"{owner}__{name}" / rest
    for role, (repository, inside) in case["from"].items():
        (roles / role).symlink_to((checkouts / repository.replace("/", "__") / inside).resolve())
    play = {"name": case["id"], "hosts": "all", "become": True, "vars": case.get("vars") or {}, "roles": case["roles"]}
    path = folder / "site.yml"
    path.write_text(yaml.safe_dump([play], sort_keys=False), "utf-8")
    return path


def nodes_of(case: dict[str, Any], made: Any, folder: Path) -> list[Node]:
    """Both nodes, each with an inventory in which it has the same name as the other."""
    group = next(iter(yaml.safe_load(Path(made.inventory).read_text("utf-8")).values()))
    found = []
    for index, node in enumerate(made.nodes):
        path = folder / f"inventory{index}.yml"
        host = {"node": group["hosts"][node.name]}
        groups = {name: {"hosts": {"node": None}} for name in case.get("groups", ())}
        path.write_text(yaml.safe_dump({"all": {"hosts": host, "vars": group["vars"], "children": groups}}), "utf-8")
        found.append(
            Node(lab.ssh_command(made, node, ["sudo", "bash", "-s"]), path, [node.name, group["hosts"][node.name]["ansible_host"]])
        )
    return found


def run_stock(node: Node, playbook: Path, log: Path) -> Counts:
    """A run by ansible-playbook; its recap."""
    program = shutil.which("ansible-playbook", path=os.pathsep.join((os.environ.get("PROVISION_PEERS", ""), os.environ.get("PATH", ""))))
    if program is None:
        raise SystemExit("ansible-playbook is not installed; name its folder in PROVISION_PEERS")
    environment = {
        **os.environ,
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_ALLOW_BROKEN_CONDITIONALS": "1",
        "ANSIBLE_ROLES_PATH": roles_path(playbook),
    }
    done = subprocess.run(
        [program, "-i", str(node.inventory), str(playbook)], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    log.write_text(done.stdout + done.stderr, "utf-8")
    recap = RECAP.search(done.stdout)
    if recap is None:
        raise RuntimeError(f"stock printed no recap, see {log}")
    return dict(zip(COUNTS, map(int, recap.groups()), strict=True))


def run_ours(node: Node, playbook: Path, log: Path) -> Counts:
    """A run by us; the counts of its only host."""
    command = [sys.executable, "-m", "provisioner", "apply", str(node.inventory), str(playbook), "--format", "json"]
    environment = {**os.environ, "ANSIBLE_ROLES_PATH": roles_path(playbook)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
    log.write_text(done.stdout + done.stderr, "utf-8")
    document = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    counts: Counts = document.get("hosts", {}).get("node", {})
    if not counts:
        raise RuntimeError(f"provision did not run, see {log}: {done.stderr.strip()[-600:]}")
    if counts["failed"]:
        wrong = [f"{step['task']}: {step['msg']}" for step in document["steps"] if step["status"] == "failed"]
        raise RuntimeError(wrong[-1][:600] if wrong else f"failed, see {log}")
    return counts


def roles_path(playbook: Path) -> str:
    """Where roles are: beside the playbook, and where a checkout keeps them."""
    return os.pathsep.join(str(path) for path in (playbook.parent / "roles", playbook.parent.parent.parent / "roles") if path.is_dir())


def differences(stock: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """What differs between two states, one line each."""
    found = []
    paths = sorted({*stock["files"], *ours["files"]})
    for path in paths:
        theirs, mine = stock["files"].get(path), ours["files"].get(path)
        if theirs != mine:
            found.append(f"{path}: stock {theirs and [*theirs[:3], theirs[3][:300]]}, ours {mine and [*mine[:3], mine[3][:300]]}")
    for kind in (kind for kind in stock if kind != "files"):
        found += [f"{kind}: only stock: {line}" for line in sorted({*stock[kind]} - {*ours[kind]})]
        found += [f"{kind}: only ours: {line}" for line in sorted({*ours[kind]} - {*stock[kind]})]
    return found


def compare(case: dict[str, Any], checkouts: Path, keep: Path, name: str) -> Outcome:
    """One role on two fresh nodes."""
    import time

    outcome = Outcome(case["id"])
    if any(each.name == name for each in lab.list_labs()):
        lab.down(name)  # what an earlier run left is not fresh
    made = lab.up(2, name=name, gpus=[])
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            playbook = playbook_of(case, checkouts, folder)
            theirs, mine = nodes_of(case, made, folder)
            for index in (1, 2):
                started = time.monotonic()
                outcome.stock.append(run_stock(theirs, playbook, keep / f"{case['id']}.stock{index}.log"))
                outcome.seconds.append(time.monotonic() - started)
                started = time.monotonic()
                outcome.ours.append(run_ours(mine, playbook, keep / f"{case['id']}.ours{index}.log"))
                outcome.seconds.append(time.monotonic() - started)
            outcome.differences = differences(theirs.state(), mine.state())
    except (RuntimeError, subprocess.SubprocessError) as error:
        outcome.trouble = str(error)
    finally:
        lab.down(name)
    return outcome


def row(outcome: Outcome) -> str:
    """A line of the report."""

    def told(counts: list[Counts]) -> str:
        return " / ".join(f"{each['ok']} ok {each['changed']} changed {each['skipped']} skipped" for each in counts) or "-"

    seconds = " / ".join(f"{each:.0f}" for each in outcome.seconds)
    return f"| {outcome.name} | {outcome.verdict} | {told(outcome.stock)} | {told(outcome.ours)} | {seconds} |"


def main() -> int:
    """Run the cases; 1 when one does not pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--only", default="", help="ids, between commas")
    parser.add_argument("--report", type=Path, help="append the table here")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "provision-roles", help="logs of the runs")
    parser.add_argument("--lab", default=NAME, help="name of the lab")
    chosen = parser.parse_args()
    chosen.keep.mkdir(parents=True, exist_ok=True)
    wanted = set(filter(None, chosen.only.split(",")))
    passed = True
    for case in yaml.safe_load(chosen.suite.read_text("utf-8")):
        if wanted and case["id"] not in wanted:
            continue
        outcome = compare(case, chosen.checkouts, chosen.keep, chosen.lab)
        passed = passed and outcome.verdict == "passed"
        lines = [row(outcome), *(f"    {line}" for line in (outcome.trouble, *outcome.differences) if line)]
        print("\n".join(lines), flush=True)
        if chosen.report:
            with chosen.report.open("a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
