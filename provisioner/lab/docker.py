"""Nodes as containers of Docker or Podman: the same root and first process, run by an engine that is already there."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import subprocess
import time
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab import cgroups, network
from provisioner.lab.image import Progress, ensure
from provisioner.lab.layer import Layer
from provisioner.lab.model import Lab, Node
from provisioner.lab.rootfs import INIT
from provisioner.lab.seed import Seed
from provisioner.lab.tools import call, missing, succeeds

CONTAINER_OPTIONS: tuple[str, ...] = (
    "--restart=always",
    "--tty",
    "--cap-add=SYS_ADMIN",
    "--cap-add=NET_ADMIN",
    "--cap-add=SYS_PTRACE",
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--cgroupns=private",
    "--tmpfs=/run:exec,mode=755",
    "--tmpfs=/run/lock",
    "--tmpfs=/tmp:exec,mode=1777",
)
"""What systemd needs in a container, short of --privileged; ``always`` is what makes a reboot inside come back."""

_LABEL = "provision.lab"
_LOG = Path("/var/log/provision-dockerd.log")


class Engine:
    """Docker, or Podman, which takes the same words."""

    def __init__(self, name: str = "docker") -> None:
        self.name = name

    def unusable(self) -> str:
        """Why this machine cannot run it, or an empty text."""
        if shutil.which(self.name) is None:
            return f"{self.name} is not installed"
        try:
            done = subprocess.run([self.name, "info"], capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            return f"{self.name} info does not answer"
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            return lines[-1] if lines else f"{self.name} info fails"
        if self.name == "podman" and _mixed_cgroups() and shutil.which("runc") is None:
            return "this machine has old and new cgroups side by side, with which podman needs runc (apt install runc)"
        return ""

    def prepare(self, lab: Lab, base: Path, say: Progress) -> Path:
        """The shared root, imported into the engine, and the lab's network; returns the root."""
        if lab.suite == "machine":
            raise ProvisionError(
                "a container needs an image", why="--suite machine shares this machine's own root", help="use --backend nspawn"
            )
        root = ensure(lab.suite, base, say)
        self.image(root, say)
        wanted = f"provision-lab-{lab.name}"
        if not succeeds(self.name, "network", "inspect", wanted):
            network.check_free(lab)
            call(
                self.name,
                "network",
                "create",
                f"--subnet={lab.subnet}",
                f"--gateway={lab.gateway}",
                f"--label={_LABEL}={lab.name}",
                *((f"--opt=com.docker.network.bridge.name={lab.bridge}",) if self.name == "docker" else ()),
                wanted,
            )
        return root

    def image(self, root: Path, say: Progress) -> str:
        """The engine's image of a built root; imported on first use."""
        tag = f"provision-lab:{root.name}"
        if not succeeds(self.name, "image", "inspect", tag):
            say(f"importing {root.name} into {self.name}")
            tar = subprocess.Popen(["tar", "--directory", str(root), "--create", "."], stdout=subprocess.PIPE)
            done = subprocess.run([self.name, "import", "-", tag], stdin=tar.stdout, capture_output=True, text=True)
            if tar.wait() != 0 or done.returncode != 0:
                raise ProvisionError(f"{self.name} cannot import the image", why=done.stderr.strip()[-400:])
            self.remove_unused(root.name.partition("-")[0], keep=tag)
        return tag

    def remove_unused(self, suite: str = "", *, keep: str = "") -> None:
        """Drop the engine's copies of images of a suite, or of all; one that a container stands on stays."""
        listed = call(self.name, "image", "ls", "--format={{.Repository}}:{{.Tag}}", "--filter=reference=*provision-lab").split()
        for tag in listed:
            if tag != keep and tag.rpartition(":")[2].startswith(f"{suite}-" if suite else ""):
                succeeds(self.name, "image", "rm", tag)  # refused where it is in use

    def start(self, lab: Lab, node: Node, root: Path, seed: Seed) -> None:
        """Create, furnish and boot a node that does not exist."""
        self._create(lab, node, root)
        layer = Layer(root, lab.folder / "nodes" / str(node.index))
        layer.mount()
        try:
            seed(layer.root)
            self._copy(lab, node, layer)
        finally:
            layer.remove()
        call(self.name, "start", _container(lab, node))

    def _create(self, lab: Lab, node: Node, root: Path) -> None:
        # Podman's own choice, crun, refuses a machine that has old and new cgroups side by side.
        runtime = ["--runtime=runc"] if self.name == "podman" and _mixed_cgroups() else []
        call(
            self.name,
            *runtime,
            "create",
            f"--name={_container(lab, node)}",
            f"--hostname={node.name}",
            f"--label={_LABEL}={lab.name}",
            f"--network=provision-lab-{lab.name}",
            f"--ip={node.address}",
            *(_podman_options() if self.name == "podman" else ()),
            *CONTAINER_OPTIONS,
            self.image(root, lambda _: None),
            INIT,
        )

    def _copy(self, lab: Lab, node: Node, layer: Layer) -> None:
        """The layer's content into the container; an engine cannot be told of files that are to be absent."""
        for folder, _, files in os.walk(layer.upper):
            for file in files:
                path = Path(folder, file)
                if stat.S_ISCHR(path.lstat().st_mode):
                    raise ProvisionError(
                        f"/{path.relative_to(layer.upper)} was removed from the node's root",
                        why=f"{self.name} can add files to an image but not take them away",
                        help="use --backend nspawn",
                    )
        tar = subprocess.Popen(["tar", "--directory", str(layer.upper), "--create", "."], stdout=subprocess.PIPE)
        keep_owners = ["--archive=false"] if self.name == "podman" else []
        done = subprocess.run(
            [self.name, "cp", *keep_owners, "-", f"{_container(lab, node)}:/"], stdin=tar.stdout, capture_output=True, text=True
        )
        if tar.wait() != 0 or done.returncode != 0:
            raise ProvisionError(f"{self.name} cannot furnish {node.name}", why=done.stderr.strip()[-400:])

    def running(self, lab: Lab, node: Node) -> bool:
        """Whether the container is up, or coming back from a reboot."""
        states = ("running", "restarting")
        done = subprocess.run(
            [self.name, "container", "inspect", "--format={{.State.Status}}", _container(lab, node)], capture_output=True, text=True
        )
        return done.returncode == 0 and done.stdout.strip() in states

    def console(self, lab: Lab, node: Node) -> str:
        """The last the node said before it had a network."""
        done = subprocess.run([self.name, "logs", "--tail=15", _container(lab, node)], capture_output=True, text=True)
        return (done.stdout + done.stderr).strip()

    def stop(self, lab: Lab, node: Node) -> None:
        """Remove every trace of a node; also of one whose start was killed half-way."""
        self._remove([_container(lab, node)])
        Layer(Path("/"), lab.folder / "nodes" / str(node.index)).remove()

    def clean(self, lab: Lab) -> None:
        """Remove the network, and containers of the lab that no record mentions."""
        found = call(self.name, "ps", "--all", "--quiet", f"--filter=label={_LABEL}={lab.name}").split()
        self._remove(found)
        for folder in sorted((lab.folder / "nodes").glob("*")):
            Layer(Path("/"), folder).remove()
        wanted = f"provision-lab-{lab.name}"
        if succeeds(self.name, "network", "inspect", wanted):
            call(self.name, "network", "rm", wanted)

    def _remove(self, containers: list[str]) -> None:
        present = [item for item in containers if succeeds(self.name, "container", "inspect", item)]
        if present:
            call(self.name, "rm", "--force", "--volumes", *present)


