"""``provision verify``: an empty plan over fresh connections, then the tests beside the roles."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import SELECTION, TARGETING, Choices, form, shared

if TYPE_CHECKING:
    from provisioner.verify.cases import Case


@click.command("verify")
@shared(*TARGETING, *SELECTION, form("text", "json"))
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write a JUnit report.")
@click.option("--only", type=click.Choice(["plan", "tests"]), help="Judge one of the two parts only.")
@click.argument("inventory", required=False)
@click.argument("playbooks", nargs=-1, metavar="[PLAYBOOK]...")
def command(choices: Choices, inventory: str | None, playbooks: tuple[str, ...], junit: Path | None, only: str | None) -> int:
    """Prove that the hosts of INVENTORY are as the PLAYBOOKs say, and change nothing.

    First a new plan must be empty; what cannot be known without applying is reported as unknown and is no failure. Then the testinfra
    tests in the tests/ folder of each role run on every host that has the role. Ends with 2 when something is not as it should be.
    """
    from provisioner.cli.connections import Remembering
    from provisioner.cli.execution import INTERRUPTED, Quiet, execute
    from provisioner.cli.output import check_writable, stdout, write_document
    from provisioner.cli.process import process
    from provisioner.cli.stage import Stage
    from provisioner.project.definitions import RunVariables
    from provisioner.report.verification import write_verification
    from provisioner.verify.cases import document, exit_code
    from provisioner.verify.replan import judge
    from provisioner.verify.suites import find_suites
    from provisioner.verify.tests import run_suites

    if junit is not None:
        check_writable(junit, "the JUnit report")
    started = time.monotonic()
    stage, named = Stage.open_with(choices, inventory, playbooks)
    options = stage.options("plan", "verify")
    loaded = stage.load(named, options)
    connect = Remembering(stage.session.connector())
    run = stage.session.run(loaded, options, connect=connect)
    outcome = execute(run, Quiet())
    if outcome.exit_code == INTERRUPTED:
        return INTERRUPTED
    cases: list[Case] = [] if only == "tests" else judge(outcome.document)
    if only != "plan":
        suites = find_suites(outcome.document["steps"], [playbook.path for playbook in loaded], connect.targets)
        cases += run_suites(suites, connect.again, RunVariables(stage.session, run, loaded), base=Path.cwd(), at_once=options.forks)
    # What a failing test prints is not masked by anybody before.
    verified = process.secrets.mask_data(document(cases, outcome.document, time.monotonic() - started))
    if junit is not None:
        _write_junit(verified, junit)
    if choices.form == "json":
        write_document(verified)
    else:
        write_verification(stdout(), verified, verbosity=process.verbosity)
    return exit_code(cases)


def _write_junit(verified: dict[str, Any], path: Path) -> None:
    from provisioner.errors import UsageError
    from provisioner.report.junit import junit_xml

    try:
        path.write_text(junit_xml(verified["cases"]), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
