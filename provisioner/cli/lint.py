"""``provision lint``: the whole static pass, no node touched."""

from __future__ import annotations

from pathlib import Path

import click

from provisioner.cli.options import GENERAL, VARIABLES, Choices, form, shared


@click.command("lint")
@shared(*GENERAL, *VARIABLES, form("text", "json"))
@click.option("-i", "--inventory", "inventories", multiple=True, metavar="SOURCE", help="Also hold host patterns against this inventory.")
@click.option("--strict", is_flag=True, help="End with 1 on warnings, too.")
@click.argument("playbooks", nargs=-1, metavar="[PLAYBOOK|FOLDER]...")
def command(choices: Choices, inventories: tuple[str, ...], strict: bool, playbooks: tuple[str, ...]) -> int:
    """Check PLAYBOOKs (playbooks/site.yml by default) with all roles and files they use, and show every problem at once.

    Roles and files of tasks can be named, too, and FOLDERs, of which all playbooks, roles and variables are looked at.

    Found are unknown modules, options, keywords, handlers, hosts and files, syntax of YAML and templates, modes without a leading zero,
    duplicate keys, and what is legal but likely a mistake. Ends with 1 when there is an error.
    """
    from provisioner.cli import failures
    from provisioner.cli.output import stdout, write_document
    from provisioner.cli.stage import Stage
    from provisioner.diagnostics import Diagnostics
    from provisioner.playbook.lint import examine
    from provisioner.project import preflight
    from provisioner.project.layout import find_playbooks
    from provisioner.project.session import adopt
    from provisioner.report.text import plural

    stage = Stage.open(choices, inventories or ["localhost,"])
    session = stage.session
    paths: list[Path] = [] if playbooks else find_playbooks((), session.sources)
    for name in playbooks:
        if Path(name).is_dir():
            adopt(session, Path(name))
            paths.append(Path(name))
        else:
            paths += find_playbooks([name], session.sources)
    loaded = examine(paths, session.loader)
    found = Diagnostics()
    for item in (*session.warnings, *session.loader.context.diagnostics):
        found.add(item)
    if inventories:
        for item in preflight.check(loaded, session.inventory, stage.options("plan", "lint")):
            found.add(item)
    errors, warnings = len(found.errors), len(found.warnings)
    files, tasks = len(session.loader.files.read), len(session.loader.checks.checked)
    if choices.form == "json":
        problems = [
            {
                "severity": item.severity,
                "message": item.message,
                "file": item.span.file if item.span else None,
                "line": item.span.line if item.span else None,
                "column": item.span.column if item.span else None,
                "why": item.why,
                "help": item.help,
                "code": item.code,
            }
            for item in found
        ]
        counts = {"files": files, "playbooks": len(loaded), "tasks": tasks}
        write_document({"schema": "provision.lint/1", "command": "lint", "ok": not errors, **counts, "problems": problems})
    else:
        failures.show(found)
        paper = stdout()
        looked = f"{plural(files, 'file')}, {plural(len(loaded), 'playbook')}, {plural(tasks, 'task')}"
        paper.line(f"{looked}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
        paper.flush()
    return 1 if errors or (strict and warnings) else 0
