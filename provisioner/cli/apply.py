"""``provision apply``: bring nodes to what the playbooks say, or carry out a saved plan."""

from __future__ import annotations

from pathlib import Path

import click

from provisioner.cli.options import PLAYING, Choices, form, shared
from provisioner.errors import UsageError


@click.command("apply")
@shared(*PLAYING, form("text", "json"))
@click.option("-C", "--check", is_flag=True, help="Change nothing, show what would change: as plan.")
@click.argument("inventory", required=False)
@click.argument("playbooks", nargs=-1, metavar="[PLAYBOOK]...")
def command(choices: Choices, inventory: str | None, playbooks: tuple[str, ...]) -> int:
    """Bring the hosts of INVENTORY to what the PLAYBOOKs say (playbooks/site.yml of its project by default).

    INVENTORY may also be a plan saved by "plan -o": then exactly that is done, or nothing if inputs or nodes have changed since.
    """
    from provisioner.cli.execution import apply, plan
    from provisioner.cli.listing import list_or_check
    from provisioner.cli.stage import Stage
    from provisioner.plan.store import looks_like_plan

    if inventory is not None and looks_like_plan(Path(inventory)):
        from provisioner.cli.saved import apply_saved

        if playbooks:
            raise UsageError("a saved plan knows its playbooks", help=f"provision apply {inventory}")
        return apply_saved(choices, Path(inventory))
    stage, named = Stage.open_with(choices, inventory, playbooks)
    if choices.list_hosts or choices.list_tasks or choices.list_tags or choices.syntax_check:
        return list_or_check(stage, named)
    if choices.check:
        return plan(stage, named, choices.form, detailed=False)
    return apply(stage, named)
