"""``provision inventory``: hosts, groups and variables as ``ansible-inventory`` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import GENERAL, INVENTORY, VARIABLES, Choices, shared
from provisioner.diagnostics import did_you_mean
from provisioner.errors import InputError, UsageError

if TYPE_CHECKING:
    from provisioner.config import Config
    from provisioner.inventory import Inventory
    from provisioner.inventory.dump import Dump


@dataclass(frozen=True)
class Request:
    """What to show: ``list``, ``graph`` or ``host``, and in which form."""

    action: str
    host: str = ""
    group: str = "all"
    yaml: bool = False
    variables: bool = False


@click.command("inventory")
@shared(*GENERAL, *INVENTORY, *VARIABLES)
@click.argument("inventory", required=False)
@click.argument("group", required=False)
@click.option("--list", "listing", is_flag=True, help="All groups and host variables, as inventory scripts print them.")
@click.option("--graph", "graph", is_flag=True, help="A tree of groups and hosts, below GROUP if given.  [default]")
@click.option("--host", metavar="NAME", help="The variables of one host.")
@click.option("-y", "--yaml", "as_yaml", is_flag=True, help="YAML instead of JSON, for --list and --host.")
@click.option("--vars", "variables", is_flag=True, help="With variables, for --graph.")
@click.option("--export", is_flag=True, help="Leave group variables at their groups, for --list.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write there, not to standard output.")
@click.option("--playbook-dir", type=click.Path(path_type=Path), metavar="DIR", help="Also read group_vars/ and host_vars/ of this folder.")
def command(
    choices: Choices,
    inventory: str | None,
    group: str | None,
    listing: bool,
    graph: bool,
    host: str | None,
    as_yaml: bool,
    variables: bool,
    export: bool,
    output: Path | None,
    playbook_dir: Path | None,
) -> None:
    """List hosts, groups and their variables.

    INVENTORY is a file, a folder, or hosts between commas; by default that of ansible.cfg. Values are shown as written: templates are not
    rendered, vaulted values stay encrypted.
    """
    from provisioner import config as settings
    from provisioner.inventory.dump import Dump

    if (host is not None) + listing + graph > 1:
        raise click.UsageError("choose one of --list, --graph and --host")
    if group is not None and (listing or host is not None):
        raise click.UsageError("a GROUP is for --graph; --limit selects hosts for --list")
    if choices.limit and host is not None:
        raise click.UsageError("--limit is for --list and --graph; --host names one host")
    if variables and (listing or host is not None):
        raise click.UsageError("--vars is for --graph; --list and --host always show variables")
    if as_yaml and not listing and host is None:
        raise click.UsageError("--yaml is for --list and --host")
    config = settings.load()
    loaded, extra = _load(choices, inventory, config)
    base = playbook_dir if playbook_dir is not None else Path(config.playbook_dir) if config.playbook_dir else None
    merge = config.hash_behaviour == "merge"
    dump = Dump(loaded, playbook=base, merge_hashes=merge, export=export or config.inventory_export, extra_vars=extra)
    action = "host" if host is not None else "list" if listing else "graph"
    text = _text(loaded, dump, Request(action, host or "", group or "all", as_yaml, variables), _limited(loaded, choices))
    if output is None:
        click.echo(text)
    else:
        try:
            output.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {output}: {error.strerror}") from None


def _load(choices: Choices, inventory: str | None, config: Config) -> tuple[Inventory, dict[str, Any]]:
    """The inventory with its warnings shown, and the extra variables."""
    from provisioner.cli import failures
    from provisioner.cli.passwords import open_vault
    from provisioner.cli.variables import read_extra_vars
    from provisioner.inventory import Options, load
    from provisioner.project.expressions import inventory_renderer

    sources = [*((inventory,) if inventory else config.inventory), *choices.more_inventories]
    if not sources:
        raise click.UsageError("name an inventory: a file, a folder, or hosts between commas")
    vault = open_vault(choices, config)
    extra = read_extra_vars(choices.extra_vars, vault)
    loaded = load(sources, options=Options.of(config), vault=vault, render=inventory_renderer(), extra_vars=extra)
    failures.show(loaded.warnings)
    return loaded, extra


def _limited(inventory: Inventory, choices: Choices) -> list[str] | None:
    """The hosts that ``--limit`` leaves, None without one. Raises ``InputError`` for names that are not there."""
    if not choices.limit:
        return None
    problems = inventory.check(choices.limit, option="--limit")
    if problems.errors:
        raise InputError(problems)
    return inventory.match("all", choices.limit)


def _text(inventory: Inventory, dump: Dump, request: Request, hosts: list[str] | None) -> str:
    from provisioner.inventory.dump import to_json, to_yaml

    form = to_yaml if request.yaml else to_json
    if request.action == "list":
        return form(dump.nested(hosts) if request.yaml else dump.listing(hosts)).rstrip("\n")
    if request.action == "host":
        if inventory.host(request.host) is None:
            raise UsageError(
                f"no host is called {request.host!r}", help=did_you_mean(request.host, inventory.hosts) or "--graph shows all hosts"
            )
        return form(dump.host(request.host)).rstrip("\n")
    if request.group not in inventory.groups:
        hint = did_you_mean(request.group, inventory.groups) or f"the groups are {', '.join(inventory.groups)}"
        raise UsageError(f"no group is called {request.group!r}", help=hint)
    return "\n".join(dump.graph(request.group, hosts, variables=request.variables))
