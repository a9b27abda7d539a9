"""``up``, ``down``, ``list`` and ``ssh``: what people and programs do with labs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from provisioner.errors import ProvisionError, UsageError
from provisioner.lab import backends, image, keys, listing, machine, model, network, repository, seed, server, simulator, state
from provisioner.lab.backends import Backend
from provisioner.lab.docker import Engine
from provisioner.lab.image import Progress
from provisioner.lab.model import Lab, Node
from provisioner.lab.tools import disk_errors

_BOOT_DEADLINE = 90.0
_PARALLEL = 8
_GPUS = ("2xA100-SXM4-80GB",)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def _silent(_: str) -> None:
    """Progress that nobody wants to see."""


def up(
    count: int,
    *,
    name: str = model.DEFAULT,
    backend: str = "auto",
    suite: str | None = None,
    gpus: Sequence[str] | None = None,
    folder: Path | None = None,
    say: Progress = _silent,
) -> Lab:
    """Make the lab ``name`` have exactly ``count`` running nodes, and return it once every sshd lets people in.

    Nodes that run stay as they are; one that does not is made afresh; surplus ones are removed. Raises UsageError for what cannot be asked,
    ProvisionError for what this machine cannot do.

    - ``suite``: a Debian or Ubuntu suite, or ``machine`` for this machine's own root; default bookworm
    - ``gpus``: the simulated boards of every node, as ``["4xA100-SXM4-80GB", "T4"]``; default two A100, an empty list for none
    - ``folder``: the base of the state; default /var/lib/provision
    - ``say``: receives one line per step
    """
    model.check_name(name)
    model.check_count(count)
    _require_root("up")
    base = state.base_folder(folder)
    boards = None if gpus is None else (gpus,) if isinstance(gpus, str) else tuple(gpus)
    with disk_errors(base), state.locked(base, name):
        lab = _planned(base, name, backend, suite, boards)
        engine = backends.choose(lab.backend)
        lab = replace(lab, backend=engine.name)
        # From here on there is a record, so that down finds everything however this ends.
        lab.folder.mkdir(parents=True, exist_ok=True)
        state.save(lab)
        lab = _with_limits(lab, count)
        root = engine.prepare(lab, base, say)
        return _bring_up(lab, engine, root, base, count, say)


def _planned(base: Path, name: str, backend: str, suite: str | None, gpus: tuple[str, ...] | None) -> Lab:
    """The lab to converge to: the one that exists where nothing else is asked for, else a new one."""
    if name in state.names(base):
        lab = state.load(base, name)
        asked = {"backend": None if backend == "auto" else backend, "suite": suite, "gpus": gpus}
        for key, value in asked.items():
            if value is not None and value != getattr(lab, key):
                raise UsageError(
                    f"lab {name!r} exists with {key} {getattr(lab, key)!r}, not {value!r}",
                    help=f"provision lab down {name}, then up again; or give the new one another --name",
                )
        return lab
    suite = suite or "bookworm"
    if suite != "machine":
        machine.sources(suite)  # refuses an unknown suite before anything is touched
    taken = {other: state.load(base, other).network for other in state.names(base)}
    number = model.choose_network(name, taken)
    boards = _GPUS if gpus is None else gpus
    simulator.parse(", ".join(boards))  # as does an unknown board
    return Lab(name, state.lab_folder(base, name), backend, suite, number, gpus=boards)


def _with_limits(lab: Lab, count: int) -> Lab:
    """Raise this machine's limits, remembering the values from before the first time."""
    earlier = network.raise_limits(count)
    if earlier:
        lab = replace(lab, restore={**earlier, **lab.restore})
        state.save(lab)
    return lab


