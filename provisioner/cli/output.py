"""The streams of this process as paper, and documents in the form that was asked for."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.cli.process import process, use_color
from provisioner.errors import UsageError
from provisioner.report.text import Paper


def stdout() -> Paper:
    """Standard output: the result."""
    return Paper(sys.stdout, width=_width(), color=use_color(sys.stdout))


def stderr() -> Paper:
    """Standard error: progress and warnings."""
    return Paper(sys.stderr, width=_width(), color=use_color(sys.stderr))


def _width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, 160)


def check_writable(path: Path, what: str) -> None:
    """Raise ``UsageError`` where a file that is only written after the run could not be: found out before, not after half an hour."""
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {what} to {path}: there is no folder {folder}", help=f"make it first: mkdir -p {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"cannot write {what} to {path}: permission denied", help="name a file that you may write")


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
