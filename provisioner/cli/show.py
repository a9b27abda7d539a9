"""``provision show``: a saved plan or the record of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from provisioner.cli.options import DIFF, GENERAL, Choices, form, shared
from provisioner.cli.output import stderr, stdout, write_document, write_plan
from provisioner.cli.process import process
from provisioner.diagnostics import Span
from provisioner.errors import InputError, UsageError


@click.command("show")
@shared(*GENERAL, *DIFF, form("text", "md", "json", "html"))
@click.argument("file", type=click.Path(path_type=Path))
def command(choices: Choices, file: Path) -> int:
    """Render FILE: a plan saved by "plan -o", or the JSON that apply or verify printed.

    A plan that was applied, or whose inputs have changed since, is shown all the same, and says so on top.
    """
    document = _read(file)
    schema = str(document.get("schema", ""))
    if schema.startswith("provision.plan/"):
        _show_plan(document, file, choices)
    elif schema not in ("provision.run/1", "provision.verify/1"):
        raise InputError.of(f"nothing that provision writes (its schema is {schema or 'missing'})", Span(str(file)))
    elif choices.form == "json":
        write_document(document)
    elif choices.form != "text":
        raise UsageError(f"only plans can be shown as {choices.form}", help="use --format text or json")
    elif schema == "provision.run/1":
        _show_run(document, choices)
    else:
        from provisioner.report.verification import write_verification

        write_verification(stdout(), document, verbosity=process.verbosity)
    return 0


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise InputError.of(f"this is no JSON: {error}", Span(str(file))) from None
    if not isinstance(document, dict):
        raise InputError.of("nothing that provision writes (a JSON object is wanted)", Span(str(file)))
    return document


def _show_plan(document: dict[str, Any], file: Path, choices: Choices) -> None:
    banner = ""
    if "key" in document:
        from provisioner.plan.document import plan_of

        plan = plan_of(document, str(file))
        document = plan.document()
        moved = plan.moved_inputs([], Path(plan.folder)) if Path(plan.folder).is_dir() else []
        remarks = [f"made {plan.created}"]
        if plan.applied:
            remarks.append(f"already applied {plan.applied}")
        if moved:
            remarks.append(f"stale, inputs changed since: {', '.join(moved)}")
        banner = f"Plan {plan.id}: {'; '.join(remarks)}"
    write_plan(document, choices.form, diff=choices.diff, banner=banner)


def _show_run(document: dict[str, Any], choices: Choices) -> None:
    from provisioner.report.human import HumanReport
    from provisioner.report.replay import replay

    report = HumanReport(stdout(), stderr(), verbosity=min(process.verbosity, 1), diff=choices.diff)
    for event in replay(document):
        report(event)
