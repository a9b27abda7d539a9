"""What it costs to read big inputs and to walk big fleets: seconds of processor time and memory, growing with their size.

    python benchmarks/loading.py [--sizes 1000,2000,5000,10000] [--only hosts,tasks,run]

hosts: a YAML inventory of N hosts in racks is read, matched with a pattern, and every host's variables are put together.
tasks: a playbook of N tasks in plays of 100 is read and checked (names, options, templates, handlers).
run:   the thirty tasks of ``playbook.yml`` are carried out on N/10 hosts whose nodes are played: answers come at once from this
       process, so what is left is the controller's own work.

Each size is measured in a process of its own. Seconds are of processor time, so that a busy machine does not spoil them; memory is what
the process grew by. The last columns say how the cost of one grows from the smallest size to this one: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

KINDS = ("hosts", "tasks", "run")
PER_RACK = 100
SHARE_OF_RUN = 10
"""The run is measured with a tenth of the hosts: they do thirty tasks each."""

Work = Callable[[], int]
"""What is measured; says how many it was that were handled."""


def fleet(folder: Path, count: int) -> Path:
    """A YAML inventory of ``count`` hosts in racks, three variables a host."""
    lines = ["all:", "  vars: {ansible_connection: ssh, site: here}", "  children:"]
    for number in range(count):
        if number % PER_RACK == 0:
            lines += [f"    rack{number // PER_RACK}:", f"      vars: {{rack: {number // PER_RACK}}}", "      hosts:"]
        lines += [f"        gpu{number:05}:", f"          ansible_host: 10.0.{number // 256}.{number % 256}", "          power_limit: 350"]
        lines += [f'          label: "{{{{ site }}}}-{number}"']
    path = folder / "fleet.yml"
    path.write_text("\n".join(lines) + "\n")
    return path


def playbook(folder: Path, count: int) -> Path:
    """A playbook of ``count`` tasks of five kinds, with loops, conditions and handlers."""
    lines: list[str] = []
    for number in range(count):
        if number % PER_RACK == 0:
            lines += ["- hosts: all", "  handlers:", "    - {name: reload, ansible.builtin.command: 'true'}", "  tasks:"]
        lines += [
            (
                f"    - name: Folder {number}\n      ansible.builtin.file: {{path: /srv/{number}, state: directory}}",
                f"    - name: File {number}\n      ansible.builtin.copy: {{dest: /srv/f{number}, content: 'x = {{{{ item }}}}'}}\n"
                "      loop: [1, 2]\n      notify: reload",
                f"    - name: Package {number}\n      ansible.builtin.apt: {{name: ['p{number}']}}\n      when: site == 'here'",
                f"    - name: Look {number}\n      ansible.builtin.stat: {{path: /srv/{number}}}\n      register: seen{number}",
                f"    - name: Service {number}\n      ansible.builtin.systemd: {{name: s{number}, state: started, enabled: true}}",
            )[number % 5]
        ]
    path = folder / "big.yml"
    path.write_text("\n".join(lines) + "\n")
    return path


def prepared(kind: str, folder: Path, count: int) -> Work:
    """What is to be measured, with its inputs written."""
    import provisioner

    if kind == "hosts":
        path = fleet(folder, count)
        from provisioner import inventory

        def read() -> int:
            known = inventory.load([path])
            return sum(bool(known.variables(name)) for name in known.match("all"))

        return read
    if kind == "tasks":
        path = playbook(folder, count)
        session = provisioner.load(fleet(folder, 10))

        def check() -> int:
            return sum(len(play.tasks) for book in session.read([path]) for play in book.plays)

        return check
    session = provisioner.load(fleet(folder, count // SHARE_OF_RUN))
    return lambda: played(session)


def played(session: Any) -> int:
    """Carry the thirty tasks out on hosts that are played; how many came to their end."""
    from provisioner.engine.options import Options
    from provisioner.engine.run import Run
    from provisioner.node.facts import gather
    from provisioner.ports import AgentInfo, Reply, Step, Target

    facts = json.dumps({f"ansible_{name}": value for name, value in gather(["all"]).items()})

    class Played:
        """A node on which everything is as it should be."""

        info = AgentInfo("3.11.2", "root", 0, "node", (), "admin")

        def run(self, steps: list[Step], on_reply: Callable[[Reply], None], **_more: Any) -> int:
            for step in steps:
                result: dict[str, Any] = {
                    "failed": False,
                    "changed": False,
                    "stat": {"exists": True},
                    "stdout": "6.1",
                    "rc": 0,
                    "matched": 1,
                }
                on_reply(Reply(step.id, result | ({"ansible_facts": json.loads(facts)} if step.module == "setup" else {})))
            return len(steps)

        def journal(self, **_more: Any) -> None: ...
        def close(self) -> None: ...

    def connect(_target: Target, _mode: str) -> Any:
        return Played()

    books = session.read([HERE / "playbook.yml"])
    run = Run(books, session.inventory, connect, session.loader, Options(mode="apply", forks=50), environment=session.environment)  # type: ignore[arg-type]  # nothing is asked of it but agents
    outcome = run.execute(lambda _event: None)
    assert outcome.exit_code == 0, [(step["task"], step["msg"]) for step in outcome.document["steps"] if step["status"] == "failed"][:1]
    return len(outcome.document["hosts"])


def measured(kind: str, count: int) -> dict[str, float]:
    """Seconds of processor time and MiB that one measurement took; run in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        work = prepared(kind, Path(scratch), count)
        prepared(kind, Path(scratch), PER_RACK)()  # imports and what is compiled once
        work = prepared(kind, Path(scratch), count)
        gc.collect()
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        handled = work()
        seconds = time.process_time() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"handled": handled, "seconds": seconds, "mebibytes": grown / 1024}


def table(kind: str, rows: dict[int, dict[str, float]]) -> str:
    """The measurements of one kind as a Markdown table."""
    unit = "hosts" if kind == "run" else kind
    lines = [f"| {kind} | {unit} | seconds | MiB | seconds a thousand | growth | memory growth |", "|---|---:|---:|---:|---:|---:|---:|"]
    first = next(iter(rows.values()))
    for row in rows.values():
        handled = row["handled"]
        each = row["seconds"] / handled
        growth = each / (first["seconds"] / first["handled"])
        memory = row["mebibytes"] / handled / max(first["mebibytes"] / first["handled"], 1e-9)
        lines.append(
            f"| | {handled:.0f} | {row['seconds']:.2f} | {row['mebibytes']:.0f} | {each * 1000:.3f} | {growth:.2f} | {memory:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,2000,5000,10000", help="how many (%(default)s)")
    parser.add_argument("--only", default=",".join(KINDS), help="what to measure (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each, of which the best counts (%(default)s)")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        gc.set_threshold(100_000, 50, 50)  # as the command sets it
        print(json.dumps(measured(given.one[0], int(given.one[1]))))
        return
    for kind in given.only.split(","):
        rows = {}
        for size in map(int, given.sizes.split(",")):
            command = [sys.executable, __file__, "--one", kind, str(size)]
            found = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(given.repeat)]
            rows[size] = {name: min(row[name] for row in found) for name in found[0]}
            print(f"{kind} {size}: {rows[size]['seconds']:.2f} s", file=sys.stderr, flush=True)
        print(table(kind, rows), end="\n\n")


if __name__ == "__main__":
    main()
