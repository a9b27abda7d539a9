"""The streams of this process as paper, and documents in the form that was asked for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any

from provisioner.cli.process import process, use_color
from provisioner.report.text import Paper


def stdout() -> Paper:
    """Standard output: the result."""
    return Paper(sys.stdout, width=_width(), color=use_color(sys.stdout))


def stderr() -> Paper:
    """Standard error: progress and warnings."""
    return Paper(sys.stderr, width=_width(), color=use_color(sys.stderr))


def _width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, 160)


def write_document(document: Mapping[str, Any]) -> None:
    """Exactly one JSON document on standard output."""
    from provisioner.report.json import write_json

    write_json(sys.stdout, document)
    process.document_of = ""


def write_plan(document: Mapping[str, Any], form: str, *, diff: bool = False, banner: str = "") -> None:
    """A plan document as text, Markdown, HTML or JSON."""
    full = process.verbosity > 0
    if form == "json":
        write_document(document)
    elif form == "md":
        from provisioner.report.markdown import plan_markdown

        sys.stdout.write(plan_markdown(document, full=full, banner=banner))
    elif form == "html":
        from provisioner.report.html import plan_html

        sys.stdout.write(plan_html(document, full=full, banner=banner))
    else:
        from provisioner.report.plan_text import write_plan as write_text

        write_text(stdout(), document, full=full, diff=diff, banner=banner)
    sys.stdout.flush()
