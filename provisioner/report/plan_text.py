"""A plan for people: for each group of hosts with the same plan, the steps that change something; then consequences and the totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioner.report.plan_view import HostGroup, PlanView, several_plays, step_notes
from provisioner.report.steps import change_lines, diff_lines
from provisioner.report.text import Paper, clean, one_line, plural, width_of


def write_plan(paper: Paper, document: Mapping[str, Any], *, full: bool = False, diff: bool = False, banner: str = "") -> None:
    """Write a ``provision.plan/1`` document; ``full`` also shows what needs nothing, ``banner`` is a remark to put first."""
    view = PlanView(document, full=full, diffs=diff)
    if banner:
        paper.line(paper.paint(clean(banner), "warning"))
        paper.line()
    for group in view.groups:
        _write_group(paper, group, diff=diff, unlimited=full)
        paper.line()
    for lost in document.get("lost", ()):
        kind = paper.paint(str(lost.get("kind", "unreachable")), "unreachable")
        paper.line(f"{paper.paint(clean(str(lost['host'])), 'bold')} {kind}: {one_line(lost['message'])}")
        for word in ("why", "help"):
            if lost.get(word):
                paper.line(f"    {word}: {one_line(str(lost[word]))}")
        paper.line()
    consequences = view.consequences()
    if consequences:
        paper.line(paper.paint("Consequences:", "bold"))
        paper.lines(f"  {paper.paint('!', 'act')} {text}" for text in consequences)
        paper.line()
    paper.line(paper.paint(view.summary(), "bold"))
    if view.remark():
        paper.line(paper.paint(view.remark(), "dim"))
    paper.flush()


def _write_group(paper: Paper, group: HostGroup, *, diff: bool, unlimited: bool) -> None:
    count = f" ({plural(len(group.hosts), 'host')})" if len(group.hosts) > 1 else ""
    paper.line(f"{paper.paint(group.title, 'bold')}{count}")
    plays = several_plays(group.steps)
    play = None
    for label, steps in group.tasks():
        first = steps[0]
        if plays and first.get("play") != play:
            play = first.get("play")
            paper.line(f"  {paper.paint('PLAY ' + one_line(str(play)), 'bold')}")
        source = clean(str(first.get("source", "")))
        paper.spread(f"  {label}", paper.paint(source, "dim"), left_width=2 + width_of(label), right_width=width_of(source))
        for step in steps:
            paper.lines(f"    {line}" for line in change_lines(step, paper, planned=True) if step["status"] != "skipped")
            paper.lines(f"    {paper.paint(text, style)}" for style, text in step_notes(step, group.causes(step)))
            if diff:
                limit = {"limit": 10**9} if unlimited else {}
                paper.lines(f"      {line}" for line in diff_lines(step.get("diffs", ()), paper, **limit))
