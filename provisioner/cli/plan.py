"""``provision plan``: what an apply would change."""

from __future__ import annotations

from pathlib import Path

import click

from provisioner.cli.options import PLAYING, Choices, form, shared


@click.command("plan")
@shared(*PLAYING, form("text", "md", "json", "html"))
@click.option("-o", "--out", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Save the plan for apply.")
@click.option("--detailed-exitcode", "detailed", is_flag=True, help="End with 0 nothing to do, 2 changes, 1 error, 4 unreachable.")
@click.argument("inventory", required=False)
@click.argument("playbooks", nargs=-1, metavar="[PLAYBOOK]...")
def command(choices: Choices, inventory: str | None, playbooks: tuple[str, ...], out: Path | None, detailed: bool) -> int:
    """Show what "apply" would change on the hosts of INVENTORY, and change nothing.

    \b
    +  comes into being    ~  becomes different    -  goes away
    !  is done (a command, a restart)              ?  may turn out to be unnecessary
    """
    from provisioner.cli.execution import plan
    from provisioner.cli.listing import list_or_check
    from provisioner.cli.stage import Stage

    stage, named = Stage.open_with(choices, inventory, playbooks)
    if choices.list_hosts or choices.list_tasks or choices.list_tags or choices.syntax_check:
        return list_or_check(stage, named)
    return plan(stage, named, choices.form, detailed=detailed, out=out)
