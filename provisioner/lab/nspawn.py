"""Nodes as systemd-nspawn containers of this machine: no engine, no daemon, and a root that costs nothing until it is written to.

Where this machine runs systemd, each node is a transient unit; where it does not (a container, a small cloud image), a loop of shell
keeps the node: systemd-nspawn ends with code 133 when the node asked for a reboot.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab import cgroups, network
from provisioner.lab.image import Progress, ensure
from provisioner.lab.layer import Layer
from provisioner.lab.model import Lab, Node
from provisioner.lab.rootfs import INIT
from provisioner.lab.seed import Seed
from provisioner.lab.tools import call, lacking, succeeds

_REBOOT = 133
_TOOLS = ("systemd-nspawn", "ip", "mount")
_ENVIRONMENT = {
    # A server of today has only the unified tree, whatever this machine has.
    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
    # The node's first process shadows what must not be written, so that the rest can be.
    "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
}


class Nspawn:
    """The default backend."""

    name = "nspawn"

    def unusable(self) -> str:
        """Why this machine cannot run it, or an empty text."""
        absent = lacking(_TOOLS)
        if absent:
            return f"{', '.join(absent)} not installed (apt install systemd-container iproute2)"
        trees = cgroups.hierarchies()
        if not trees:
            return "no cgroup tree that systemd could use is mounted"
        closed = [str(tree) for tree in trees if not os.access(tree, os.W_OK)]
        if closed and not _under_systemd():
            return f"{', '.join(closed)} cannot be written"
        if not succeeds("unshare", "--mount", "true"):
            return "this machine does not let root make namespaces"
        return ""

    def prepare(self, lab: Lab, base: Path, say: Progress) -> Path:
        """The shared root and the bridge; returns that root."""
        root = Path("/") if lab.suite == "machine" else ensure(lab.suite, base, say)
        network.check_free(lab)
        network.ensure_bridge(lab)
        if lacking(["iptables"]):
            say("iptables is not installed: the nodes reach this machine and each other, but no package archive outside")
        return root

    def start(self, lab: Lab, node: Node, root: Path, seed: Seed) -> None:
        """Boot a node that does not exist."""
        layer = Layer(root, _folder(lab, node))
        layer.mount()
        seed(layer.root)
        command = _command(node, layer.root, network.attach(lab, node))
        if _under_systemd():
            _start_unit(node.name, command)
        else:
            _start_loop(node.name, command, layer.folder / "console.log")

    def running(self, lab: Lab, node: Node) -> bool:
        """Whether the node's machine is there, booted or booting."""
        if _under_systemd():
            return succeeds("systemctl", "is-active", "--quiet", _unit(lab.node_name(node.index)))
        return cgroups.populated(lab.node_name(node.index))

    def console(self, lab: Lab, node: Node) -> str:
        """The last the node said before it had a network."""
        if _under_systemd():
            return call("journalctl", "--no-pager", "-n", "15", "-o", "cat", "-u", _unit(lab.node_name(node.index)))
        path = _folder(lab, node) / "console.log"
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]) if path.exists() else ""

    def stop(self, lab: Lab, node: Node) -> None:
        """Remove every trace of a node; also of one whose start was killed half-way."""
        if _under_systemd():
            for verb in (("kill", "--signal=KILL"), ("stop",), ("reset-failed",)):
                succeeds(
                    "systemctl", *verb, _unit(lab.node_name(node.index))
                )  # each fails where there is no such unit: then there is nothing to do
        else:
            cgroups.kill(node.name)
        network.detach(lab, node)
        Layer(Path("/"), _folder(lab, node)).remove()

    def clean(self, lab: Lab) -> None:
        """Remove what the nodes shared, and nodes that no record mentions."""
        recorded = {node.index for node in lab.nodes}
        folder = lab.folder / "nodes"
        strays = {int(path.name) for path in folder.glob("*") if path.name.isdigit()} - recorded
        for index in sorted(strays):
            self.stop(lab, Node(lab.node_name(index), index, lab.address(index), ""))
        network.remove_bridge(lab)
        if folder.exists():
            shutil.rmtree(folder)


def _folder(lab: Lab, node: Node) -> Path:
    return lab.folder / "nodes" / str(node.index)


def _under_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def _unit(name: str) -> str:
    return f"provision-lab-{name}.service"


def _command(node: Node, root: Path, space: str) -> list[str]:
    return [
        "systemd-nspawn",
        "--quiet",
        "--register=no",
        "--keep-unit",
        f"--machine={node.name}",
        f"--directory={root}",
        f"--network-namespace-path={space}",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--capability=all",
        "--console=read-only",
        "--kill-signal=SIGRTMIN+3",
        INIT,
    ]


def _start_unit(name: str, command: list[str]) -> None:
    properties = [
        "Delegate=yes",
        "KillMode=mixed",
        f"RestartForceExitStatus={_REBOOT}",
        f"SuccessExitStatus={_REBOOT}",
        "TimeoutStopSec=20",
    ]
    call(
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={_unit(name)}",
        *(f"--property={item}" for item in properties),
        *(f"--setenv={key}={value}" for key, value in _ENVIRONMENT.items()),
        *command,
    )


def _start_loop(name: str, command: list[str], log: Path) -> None:
    """Start the keeper and let go of it; keeper and node each get a group of their own, as the unified tree demands."""
    moves = {"keeper": "", "node": ""}
    for group in cgroups.groups(name):
        for part in moves:
            (group / part).mkdir(parents=True, exist_ok=True)
            moves[part] += f"echo $$ > {shlex.quote(str(group / part / 'cgroup.procs'))}; "
    inner = f"{moves['node']}exec {shlex.join(command)}"
    loop = f"{moves['keeper']}while :; do sh -c {shlex.quote(inner)}; code=$?; [ $code = {_REBOOT} ] || exit $code; done"
    with log.open("ab") as output:
        keeper = subprocess.Popen(
            ["sh", "-e", "-c", loop.replace("while :", "set +e; while :", 1)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            env={**os.environ, **_ENVIRONMENT},
        )
    if keeper.poll() is not None:
        raise ProvisionError(f"{name} did not start", why=log.read_text(encoding="utf-8", errors="replace")[-800:])
    keeper.returncode = 0  # it outlives this program on purpose