def _bring_up(lab: Lab, engine: Backend, root: Path, base: Path, count: int, say: Progress) -> Lab:
    """Remove what is surplus, start what is missing, wait for all, write the lists."""
    alive = _usable(lab, engine, [node for node in lab.nodes if node.index <= count])
    public_key = keys.ensure_user_key(lab)
    private: dict[int, str] = {}
    nodes: list[Node] = []
    for index in range(1, count + 1):
        if index in alive:
            nodes.append(alive[index])
            continue
        private[index], line = keys.pair(lab.node_name(index))
        nodes.append(Node(lab.node_name(index), index, lab.address(index), line))
    surplus = [node for node in lab.nodes if node.index > count]
    lab = lab.with_nodes(nodes)
    _each(surplus, lambda node: engine.stop(lab, node))
    state.save(lab)
    state.put(lab.known_hosts, keys.known_hosts(lab))
    served = _serve_repository(lab, base, say)
    state.put(lab.inventory, listing.text(lab, served.fingerprints))
    fresh = [node for node in nodes if node.index in private]
    if fresh:
        say(f"starting {len(fresh)} {lab.suite} node{'s' if len(fresh) > 1 else ''} with {engine.name}")

    def start(node: Node) -> None:
        engine.stop(lab, node)
        writer = seed.make(lab, node, public_key=public_key, host_key=private[node.index], simulate=_simulator(lab))
        engine.start(lab, node, root, writer)

    _each(fresh, start)
    _wait(lab, engine, fresh)
    return lab


def _usable(lab: Lab, engine: Backend, nodes: Sequence[Node]) -> dict[int, Node]:
    """Those nodes of an earlier ``up`` that still let their user in; one that is just rebooting gets the time for it."""
    end = time.monotonic() + 10
    found: dict[int, Node] = {}

    def check(node: Node) -> None:
        if engine.running(lab, node) and not _refusal(lab, node, end, engine):
            found[node.index] = node

    _each(nodes, check)
    return found


def _each(nodes: Sequence[Node], action: Callable[[Node], None]) -> None:
    """An action on many nodes at once; the first error is raised after all have ended."""
    with ThreadPoolExecutor(max_workers=_PARALLEL) as pool:
        for future in [pool.submit(action, node) for node in nodes]:
            future.result()


def _simulator(lab: Lab) -> seed.Seed:
    def install(root: Path) -> None:
        simulator.install(root, lab.gpus)

    return install


def _serve_repository(lab: Lab, base: Path, say: Progress) -> repository.Repository:
    folder = base / "repository"
    if not folder.exists():
        say("building the local NVIDIA repository once (a simulation of its layout)")
    built = repository.build(folder)
    server.start(lab, built.folder)
    return built


def _wait(lab: Lab, engine: Backend, nodes: Sequence[Node]) -> None:
    """Until every node lets its user in; ProvisionError with the console of the first that does not."""
    end = time.monotonic() + _BOOT_DEADLINE + 2 * len(nodes)

    def check(node: Node) -> None:
        reason = _refusal(lab, node, end, engine)
        if reason:
            raise ProvisionError(
                f"{node.name} did not come up at {node.address}",
                why="\n".join(filter(None, (reason, *_COLOURS.sub("", engine.console(lab, node)).splitlines()))),
                help=f"provision lab down {lab.name}, then try again; --backend docker or nspawn takes another way",
            )

    _each(nodes, check)


