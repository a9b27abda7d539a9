"""``provision facts``: what is known of each node."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import TARGETING, Choices, form, shared

if TYPE_CHECKING:
    from provisioner.report.text import Paper


@click.command("facts")
@shared(*TARGETING, form("text", "json"))
@click.option("--filter", "filters", multiple=True, metavar="GLOB", help="Only facts with these names, such as '*_mb' or 'distribution*'.")
@click.option("--all", "everything", is_flag=True, help="All facts, not only the main ones.")
@click.argument("inventory", required=False)
def command(choices: Choices, inventory: str | None, filters: tuple[str, ...], everything: bool) -> int:
    """Show the facts of the hosts of INVENTORY: system, hardware, network, GPUs. JSON always has all of them.

    Names are those under ansible_facts; in playbooks they may also be written with the prefix ansible_.
    """
    from provisioner.cli import adhoc
    from provisioner.cli.execution import Quiet, execute
    from provisioner.cli.output import stdout, write_document
    from provisioner.cli.run import _write_lost
    from provisioner.cli.stage import Stage
    from provisioner.events import plain

    stage = Stage.open(choices, [inventory] if inventory else [])
    options = stage.options("apply", "facts")
    playbook = adhoc.one_task(stage.session.loader, "all", {"name": "facts", "setup": {"gather_subset": ["all", "gpus"]}}, name="facts")
    stage.check([playbook], options)
    outcome = execute(stage.session.run([playbook], options), Quiet())
    known = {
        step.host: _named(plain(step.result.get("ansible_facts", {})), filters) for step in outcome.record.steps if step.status == "ok"
    }
    if choices.form == "json":
        document = {key: outcome.document[key] for key in ("command", "ok", "lost", "stats")}
        write_document({"schema": "provision.facts/1", **document, "hosts": known})
        return outcome.exit_code
    paper = stdout()
    for host, facts in known.items():
        _write_host(paper, host, facts, everything or bool(filters))
    for step in outcome.record.steps:
        if step.status == "failed":
            paper.line(f"{paper.paint(step.host, 'bold')} {paper.paint('failed', 'failed')}: {step.msg}")
    _write_lost(paper, outcome.document["lost"])
    return outcome.exit_code


def _named(facts: Mapping[str, Any], filters: tuple[str, ...]) -> dict[str, Any]:
    """Facts by name without prefix, sorted; only those that a filter matches when there are any."""
    bare = {name.removeprefix("ansible_"): value for name, value in facts.items()}
    wanted = [pattern.removeprefix("ansible_") for pattern in filters]
    return {name: bare[name] for name in sorted(bare) if not wanted or any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)}


def _write_host(paper: Paper, host: str, facts: Mapping[str, Any], everything: bool) -> None:
    from provisioner.report.steps import as_json
    from provisioner.report.text import clean

    paper.line(paper.paint(clean(host), "bold"))
    if everything:
        for name, value in facts.items():
            lines = as_json(value)
            paper.line(f"  {clean(name)}: {lines[0]}")
            paper.lines(f"  {line}" for line in lines[1:])
    else:
        for label, tell in _MAIN:
            text = clean(tell(facts))
            if text.strip(" ,"):
                paper.line(f"  {paper.paint(f'{label:<9}', 'dim')} {text}")
    paper.flush()


def _system(facts: Mapping[str, Any]) -> str:
    return f"{facts.get('distribution', '')} {facts.get('distribution_version', '')} ({facts.get('distribution_release', '')})"


def _processors(facts: Mapping[str, Any]) -> str:
    models = [str(text) for text in facts.get("processor", ()) if not str(text).isdigit() and " " in str(text)]
    return f"{facts.get('processor_vcpus', '')} × {models[0] if models else facts.get('architecture', '')}"


def _memory(facts: Mapping[str, Any]) -> str:
    total = facts.get("memtotal_mb")
    return f"{int(total) / 1024:.1f} GiB, {int(facts.get('memfree_mb', 0)) / 1024:.1f} free" if total else ""


def _network(facts: Mapping[str, Any]) -> str:
    default = facts.get("default_ipv4") or {}
    if default.get("address"):
        return f"{default['address']} {default.get('interface', '')}"
    return ", ".join(facts.get("all_ipv4_addresses", ())[:4])


def _gpus(facts: Mapping[str, Any]) -> str:
    gpus = facts.get("gpus") or []
    names: dict[str, int] = {}
    for gpu in gpus if isinstance(gpus, list) else ():
        name = str(gpu.get("name") or gpu.get("model") or "GPU")
        names[name] = names.get(name, 0) + 1
    return ", ".join(f"{count} × {name}" for name, count in names.items())


_MAIN: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("system", _system),
    ("kernel", lambda facts: f"{facts.get('kernel', '')} {facts.get('architecture', '')}"),
    ("cpus", _processors),
    ("memory", _memory),
    ("gpus", _gpus),
    ("network", _network),
    ("python", lambda facts: str(facts.get("python_version", ""))),
    ("platform", lambda facts: f"{facts.get('virtualization_role', '')} {facts.get('virtualization_type', '')}".strip()),
)
