"""``--list-hosts``, ``--list-tasks``, ``--list-tags`` and ``--syntax-check``: what the playbooks say, without any connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from provisioner.cli.output import stdout
from provisioner.cli.process import process
from provisioner.cli.stage import Stage
from provisioner.engine.options import Options
from provisioner.engine.selection import selected, tag_set
from provisioner.errors import ProvisionError
from provisioner.playbook.arguments import has_template
from provisioner.playbook.model import Play, Task
from provisioner.project.preflight import literal_hosts, tasks_of
from provisioner.report.summary import label_of
from provisioner.report.text import Paper, clean, one_line, plural
from provisioner.templating.variables import Layer, Level, Scope


def list_or_check(stage: Stage, named: Sequence[str]) -> int:
    """Do the whole static pass, then list what was asked for."""
    choices = stage.choices
    options = stage.options("plan", "list")
    playbooks = stage.load(named, options)
    paper = stdout()
    number = 0
    for playbook in playbooks:
        paper.line(paper.paint(f"playbook {clean(str(playbook.path))}", "bold"))
        for play in playbook.plays:
            number += 1
            if choices.syntax_check and not (choices.list_hosts or choices.list_tasks or choices.list_tags):
                continue
            paper.line(f"  play {number}: {one_line(play.label)}{paper.paint(f'  {clean(str(play.span))}', 'dim')}")
            if choices.list_hosts:
                _hosts(paper, stage, play, options)
            if choices.list_tasks:
                _tasks(paper, stage, play, options)
            if choices.list_tags:
                tags = sorted({tag for _, _, tags in tasks_of(play) for tag in tags})
                paper.line(f"    tags: {', '.join(map(clean, tags)) or 'none'}")
    if choices.syntax_check:
        paper.line(f"{plural(len(playbooks), 'playbook')}, {plural(number, 'play')}: no problems found")
    paper.flush()
    return 0


def _hosts(paper: Paper, stage: Stage, play: Play, options: Options) -> None:
    pattern = literal_hosts(play)
    if pattern is None:
        paper.line(f"    hosts: {one_line(str(play.hosts))} (known when the play begins)")
        return
    hosts = stage.session.inventory.match(pattern, options.limit)
    paper.line(f"    {plural(len(hosts), 'host')}:")
    paper.lines(f"      {clean(host)}" for host in hosts)


def _tasks(paper: Paper, stage: Stage, play: Play, options: Options) -> None:
    """As ``ansible-playbook`` lists them, so that what reads its lists reads ours; -vv adds where each task stands."""
    for task, role, written in tasks_of(play):
        tags = _known_tags(stage, play, task, written)
        if not selected(tags, options.tags, options.skip_tags):
            continue
        label = label_of(role.name if role else None, task.label)
        place = paper.paint(f"  {clean(str(task.span))}", "dim") if process.verbosity > 1 else ""
        shown = f"  TAGS: [{', '.join(sorted(map(clean, tags)))}]"
        paper.line(f"      {label}{paper.paint(shown, 'skipped')}{place}")


def _known_tags(stage: Stage, play: Play, task: Task, written: frozenset[str]) -> frozenset[str]:
    """Tags that are templates, as far as the play's own variables tell them."""
    if not any(has_template(tag) for tag in written):
        return written
    layers = [
        Layer(Level.PLAY_VARS, play.directives.vars, "play"),
        Layer(Level.TASK_VARS, task.directives.vars, "task"),
        Layer(Level.EXTRA, stage.session.extra_vars, "-e on the command line"),
    ]
    templar = stage.session.templar(Scope(layers))
    found: list[Any] = []
    for tag in written:
        try:
            found.append(templar.render(tag))
        except ProvisionError:
            found.append(tag)  # it needs what only a run knows
    return tag_set(found)
