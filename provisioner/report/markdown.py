"""A plan as Markdown, for the comment of a merge request: the totals first, then each group of hosts folded away."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from provisioner.report.changes import describe
from provisioner.report.plan_view import HostGroup, PlanView, step_notes
from provisioner.report.text import clean, one_line, plural


def plan_markdown(document: Mapping[str, Any], *, full: bool = False, banner: str = "") -> str:
    """The document as Markdown text; texts from nodes cannot break out of it."""
    view = PlanView(document, full=full)
    lines = [f"### {escape(view.summary())}", ""]
    if view.remark():
        lines += [escape(view.remark()), ""]
    if banner:
        lines += [f"> **{escape(banner)}**", ""]
    for lost in document.get("lost", ()):
        lines += [f"- ❌ **{escape(str(lost['host']))}** unreachable: {escape(one_line(str(lost['message'])))}"]
    if document.get("lost"):
        lines.append("")
    consequences = view.consequences()
    if consequences:
        lines += ["**Consequences**", "", *[f"- {escape(text)}" for text in consequences], ""]
    for group in view.groups:
        lines += _group(group)
    return "\n".join(lines).rstrip() + "\n"


def _group(group: HostGroup) -> list[str]:
    title = f"<b>{html.escape(group.title)}</b> ({plural(len(group.hosts), 'host')}, {plural(len(group.steps), 'step')})"
    lines = ["<details open>", f"<summary>{title}</summary>", "", "```diff"]
    for label, steps in group.tasks():
        lines.append(f"# {_fenced(label)}  {_fenced(clean(str(steps[0].get('source', ''))))}")
        for step in steps:
            maybe = one_line(str(step.get("reason") or "")) or "it depends on an earlier step"
            for change in step.get("changes", ()) if step["status"] != "skipped" else ():
                told = describe(change, planned=True, maybe=maybe if step["status"] == "maybe" else "")
                item = f"  [{one_line(str(step['item']), 60)}]" if step.get("item") is not None else ""
                lines.append(_fenced(f"{told.sign} {told.text}{item}{told.note}"))
            lines += [_fenced(text) for _, text in step_notes(step, group.causes(step))]
    return [*lines, "```", "", "</details>", ""]


def _fenced(text: str) -> str:
    """Text inside a code block: a run of backquotes would end it."""
    return text.replace("```", "` ` `")


def escape(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|~@])", r"\\\1", clean(text))
