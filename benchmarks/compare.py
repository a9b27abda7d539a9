"""Thirty tasks on N nodes where nothing needs to change: provision, Ansible, Mitogen, pyinfra, and the floor, in one run.

The floor is what no tool that logs in can beat by much: N parallel ``ssh HOST sudo python3 -c pass``. Numbers are ratios within this
run; seconds depend on the machine. Needs root (lab nodes) and the peers (``make peers``; PROVISION_PEERS names their folder).

    python benchmarks/compare.py [-n 10] [--repeat 5] [--skip ansible,pyinfra]
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAYBOOK = HERE / "playbook.yml"
LAB = "bench"


@dataclass
class Contestant:
    """One way to do the job: a command, its environment, how often it is run, and what came of it."""

    name: str
    argv: list[str]
    repeat: int
    environment: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    note: str = ""

    @property
    def median(self) -> float:
        """The middle of all runs."""
        return statistics.median(self.seconds)


def run(argv: list[str], environment: dict[str, str] | None = None) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run a command; wall-clock seconds and how it ended."""
    started = time.perf_counter()
    done = subprocess.run(argv, env={**os.environ, **(environment or {})}, capture_output=True, text=True, cwd=ROOT, check=False)
    return time.perf_counter() - started, done


def lab(count: int) -> Path:
    """Bring the nodes up and return their inventory."""
    provision = [sys.executable, "-m", "provisioner", "lab"]
    subprocess.run([*provision, "down", LAB], check=False, capture_output=True)
    subprocess.run([*provision, "up", "-n", str(count), "--name", LAB], check=True, stdout=sys.stderr)
    return Path(os.environ.get("PROVISION_STATE", "/var/lib/provision")) / "labs" / LAB / "inventory.yml"


def ssh_line(inventory: Path) -> tuple[list[str], list[str]]:
    """ssh options that all hosts of the lab share, and their addresses."""
    groups = yaml.safe_load(inventory.read_text())
    group = next(iter(groups.values()))
    folder = inventory.parent
    options = ["-i", str(folder / "id_ed25519"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}", "-o", "BatchMode=yes", "-l", "admin"]
    return options, [host["ansible_host"] for host in group["hosts"].values()]


def contestants(inventory: Path, peers: Path, repeat: int, scratch: Path) -> list[Contestant]:
    options, addresses = ssh_line(inventory)
    ssh = shlex.join(["ssh", *options])
    floor = " & ".join(f"{ssh} {address} sudo python3 -c pass" for address in addresses) + " & wait"
    hosts = scratch / "pyinfra_inventory.py"
    key, known = inventory.parent / "id_ed25519", inventory.parent / "known_hosts"
    data = {"ssh_user": "admin", "ssh_key": str(key), "ssh_known_hosts_file": str(known), "ssh_strict_host_key_checking": "yes"}
    hosts.write_text(f"hosts = {[(address, data) for address in addresses]!r}\n")
    ansible = [str(peers / "ansible-playbook"), "-i", str(inventory), "-f", str(len(addresses)), str(PLAYBOOK)]
    quiet = {"ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_NOCOWS": "1", "ANSIBLE_LOCALHOST_WARNING": "0"}
    mitogen = subprocess.run(
        [str(peers / "python"), "-c", "import ansible_mitogen, os; print(os.path.dirname(ansible_mitogen.__file__))"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return [
        Contestant("floor: parallel ssh HOST sudo python3 -c pass", ["bash", "-c", floor], repeat),
        Contestant("provision", [sys.executable, "-m", "provisioner", "apply", str(inventory), str(PLAYBOOK)], repeat),
        Contestant("pyinfra", [str(peers / "pyinfra"), "-y", str(hosts), str(HERE / "pyinfra_deploy.py")], max(1, repeat // 2)),
        Contestant(
            "Ansible with Mitogen",
            ansible,
            max(1, repeat // 2),
            {**quiet, "ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": f"{mitogen}/plugins/strategy"},
        ),
        Contestant("Ansible with pipelining", ansible, max(1, repeat // 3), {**quiet, "ANSIBLE_PIPELINING": "1"}),
        Contestant("Ansible", ansible, max(1, repeat // 3), quiet),
    ]


def measure(each: Contestant, tell: Callable[[str], None]) -> None:
    """Run a contestant once to warm up, then as often as it asks for; a failing one is set aside with its last words."""
    for attempt in range(each.repeat + 1):
        seconds, done = run(each.argv, each.environment)
        if done.returncode:
            each.note = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:120] if done.stderr or done.stdout else "failed"
            each.seconds.clear()
            tell(f"{each.name}: failed: {each.note}")
            return
        if attempt:
            each.seconds.append(seconds)
    tell(f"{each.name}: {each.median:.2f} s")


def table(done: list[Contestant], count: int) -> str:
    """A Markdown table of medians and ratios."""
    floor = next(each for each in done if each.name.startswith("floor"))
    ours = next(each for each in done if each.name == "provision")
    lines = [f"| 30 tasks, nothing to change, {count} nodes | seconds | × floor | × provision |", "|---|---:|---:|---:|"]
    for each in done:
        if not each.seconds:
            lines.append(f"| {each.name} | failed: {each.note} | | |")
            continue
        to_floor = f"{each.median / floor.median:.1f}" if floor.seconds else ""
        to_ours = f"{each.median / ours.median:.1f}" if ours.seconds else ""
        lines.append(f"| {each.name} | {each.median:.2f} | {to_floor} | {to_ours} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=10, help="how many nodes")
    parser.add_argument("--repeat", type=int, default=5, help="how often provision and the floor are run")
    parser.add_argument("--skip", default="", help="names (parts of them) to leave out, comma-separated")
    parser.add_argument("--keep", action="store_true", help="leave the nodes up")
    choice = parser.parse_args()
    peers = Path(os.environ.get("PROVISION_PEERS", ROOT / ".venv-peers" / "bin"))
    inventory = lab(choice.n)

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    try:
        tell("making the nodes as they should be")
        _seconds, done = run([sys.executable, "-m", "provisioner", "apply", str(inventory), str(PLAYBOOK)])
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            skipped = [word for word in choice.skip.lower().split(",") if word]
            everyone = contestants(inventory, peers, choice.repeat, Path(scratch))
            chosen = [each for each in everyone if not any(word in each.name.lower() for word in skipped)]
            for each in chosen:
                measure(each, tell)
        print(table(chosen, choice.n))
    finally:
        if not choice.keep:
            subprocess.run([sys.executable, "-m", "provisioner", "lab", "down", LAB], check=False, capture_output=True)


if __name__ == "__main__":
    main()
