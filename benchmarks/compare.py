"""Thirty tasks on N nodes where nothing needs to change: provision, Ansible, Mitogen, pyinfra, and the floor, in one run.

The floor is what no tool that logs in can beat by much: N parallel ``ssh HOST sudo python3 -c pass``. Numbers are ratios within this
run; seconds depend on the machine. Needs root (lab nodes) and the peers (``make peers``; PROVISION_PEERS names their folder).

    python benchmarks/compare.py [-n 10] [--repeat 5] [--skip ansible,pyinfra]
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAYBOOK = HERE / "playbook.yml"
LAB = "bench"
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


@dataclass
class Contestant:
    """One way to do the job: a command, its environment, how often it is run, and what came of it."""

    name: str
    argv: list[str]
    repeat: int
    environment: dict[str, str] = field(default_factory=dict)
    costs: list[Cost] = field(default_factory=list)
    note: str = ""

    @property
    def median(self) -> Cost:
        """The middle of all runs, each part by itself."""
        parts = [[getattr(cost, part.name) for cost in self.costs] for part in fields(Cost)]
        return Cost(*map(statistics.median, parts))


@dataclass(frozen=True)
class Cost:
    """What one run took: seconds on the clock, and of processor time on the controller and on all nodes together."""

    clock: float
    controller: float
    nodes: float


def run(argv: list[str], environment: dict[str, str] | None = None) -> tuple[Cost, subprocess.CompletedProcess[str]]:
    """Run a command; what it took and how it ended."""
    # Whoever forbids Python to keep compiled code would measure its compiler: the peers come compiled from their installer.
    env = {name: value for name, value in {**os.environ, **(environment or {})}.items() if name != "PYTHONDONTWRITEBYTECODE"}
    here, there, started = _processor(), nodes_processor(), time.perf_counter()
    done = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=ROOT, check=False)
    clock = time.perf_counter() - started
    time.sleep(0.2)  # sessions end on the nodes a moment after they do here
    return Cost(clock, _processor() - here, nodes_processor() - there), done


def _processor() -> float:
    """Processor seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def nodes_processor() -> float:
    """Processor seconds of all nodes of the lab so far, as the kernel counts them by control group."""
    found = [path for root in CGROUPS for path in Path(root).glob(f"provision-lab/{LAB}-*/cpu.stat")]
    return sum(int(path.read_text().split()[1]) for path in found) / 1e6


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
        cost, done = run(each.argv, each.environment)
        if done.returncode:
            each.note = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:120] if done.stderr or done.stdout else "failed"
            each.costs.clear()
            tell(f"{each.name}: failed: {each.note}")
            return
        if attempt:
            each.costs.append(cost)
    median = each.median
    tell(f"{each.name}: {median.clock:.2f} s, processor {median.controller:.2f} s here and {median.nodes:.2f} s on the nodes")


def table(done: list[Contestant], count: int) -> str:
    """A Markdown table of medians and ratios; processor time says more than the clock where others use the machine, too."""
    floor = next(each for each in done if each.name.startswith("floor"))
    ours = next(each for each in done if each.name == "provision")
    lines = [
        f"| 30 tasks, nothing to change, {count} nodes | seconds | × floor | × provision | processor: controller | nodes |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for each in done:
        if not each.costs:
            lines.append(f"| {each.name} | failed: {each.note} | | | | |")
            continue
        cost = each.median
        to_floor = f"{cost.clock / floor.median.clock:.1f}" if floor.costs else ""
        to_ours = f"{cost.clock / ours.median.clock:.1f}" if ours.costs else ""
        lines.append(f"| {each.name} | {cost.clock:.2f} | {to_floor} | {to_ours} | {cost.controller:.2f} | {cost.nodes:.2f} |")
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
