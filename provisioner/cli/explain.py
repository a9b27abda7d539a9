"""``provision explain``: where the value of a variable comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import GENERAL, INVENTORY, VARIABLES, Choices, form, shared
from provisioner.diagnostics import did_you_mean
from provisioner.errors import ProvisionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from provisioner.project.loaded import Possible
    from provisioner.templating.variables import Definition, Scope


@click.command("explain")
@shared(*GENERAL, *INVENTORY, *VARIABLES, form("text", "json"))
@click.argument("inventory")
@click.argument("host")
@click.argument("variable")
@click.option("-p", "--playbook", "playbooks", multiple=True, metavar="FILE", help="Playbooks to look into.  [default: playbooks/site.yml]")
def command(choices: Choices, inventory: str, host: str, variable: str, playbooks: tuple[str, ...]) -> int:
    """Show every definition of VARIABLE for HOST in order of precedence, the winner first.

    Looks at the inventory, the plays that select the host, their roles, and -e. What the run decides is listed as "may": files of
    vars_files and include_vars, set_fact and registered results. Facts, and tasks that are included by a name only the run knows, are not
    looked at. Role variables are marked with their role, since they hold inside it.
    """
    from provisioner.cli.stage import Stage
    from provisioner.project.definitions import plays_of, static_scope
    from provisioner.project.loaded import file_layers, possible_definitions

    stage = Stage.open(choices, [inventory])
    if stage.session.inventory.host(host) is None:
        raise UsageError(f"the inventory has no host {host!r}", help=did_you_mean(host, stage.session.inventory.hosts))
    session, loaded = stage.session, stage.load_for_reading(playbooks)
    scope = static_scope(session.inventory, host, loaded, session.extra_vars)
    plays, read = plays_of(session.inventory, host, loaded), session.loader.files.variables
    scope = scope.child(*file_layers(plays, session.templar(scope).render, read))
    definitions = _distinct(reversed(scope.explain(variable)))
    possible = possible_definitions(plays, variable, session.templar(scope).render, read)
    if not definitions and not possible:
        names = sorted(name for name in scope.names() if name not in ("groups", "group_names"))
        raise UsageError(f"nothing defines {variable!r} for {host}", help=did_you_mean(variable, names))
    value = _rendered(session.templar(scope), variable) if definitions else "(not known before a run)"
    if choices.form == "json":
        _write_json(host, variable, value, definitions, possible)
    else:
        _write_text(host, variable, value, definitions, possible, scope)
    return 0


def _distinct(definitions: Iterable[Definition]) -> list[Definition]:
    """Each place once: a role that several others depend on brings its defaults with each of them."""
    return list({(each.level.rank, each.origin, each.span): each for each in reversed(list(definitions))}.values())[::-1]


def _rendered(templar: Any, variable: str) -> Any:
    """The value as a task would see it; what it needs of a run is said instead."""
    try:
        return templar.value(variable)
    except ProvisionError as error:
        return f"(not known before a run: {error.message})"


def _shown(value: Any) -> str:
    import json

    from provisioner.cli.process import process
    from provisioner.events import plain
    from provisioner.report.text import one_line

    if type(value).__name__ == "Vaulted":
        return "(encrypted)"
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return one_line(process.secrets.mask(text), 120) or '""'


def _place(definition: Definition | Possible) -> str:
    if definition.span is None:
        return definition.origin
    return f"{definition.span} ({definition.origin})" if definition.origin.startswith(("role ", "play ", "task ")) else str(definition.span)


def _write_text(host: str, variable: str, value: Any, definitions: list[Definition], possible: list[Possible], scope: Scope) -> None:
    from provisioner.cli.output import stdout
    from provisioner.report.text import clean

    paper = stdout()
    groups = ", ".join(scope.raw("group_names") or ()) or "no group"
    paper.line(f"{paper.paint(clean(variable), 'bold')} on {clean(host)} ({clean(groups)}) = {_shown(value)}")
    paper.line()
    for definition in definitions:
        word = paper.paint("wins", "ok") if definition.wins else paper.paint("    ", "dim")
        text = f"{_shown(definition.value)}\n        {definition.level.title}: {clean(_place(definition))}"
        paper.line(f"  {word}  {text if definition.wins else paper.paint(text, 'dim')}")
    for one in possible:
        shown = "(what the run makes of it)" if one.value is None else _shown(one.value)
        paper.line(f"  {paper.paint('may ', 'maybe')}  {shown}\n        {one.level.title}: {clean(_place(one))}, {clean(one.because)}")
    paper.flush()


def _write_json(host: str, variable: str, value: Any, definitions: list[Definition], possible: list[Possible]) -> None:
    from provisioner.cli.output import write_document
    from provisioner.cli.process import process
    from provisioner.events import plain

    def data(raw: Any) -> Any:
        return "(encrypted)" if type(raw).__name__ == "Vaulted" else process.secrets.mask_data(plain(raw))

    listed = [
        {
            "wins": each.wins,
            "value": data(each.value),
            "level": each.level.title,
            "precedence": each.level.rank,
            "origin": each.origin,
            "place": str(each.span) if each.span else None,
        }
        for each in definitions
    ]
    open_ = [
        {
            "value": data(one.value),
            "level": one.level.title,
            "precedence": one.level.rank,
            "origin": one.origin,
            "place": str(one.span) if one.span else None,
            "because": one.because,
        }
        for one in possible
    ]
    document = {"host": host, "variable": variable, "value": data(value), "definitions": listed, "possible": open_}
    write_document({"schema": "provision.explain/1", **document})
