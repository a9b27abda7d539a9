"""``provision lab``: throw-away nodes on this machine."""

from __future__ import annotations

import json
import shutil
import sys

import click

from provisioner.errors import UsageError


@click.group()
def lab() -> None:
    """Throw-away nodes on this machine, with simulated GPUs.

    The nodes are real Debian servers with systemd, sshd and apt. Their GPUs and the NVIDIA package repository are a SIMULATION.
    """


@lab.command()
@click.option("-n", "--nodes", "count", type=int, default=2, show_default=True, metavar="N", help="How many nodes the lab has.")
@click.option("--name", default="lab", show_default=True, help="Name of the lab; its nodes are NAME-1, NAME-2, …")
@click.option("--suite", help="bookworm, trixie, bullseye, jammy, noble, or machine for this machine's own root.  [default: bookworm]")
@click.option("--backend", default="auto", show_default=True, help="nspawn, docker or podman; auto takes the first that works.")
@click.option("--gpus", metavar="BOARDS", help="Simulated boards of every node: '8xH100', '4xA100, T4', 'none'.  [default: 2xA100]")
def up(count: int, name: str, suite: str | None, backend: str, gpus: str | None) -> None:
    """Bring up nodes, or bring a lab to N nodes.

    Nodes that run stay as they are. Prints the path of an inventory with all of them; for the lab named "lab" with 2 nodes the
    checked-in inventory/lab.yml names the same hosts.
    """
    from provisioner.lab import operations

    made = operations.up(count, name=name, suite=suite, backend=backend, gpus=_boards(gpus), say=_say)
    for node in made.nodes:
        click.echo(f"{node.name}\t{node.address}")
    _say(f"next: provision apply {made.inventory}   or   provision lab ssh {made.nodes[0].name}")


@lab.command(short_help="Remove labs and everything they made on this machine.")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--all", "everything", is_flag=True, help="Every lab of this machine.")
@click.option("--purge", is_flag=True, help="Also delete the cached images.")
def down(names: tuple[str, ...], everything: bool, purge: bool) -> None:
    """Remove labs and everything they made on this machine; NAME is "lab" when none is given."""
    from provisioner.lab import operations

    if names and everything:
        raise UsageError("--all takes every lab, so it goes without names")
    wanted = [known.name for known in operations.list_labs()] if everything else names or ("lab",)
    for name in wanted:
        operations.down(name, say=_say)
    if purge:
        _say(f"deleted images: {', '.join(operations.purge()) or 'none'}")


@lab.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_(form: str) -> None:
    """List labs, their nodes and whether each runs."""
    from provisioner.lab import operations

    labs = operations.list_labs()
    if form == "json":
        document = [
            {
                "name": known.name,
                "backend": known.backend,
                "suite": known.suite,
                "inventory": str(known.inventory),
                "nodes": [
                    {"name": node.name, "address": node.address, "port": node.port, "running": operations.running(known)[node.name]}
                    for node in known.nodes
                ],
            }
            for known in labs
        ]
        click.echo(json.dumps({"schema": "provision.labs/1", "labs": document}, indent=2))
        return
    if not labs:
        _say("there is no lab; make one with: provision lab up -n 2")
    for known in labs:
        click.echo(f"{known.name}: {known.suite} with {known.backend}, inventory {known.inventory}")
        alive = operations.running(known)
        for node in known.nodes:
            click.echo(f"  {node.name:<12} {node.address:<15} {'running' if alive[node.name] else 'not running'}")


@lab.command(
    short_help="Open a shell on a node, or run a command there.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", help="The lab, where it cannot be told from the node's name.")
def ssh(node: str, command: tuple[str, ...], name: str | None) -> None:
    """Open a shell on NODE (lab-1, or just 1), or run COMMAND there; ends with its exit code."""
    from provisioner.lab import operations

    if shutil.which("ssh") is None:
        raise UsageError("ssh is not installed", help="apt install openssh-client")
    words = command[1:] if command[:1] == ("--",) else command
    sys.exit(operations.ssh(name or _lab_of(node), node, words))


def _lab_of(node: str) -> str:
    """The lab a node's name belongs to; the default lab for a bare number."""
    before, dash, number = node.rpartition("-")
    return before if dash and number.isdigit() else "lab"


def _boards(text: str | None) -> list[str] | None:
    """The boards as a list of words, one spelling for each way of saying the same."""
    if text is None:
        return None
    return [part for part in (part.strip() for part in text.split(",")) if part and part.lower() != "none"]


def _say(text: str) -> None:
    click.echo(text, err=True)


command = lab