def _container(lab: Lab, node: Node) -> str:
    return f"provision-{lab.name}-{node.index}"


def _mixed_cgroups() -> bool:
    return len(cgroups.hierarchies()) > 1


def _podman_options() -> list[str]:
    """What Podman alone needs; its default limits are more than a root without CAP_SYS_RESOURCE may ask for."""
    files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65536)
    processes = min(resource.getrlimit(resource.RLIMIT_NPROC)[1] // 2, 32768)
    # Its own arrangements for systemd would hide ours.
    return ["--systemd=false", "--cap-add=AUDIT_WRITE", f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"]


def ensure_engine(*, within: float = 30) -> str:
    """Make sure that Docker answers: start ``dockerd`` where it is installed and nothing else starts it.

    Returns what was done, for a log: ``"answers"`` or ``"started, log in PATH"``. Raises ProvisionError when it is not installed or does
    not come up within ``within`` seconds. Meant for test set-ups and CI; ``lab up`` never starts a daemon by itself.
    """
    if shutil.which("dockerd") is None and shutil.which("docker") is None:
        raise missing("docker.io")
    if not Engine().unusable():
        return "answers"
    if shutil.which("dockerd") is None:
        raise missing("docker.io")
    if os.geteuid() != 0:
        raise ProvisionError("dockerd must be started by root", help="run it as root, or start Docker yourself")
    with _LOG.open("ab") as log:
        daemon = subprocess.Popen(["dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not Engine().unusable():
            daemon.returncode = 0  # it outlives this program on purpose
            return f"started, log in {_LOG}"
        if daemon.poll() is not None:
            break
        time.sleep(0.2)
    tail = _LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
    raise ProvisionError("dockerd does not come up", why="\n".join(tail), help=f"see {_LOG}")


def describe(engine: Engine) -> str:
    """The engine and its version, for people."""
    data = json.loads(call(engine.name, "version", "--format={{json .}}"))
    server = data.get("Server") or data.get("Client") or {}
    return f"{engine.name} {server.get('Version', '?')}"
