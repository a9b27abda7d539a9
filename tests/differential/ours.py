"""Our own runs of language cases: the command line of ``provision apply``, in this process, with its events."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from provisioner.cli import apply
from provisioner.cli.options import Choices
from provisioner.cli.stage import Stage
from provisioner.errors import InputError
from provisioner.events import Event
from provisioner.project.sources import ModuleSources
from provisioner.transport.connect import Connector
from tests.differential.outcomes import Outcome, of_ours

LOCK_WAIT = 120.0
"""Seconds: every host of these tests is this machine, which other tests may hold at the moment."""


def run(folder: Path, arguments: Sequence[str]) -> Outcome:
    """Run ``site.yml`` of a folder, which must be the working directory."""
    context = apply.command.make_context("apply", [*arguments, "inventory.ini", "site.yml"])
    named = context.params["inventory"], context.params["playbooks"]
    choices = Choices(**{name: value for name, value in context.params.items() if name not in ("inventory", "playbooks", "form")})
    events: list[Event] = []
    try:
        stage, playbooks = Stage.open_with(choices, *named)
        options = stage.options("plan" if choices.check else "apply", "apply")
        read = stage.load(playbooks, options)
        connect = Connector(ModuleSources(stage.session.loader.context.registry), who="the tests", lock_wait=LOCK_WAIT)
        ready = stage.session.run(read, options, connect=connect)
    except InputError as error:
        sys.stderr.write(f"refused: {error}\n")
        return Outcome("refused")
    done = ready.execute(events.append)
    return of_ours(events, done.exit_code, done.document["hosts"], folder)
