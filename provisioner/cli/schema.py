"""``provision schema``: JSON schema of playbooks and task files, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from provisioner.cli.options import GENERAL, Choices, shared


@click.command("schema")
@shared(*GENERAL)
@click.option("--kind", type=click.Choice(["playbook", "tasks"]), default="playbook", show_default=True, help="What the schema describes.")
@click.option(
    "--library", "libraries", multiple=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Also look there."
)
def command(_choices: Choices, kind: str, libraries: tuple[Path, ...]) -> int:
    """Print the JSON schema of playbooks, with the options of every module.

    \b
    An editor with a YAML language server completes and checks by it:
    # yaml-language-server: $schema=playbook.schema.json
    """
    from provisioner.cli.output import write_document
    from provisioner.schema import jsonschema
    from provisioner.schema.registry import Registry

    modules = [info.module for info in Registry(libraries).modules() if info.declared]
    write_document(jsonschema.playbook_schema(modules) if kind == "playbook" else jsonschema.tasks_schema(modules))
    return 0
