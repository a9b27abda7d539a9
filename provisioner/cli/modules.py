"""``provision modules``: the reference, made from the declarations."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import GENERAL, Choices, form, shared
from provisioner.errors import UsageError

if TYPE_CHECKING:
    from provisioner.node.declare import Module


@click.command("modules")
@shared(*GENERAL, form("text", "md", "json"))
@click.option(
    "--library", "libraries", multiple=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Also look there."
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
def command(choices: Choices, libraries: tuple[Path, ...], names: tuple[str, ...]) -> int:
    """List the modules, or show the reference page of each NAME: options, types, defaults, examples."""
    from provisioner import config as settings
    from provisioner.cli.output import stdout, write_document
    from provisioner.schema import docs
    from provisioner.schema.registry import Registry

    registry = Registry([*libraries, *map(Path, settings.load().library)])
    chosen: list[Module] = []
    for name in names:
        found = registry.find(name)
        if found is None:
            raise UsageError(f"there is no module {name!r}", help=registry.nearest(name) or "provision modules lists them all")
        if not found.declared:
            raise UsageError(f"module {name!r} is not declared in our way", why=f"it is a foreign module: {found.path}")
        chosen.append(found.module)
    listed = chosen or sorted((info.module for info in registry.modules() if info.declared), key=lambda module: module.name)
    if choices.form == "json":
        write_document({"schema": "provision.modules/1", "modules": [_as_data(module) for module in listed]})
    elif choices.form == "md":
        sys.stdout.write("\n".join(docs.markdown(module) for module in chosen) if chosen else docs.index(listed))
    elif chosen:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        sys.stdout.write("\n".join(docs.text(module, width) for module in chosen))
    else:
        paper = stdout()
        broad = max(len(module.name) for module in listed)
        for module in listed:
            paper.line(f"{paper.paint(f'{module.name:<{broad}}', 'bold')}  {module.summary}")
    sys.stdout.flush()
    return 0


def _as_data(module: Module) -> dict[str, Any]:
    from provisioner.events import plain
    from provisioner.schema.docs import full_name, rule_text
    from provisioner.schema.fields import fields_of

    options = [
        {
            "name": field.name,
            "type": field.shown_type,
            "required": field.required,
            "default": plain(field.default),
            "choices": list(field.choices),
            "aliases": list(field.aliases),
            "secret": field.secret,
            "help": field.help,
        }
        for field in fields_of(module.params).values()
    ]
    return {
        "name": module.name,
        "full_name": full_name(module),
        "summary": module.summary,
        "where": module.where,
        "options": options,
        "rules": [rule_text(rule) for rule in module.rules],
        "notes": list(module.notes),
        "examples": module.examples,
    }
