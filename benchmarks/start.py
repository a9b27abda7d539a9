"""What it costs to start agents: N hosts at once, against the floor of N times ``ssh HOST sudo python3 -c pass``.

    python benchmarks/start.py admin@172.17.0.2 admin@172.17.0.3 -i KEY [-n 10] [--rounds 5] [--module ping]

Hosts are used in turn until there are N. Every host key must be known, and sudo must not ask for a password.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from provisioner.ports import Become, Step, Target  # noqa: E402 - the checkout's package, not an installed one
from provisioner.project.sources import ModuleSources  # noqa: E402
from provisioner.schema.registry import Registry  # noqa: E402
from provisioner.transport.connect import Connector  # noqa: E402


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="+", metavar="USER@HOST")
    parser.add_argument("-i", dest="key", help="private key file")
    parser.add_argument("-n", dest="number", type=int, default=10, help="hosts at once (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements, of which the median is shown (%(default)s)")
    parser.add_argument("--module", default="ping", help="module to run in each agent (%(default)s)")
    parser.add_argument("--ssh-args", default="", help="options for ssh, in both measurements")
    given = parser.parse_args()

    hosts = [given.hosts[number % len(given.hosts)] for number in range(given.number)]
    targets = [target_of(host, given.key, given.ssh_args) for host in hosts]
    connect = Connector(ModuleSources(Registry()))

    def agent(target: Target) -> None:
        started = connect(target, "plan")
        started.run([Step(1, given.module, {})], lambda reply: None)
        started.close()

    def ssh(host: str) -> None:
        key = ["-i", given.key] if given.key else []
        subprocess.run(["ssh", "-o", "BatchMode=yes", *key, *shlex.split(given.ssh_args), host, "sudo python3 -c pass"], check=True)

    warm = connect(targets[0], "apply")  # leaves compiled code, as the first apply of a fleet does
    warm.run([Step(1, given.module, {})], lambda reply: None)
    warm.close()
    with ThreadPoolExecutor(given.number) as pool:
        floor = median(given.rounds, lambda: list(pool.map(ssh, hosts)))
        ours = median(given.rounds, lambda: list(pool.map(agent, targets)))
        one = median(given.rounds, lambda: agent(targets[0]))
    print(f"floor, ssh HOST sudo python3 -c pass, {given.number} at once:  {floor:.3f} s")
    print(f"agents started and {given.module} run, {given.number} at once:  {ours:.3f} s  = {ours / floor:.2f} x the floor")
    print(f"one agent alone:  {one:.3f} s")


def median(rounds: int, work: Callable[[], object]) -> float:
    """The median time of some rounds after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def target_of(host: str, key: str | None, ssh_args: str) -> Target:
    """A target that becomes root."""
    user, _, address = host.rpartition("@")
    return Target(host, address=address, user=user or None, private_key_file=key, ssh_args=ssh_args, become=Become())


if __name__ == "__main__":
    main()
