"""How often a run waits for the far end of a slow link: a proxy between controller and sshd holds every byte, 50 ms each way.

    python benchmarks/latency.py [--rounds 5] [--milliseconds 50]

Prints round trips: what logging in takes, and what a run of one batch in which nothing needs to change takes beyond it (budget: 4).
They are counted by the proxy, as the longest chain of pieces each of which was sent after the one before it had arrived; so the
machine's own speed does not matter. Needs root, for one lab node. Exits with 1 when the budget is broken.
"""

from __future__ import annotations

import argparse
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from provisioner import lab  # noqa: E402 - the checkout's package, not an installed one
from provisioner.ports import Target  # noqa: E402
from provisioner.transport.ssh import Connection  # noqa: E402

BUDGET = 4
LAB = "latency"
PLAY = """\
- hosts: all
  become: true
  gather_facts: false
  tasks:
    - file: {path: /srv/latency, state: directory}
    - copy: {dest: /srv/latency/a, content: a}
      notify: never
    - template: {src: b.j2, dest: /srv/latency/b}
    - lineinfile: {path: /srv/latency/a, line: a}
    - command: "true"
      changed_when: false
    - user: {name: root}
  handlers:
    - name: never
      command: "true"
"""


class Way:
    """One connection through the proxy. Each end has a clock in round trips: what it sends may depend on all that it has heard so far."""

    def __init__(self, near: socket.socket, far: socket.socket, delay: float) -> None:
        self.clocks = {near: 0.0, far: 0.0}
        self._near = near
        self._delay = delay
        self._over = False
        for source, sink in ((near, far), (far, near)):
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pieces: queue.Queue[tuple[float, float, bytes]] = queue.Queue()
            start(self._take, source, pieces)
            start(self._give, sink, pieces)

    @property
    def round_trips(self) -> float:
        """How often the controller may have waited for the far end until it closed the connection."""
        return self.clocks[self._near]

    def _take(self, source: socket.socket, pieces: queue.Queue[tuple[float, float, bytes]]) -> None:
        while True:
            try:
                piece = source.recv(1 << 16)
            except OSError:
                piece = b""
            self._over = self._over or (source is self._near and not piece)
            pieces.put((time.monotonic() + self._delay, self.clocks[source] + 0.5, piece))
            if not piece:
                return

    def _give(self, sink: socket.socket, pieces: queue.Queue[tuple[float, float, bytes]]) -> None:
        while True:
            due, clock, piece = pieces.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not self._over:
                self.clocks[sink] = max(self.clocks[sink], clock)
            try:
                if not piece:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(piece)
            except OSError:
                return  # the other end has gone, as it does when all is over


class Proxy:
    """Passes on what comes to its port, each piece ``delay`` seconds later; ``way`` is the last connection."""

    def __init__(self, address: str, delay: float) -> None:
        self.way: Way | None = None
        self._address = address
        self._delay = delay
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        start(self._serve)

    def _serve(self) -> None:
        while True:
            near, _ = self._server.accept()
            self.way = Way(near, socket.create_connection((self._address, 22)), self._delay)


def start(work: Callable[..., None], *arguments: object) -> None:
    """Do something in a thread of its own, for as long as this process lives."""
    threading.Thread(target=work, args=arguments, daemon=True).start()


class Link:
    """A node behind a proxy, and what is measured over it."""

    def __init__(self, found: lab.Lab, folder: Path, delay: float) -> None:
        node = found.nodes[0]
        self.proxy = Proxy(node.address, delay)
        port = self.proxy.port
        args = f"-F none -o UserKnownHostsFile={found.known_hosts} -o HostKeyAlias={node.address}"
        self.target = Target("node", address="127.0.0.1", port=port, user="admin", private_key_file=str(found.key), ssh_args=args)
        self.inventory = folder / f"hosts-{delay:g}"
        self.inventory.write_text(
            f"node ansible_host=127.0.0.1 ansible_port={port} ansible_user=admin ansible_ssh_private_key_file={found.key} "
            f"ansible_ssh_common_args='{args}'\n"
        )

    def login(self) -> None:
        """What ``ssh`` does before it starts a command."""
        Connection(self.target).close()

    def apply(self, play: Path) -> str:
        """A run; its summary."""
        argv = [sys.executable, "-m", "provisioner", "apply", str(self.inventory), str(play)]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        return next(line for line in done.stdout.splitlines() if line.startswith("SUMMARY"))

    def round_trips(self, rounds: int, work: Callable[[], object]) -> float:
        """The fewest of some rounds: on a busy machine one may send late, and so seem to have waited."""
        counts = []
        for _ in range(rounds):
            work()
            assert self.proxy.way is not None, "the work connects"
            counts.append(self.proxy.way.round_trips)
        return min(counts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="measurements, of which the least counts (%(default)s)")
    parser.add_argument("--milliseconds", type=float, default=50, help="how long every byte is held, each way (%(default)s)")
    given = parser.parse_args()
    found = lab.up(1, name=LAB, gpus=[])
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            play = folder / "site.yml"
            play.write_text(PLAY)
            (folder / "b.j2").write_text("b\n")
            link = Link(found, folder, given.milliseconds / 1000)
            link.apply(play)  # makes the changes
            login = link.round_trips(given.rounds, link.login)
            whole = link.round_trips(given.rounds, lambda: print(link.apply(play)))
    finally:
        lab.down(LAB)
    beyond = whole - login
    trip = f"{2 * given.milliseconds:g} ms"
    print(f"round trips of {trip}: login {login:g}, run {whole:g}, that is {beyond:g} beyond the login (budget {BUDGET})")
    raise SystemExit(beyond > BUDGET)


if __name__ == "__main__":
    main()
