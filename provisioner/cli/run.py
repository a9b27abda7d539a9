"""``provision run``: one module on nodes, without a playbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from provisioner.cli.options import DIFF, TARGETING, Choices, form, shared

if TYPE_CHECKING:
    from provisioner.events import StepFinished
    from provisioner.report.text import Paper


@click.command("run")
@shared(*TARGETING, *DIFF, form("text", "json"))
@click.option("-m", "--module-name", "--module", "module", default="command", show_default=True, metavar="NAME", help="The module to run.")
@click.option("-a", "--args", "arguments", default="", metavar="ARGS", help="Its arguments: k=v, a mapping in YAML or JSON, or free form.")
@click.option("-C", "--check", is_flag=True, help="Change nothing, show what would change.")
@click.argument("inventory", required=False)
@click.argument("pattern", required=False, default="all")
def command(choices: Choices, inventory: str | None, pattern: str, module: str, arguments: str) -> int:
    """Run one module on the hosts of INVENTORY (on those that PATTERN selects, all by default).

    \b
    provision run inventory/prod.yml -a uptime
    provision run inventory/prod.yml gpu -m apt -a "name=nvtop state=present" -b
    """
    from provisioner.cli import adhoc
    from provisioner.cli.execution import Quiet, execute
    from provisioner.cli.output import stdout, write_document
    from provisioner.cli.stage import Stage

    stage = Stage.open(choices, [inventory] if inventory else [])
    options = stage.options("plan" if choices.check else "apply", "run")
    task = {"name": f"run {module}", module: adhoc.arguments_of(arguments)}
    playbook = adhoc.one_task(stage.session.loader, pattern, task, name="ad hoc")
    stage.check([playbook], options)
    outcome = execute(stage.session.run([playbook], options), Quiet())
    if choices.form == "json":
        results = {step.host: _plain(step) for step in outcome.record.steps}
        write_document({**outcome.document, "results": results})
    else:
        write_results(stdout(), outcome.record.steps, diff=options.diff, planned=choices.check)
        _write_lost(stdout(), outcome.document["lost"])
    return outcome.exit_code


def _plain(step: StepFinished) -> Any:
    from provisioner.events import plain

    return plain(step.result)


def write_results(paper: Paper, steps: Sequence[StepFinished], *, diff: bool, planned: bool) -> None:
    """Results of a single task, hosts with the same result together."""
    from provisioner.diagnostics import fold_hosts
    from provisioner.events import step_as_dict
    from provisioner.report.steps import change_lines, diff_lines, failure_lines, headline
    from provisioner.report.text import clean

    grouped: dict[tuple[str, ...], list[str]] = {}
    for step in steps:
        if step.status == "unreachable":
            continue
        shown, result = step_as_dict(step), _plain(step)
        word = paper.paint(step.status, step.status)
        if step.status == "failed":
            lines = [f"{word}: {headline(shown, result)}", *(f"  {line}" for line in failure_lines(shown, result))]
        else:
            lines = [word + (f": {clean(step.reason)}" if step.reason else "")]
            lines += [f"  {line}" for line in change_lines(shown, paper, planned=planned) if not _says_output(result)]
            lines += [f"  {line}" for line in _output(result)]
        if diff:
            lines += [f"  {line}" for line in diff_lines(step.diffs, paper)]
        grouped.setdefault(tuple(lines), []).append(step.host)
    for lines_of_group, hosts in grouped.items():
        first, *rest = lines_of_group
        paper.line(f"{paper.paint(clean(fold_hosts(hosts)), 'bold')} {first}")
        paper.lines(rest)
    paper.flush()


def _says_output(result: Mapping[str, Any]) -> bool:
    return "stdout" in result


def _output(result: Mapping[str, Any]) -> list[str]:
    """What a command printed, or the return values of any other module."""
    from provisioner.report.steps import as_json
    from provisioner.report.text import clean

    if _says_output(result):
        text = str(result.get("stdout") or "") + ("\n" + str(result["stderr"]) if result.get("stderr") else "")
        return [clean(line) for line in text.strip("\n").split("\n")] if text.strip("\n") else []
    values = {
        key: value for key, value in result.items() if key not in ("changed", "failed", "diff", "invocation") and value not in ("", None)
    }
    return as_json(values) if values else []


def _write_lost(paper: Paper, lost: Sequence[Mapping[str, Any]]) -> None:
    from provisioner.events import HostLost
    from provisioner.report.summary import lost_hosts, lost_lines

    for one, hosts in lost_hosts([HostLost(each["host"], each["message"], each["why"], each["help"]) for each in lost]):
        first, *rest = lost_lines(one, hosts)
        paper.line(paper.paint(first.strip().replace(": ", " unreachable: ", 1), "unreachable"))
        paper.lines(line.removeprefix("  ") for line in rest)
    paper.flush()
