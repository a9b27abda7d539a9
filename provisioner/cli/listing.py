"""``--list-hosts``, ``--list-tasks``, ``--list-tags`` and ``--syntax-check``: what the playbooks say, without any connection."""

from __future__ import annotations

from collections.abc import Sequence

from provisioner.cli.output import stdout
from provisioner.cli.stage import Stage
from provisioner.engine.options import Options
from provisioner.engine.selection import selected
from provisioner.playbook.model import Play
from provisioner.project.preflight import literal_hosts, tasks_of
from provisioner.report.summary import label_of
from provisioner.report.text import Paper, clean, one_line, plural


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
                _tasks(paper, play, options)
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


def _tasks(paper: Paper, play: Play, options: Options) -> None:
    for task, role, tags in tasks_of(play):
        if not selected(tags, options.tags, options.skip_tags):
            continue
        label = label_of(role.name if role else None, task.label)
        shown = f"  [{', '.join(sorted(map(clean, tags)))}]" if tags else ""
        paper.line(f"      {label}{paper.paint(shown, 'skipped')}{paper.paint(f'  {clean(str(task.span))}', 'dim')}")
