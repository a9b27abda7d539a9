"""``provision``: finds the command, imports only that one, and turns its outcome into an exit code.

0 done · 1 bad input or usage · 2 a host failed · 3 refused, the plan is stale · 4 a host was unreachable · 130 interrupted
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from provisioner import __version__
from provisioner.cli import failures, interrupts
from provisioner.cli.process import prepare_streams, silence_streams
from provisioner.diagnostics import did_you_mean

COMMANDS: dict[str, tuple[str, str]] = {
    "apply": ("apply", "Bring nodes to what the playbooks say, or carry out a saved plan."),
    "plan": ("plan", "Show what an apply would change, and change nothing."),
    "show": ("show", "Render a saved plan or the record of a run."),
    "verify": ("verify", "Prove that nodes are as the playbooks say: an empty plan, then the roles' tests."),
    "facts": ("facts", "Show what is known of each node."),
    "explain": ("explain", "Show where the value of a variable comes from."),
    "run": ("run", "Run one module on nodes."),
    "inventory": ("inventory", "List hosts, groups and their variables."),
    "lint": ("lint", "Check playbooks without touching a node."),
    "modules": ("modules", "Reference of the modules."),
    "schema": ("schema", "JSON schema of playbooks, for editors."),
    "vault": ("vault", "Encrypt and decrypt files and values."),
    "lab": ("lab", "Throw-away nodes on this machine, with simulated GPUs."),
    "init": ("init", "Write a starter project."),
}
"""Name → module below ``provisioner.cli`` that holds it as ``command`` (or under its name), and its line in ``--help``."""


class LazyGroup(click.Group):
    """Knows its commands by name only and imports the one that is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Names, in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"provisioner.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, "command", None) or getattr(module, cmd_name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a hint for a misspelt command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS) or "the commands are " + ", ".join(COMMANDS)
            raise click.UsageError(f"there is no command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="provision")
def cli() -> None:
    """Turn bare Linux servers into production NVIDIA GPU nodes.

    Playbooks are written in Ansible's language. Most commands take an INVENTORY and, where none is named, run playbooks/site.yml of
    the project it belongs to.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and give its exit code; errors are shown, never raised."""
    prepare_streams()
    try:
        outcome = _invoke(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        silence_streams()
        return failures.BROKEN_PIPE
    except SystemExit:
        raise
    except BaseException as error:
        try:
            return failures.report(error)
        except BrokenPipeError:
            silence_streams()
            return failures.BROKEN_PIPE
    return outcome if isinstance(outcome, int) else 0


def _invoke(arguments: list[str]) -> object:
    """Run the command; click's own ``main`` would swallow interrupts and broken pipes, so it only serves shell completion."""
    if "_PROVISION_COMPLETE" in os.environ:
        return cli.main(args=arguments, prog_name="provision", complete_var="_PROVISION_COMPLETE")
    with cli.make_context("provision", arguments) as context:
        return cli.invoke(context)


def main() -> NoReturn:
    """Entry point of the console script."""
    # A run builds far more than it drops: looking for garbage every few hundred objects is a tenth of its time.
    gc.set_threshold(100_000, 50, 50)
    interrupts.watch()
    interrupts.leave(run())