def _refusal(lab: Lab, node: Node, end: float, engine: Backend) -> str:
    """Wait for a login to work; why it does not, or an empty text. Given up early when the machine is gone."""
    login = [*ssh_command(lab, node, ("true",))]
    login[1:1] = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "LogLevel=ERROR"]
    checked = time.monotonic()
    while True:
        reason = "its sshd does not answer"
        if _answers(node):
            # sshd is there before people may log in: systemd refuses them until the boot is far enough.
            done = subprocess.run(login, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode == 0:
                return ""
            reason = done.stderr.strip()
        now = time.monotonic()
        if now > end:
            return reason
        if now - checked > 2:
            checked = now
            if not engine.running(lab, node):
                return "it ended while it booted"
        time.sleep(0.05)


def _answers(node: Node) -> bool:
    """Whether something at the node's port speaks as sshd does."""
    try:
        with socket.create_connection((node.address, node.port), timeout=2) as connection:
            connection.settimeout(5)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False  # refused, no route, or reset while it boots


def down(name: str = model.DEFAULT, *, folder: Path | None = None, say: Progress = _silent) -> None:
    """Remove a lab and everything it made on this machine but cached images; also one whose ``up`` was killed half-way.

    Raises UsageError when there is no such lab.
    """
    _require_root("down")
    base = state.base_folder(folder)
    with state.locked(base, name):
        lab = _recorded(base, name)
        say(f"removing {len(lab.nodes)} node{'' if len(lab.nodes) == 1 else 's'} of {name}")
        server.stop(lab)
        for engine in _engines(lab):
            _each(lab.nodes, lambda node, engine=engine: engine.stop(lab, node))  # type: ignore[misc]
            engine.clean(lab)
        _forget(lab)
    if not state.names(base):
        network.restore_limits(lab.restore)


def _recorded(base: Path, name: str) -> Lab:
    """The lab as recorded; where the record is damaged, one that has what follows from the name alone."""
    try:
        return state.load(base, name)
    except UsageError:
        raise
    except ProvisionError:
        return Lab(name, state.lab_folder(base, name), "auto", "bookworm", model.choose_network(name, {}))


def _forget(lab: Lab) -> None:
    """Delete the lab's folder, its record last: a down that is killed can then be run again."""
    for path in lab.folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lab.json":
            path.unlink()
    shutil.rmtree(lab.folder)


def _engines(lab: Lab) -> list[Backend]:
    """The lab's backend; every usable one when ``up`` was killed before it had chosen."""
    if lab.backend != "auto":
        return [backends.named(lab.backend)]
    return [engine for engine in map(backends.named, backends.NAMES) if not engine.unusable()]


def purge(*, folder: Path | None = None) -> list[str]:
    """Delete the cached images that no lab stands on, also the engines' copies, and the package repository when there is no lab.

    Returns the names of the deleted images.
    """
    _require_root("down")
    for name in ("docker", "podman"):
        engine = Engine(name)
        if not engine.unusable():
            engine.remove_unused()
    base = state.base_folder(folder)
    if not state.names(base) and (base / "repository").exists():
        shutil.rmtree(base / "repository")
    return image.remove_unused(base)


def list_labs(*, folder: Path | None = None) -> list[Lab]:
    """All labs of this machine, by name."""
    base = state.base_folder(folder)
    return [state.load(base, name) for name in state.names(base)]


def running(lab: Lab) -> dict[str, bool]:
    """For each node by name, whether its machine is there."""
    engine = backends.named(lab.backend)
    return {node.name: engine.running(lab, node) for node in lab.nodes}


def ssh_command(lab: Lab, node: Node, argv: Sequence[str] = ()) -> list[str]:
    """The ssh command line to a node; it uses nothing of the person's own configuration."""
    return [
        "ssh",
        "-F",
        "none",
        "-i",
        str(lab.key),
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        f"UserKnownHostsFile={lab.known_hosts}",
        "-o",
        "StrictHostKeyChecking=yes",
        "-p",
        str(node.port),
        f"{model.USER}@{node.address}",
        *(("--", *argv) if argv else ()),
    ]


def ssh(name: str, node: str, argv: Sequence[str] = (), *, folder: Path | None = None) -> int:
    """Run a command on a node of lab ``name``, or a shell, on this terminal; returns ssh's exit status."""
    lab = state.load(state.base_folder(folder), name)
    return subprocess.call(ssh_command(lab, lab.node(node), argv))


def _require_root(verb: str) -> None:
    if os.geteuid() != 0:
        raise ProvisionError(
            f"provision lab {verb} must be run by root",
            why="it makes mounts, network interfaces and containers",
            help=f"sudo provision lab {verb} …; the nodes can then be used without sudo",
        )
