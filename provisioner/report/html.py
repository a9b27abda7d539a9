"""A plan as one HTML page that needs nothing else: for reviews outside of a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from provisioner.report.changes import describe
from provisioner.report.plan_view import HostGroup, PlanView, step_notes
from provisioner.report.text import clean, one_line, plural

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1b1f24;background:#fff}
h1{font-size:1.4em}summary{cursor:pointer;font-weight:600;margin:.8em 0 .3em}.place{color:#667;font-size:.85em;float:right}
.task{margin:.5em 0 0 1em}.step{margin:0 0 0 2em;font-family:ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.create,.ok{color:#1a7f37}.change{color:#9a6700}.remove,.failed,.unreachable{color:#cf222e}.act{color:#0969da}
.maybe,.skipped{color:#0e7490}.deferred{color:#8250df}.dim{color:#667}.banner{background:#fff3cd;padding:.6em 1em}
@media(prefers-color-scheme:dark){body{color:#dde;background:#15181c}.banner{background:#554200}.place,.dim{color:#99a}
.create,.ok{color:#56d364}.change{color:#e3b341}.remove,.failed,.unreachable{color:#ff7b72}.act{color:#79c0ff}
.maybe,.skipped{color:#67e8f9}.deferred{color:#d2a8ff}}
"""


def plan_html(document: Mapping[str, Any], *, full: bool = False, banner: str = "") -> str:
    """The document as a page; every text of it is escaped."""
    view = PlanView(document, full=full)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(view.summary())}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(view.summary())}</h1>",
    ]
    if view.remark():
        parts.append(f"<p>{escape(view.remark())}</p>")
    if banner:
        parts.append(f'<p class="banner">{escape(clean(banner))}</p>')
    for one in document.get("lost", ()):
        name, why = escape(clean(str(one["host"]))), escape(one_line(str(one["message"])))
        parts.append(f'<p><b>{name}</b> <span class="unreachable">unreachable</span>: {why}</p>')
    consequences = view.consequences()
    if consequences:
        parts.append("<h2>Consequences</h2><ul>" + "".join(f"<li>{escape(text)}</li>" for text in consequences) + "</ul>")
    for group in view.groups:
        parts += _group(group)
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _group(group: HostGroup) -> list[str]:
    count = f"{plural(len(group.hosts), 'host')}, {plural(len(group.steps), 'step')}"
    parts = [f"<details open><summary>{escape(group.title)} ({count})</summary>"]
    for label, steps in group.tasks():
        place = escape(clean(str(steps[0].get("source", ""))))
        parts.append(f'<div class="task"><span class="place">{place}</span>{escape(label)}</div>')
        for step in steps:
            maybe = (one_line(str(step.get("reason") or "")) or "it depends on an earlier step") if step["status"] == "maybe" else ""
            for change in step.get("changes", ()) if step["status"] != "skipped" else ():
                told = describe(change, planned=True, maybe=maybe)
                item = f"  [{one_line(str(step['item']), 60)}]" if step.get("item") is not None else ""
                text = escape(f" {told.text}{item}{told.note}")
                parts.append(f'<div class="step"><span class="{told.style}">{escape(told.sign)}</span>{text}</div>')
            parts += [f'<div class="step {style}">{escape(text)}</div>' for style, text in step_notes(step, group.causes(step))]
    return [*parts, "</details>"]
