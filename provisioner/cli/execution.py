"""Runs of playbooks with their reports: what ``apply``, ``plan``, ``verify`` and ``run`` have in common."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioner import __version__
from provisioner.cli.output import check_writable, stderr, stdout, write_document, write_plan
from provisioner.cli.process import process
from provisioner.cli.retry import retry_command
from provisioner.cli.stage import Stage
from provisioner.cli.variables import extra_vars_files
from provisioner.engine.options import Options
from provisioner.engine.run import Outcome, Run
from provisioner.events import Event, Warned
from provisioner.playbook.model import Playbook
from provisioner.project.inputs import input_files
from provisioner.report.human import HumanReport
from provisioner.report.progress import Progress
from provisioner.report.summary import Retry

INTERRUPTED = 130


def live_progress() -> Progress:
    """The progress display on stderr: live when that is a terminal."""
    return Progress(stderr(), live=sys.stderr.isatty())


class Quiet:
    """A listener for runs whose result is a document at the end: progress and warnings on stderr, nothing on stdout."""

    def __init__(self) -> None:
        self._progress = live_progress()
        self._paper = stderr()

    def close(self) -> None:
        """Leave the terminal in order."""
        self._progress.close()

    def __call__(self, event: Event) -> None:
        """Show what is to be shown while the run goes on."""
        self._progress(event)
        if isinstance(event, Warned):
            with self._progress.aside():
                self._paper.line(self._paper.paint(process.secrets.mask(event.diagnostic.render()), "warning"))
                self._paper.flush()


def execute(run: Run, listener: Quiet | HumanReport) -> Outcome:
    """Execute a run, and leave the terminal in order whatever happens."""
    try:
        return run.execute(listener)
    finally:
        listener.close()


def human_report(options: Options, retry: Retry = retry_command) -> HumanReport:
    """The report of a run for people, on stdout; ``retry`` makes the command that goes on with some of its hosts."""
    return HumanReport(stdout(), stderr(), verbosity=process.verbosity, diff=options.diff, progress=live_progress(), retry=retry)


def apply(stage: Stage, named: Sequence[str]) -> int:
    """Apply playbooks and report; the exit code."""
    options = stage.options("apply", "apply")
    run = stage.session.run(stage.load(named, options), options)
    if stage.choices.form == "json":
        outcome = execute(run, Quiet())
        write_document(outcome.document)
        return outcome.exit_code
    return execute(run, human_report(options)).exit_code


def plan(stage: Stage, named: Sequence[str], form: str, *, detailed: bool, out: Path | None = None) -> int:
    """Plan playbooks, show the plan, save it when asked; the exit code."""
    if out is not None:
        check_writable(out, "the plan")
    options = stage.options("plan", "plan")
    playbooks = stage.load(named, options)
    outcome = execute(stage.session.run(playbooks, options), Quiet())
    document: Mapping[str, Any] = outcome.document
    if out is not None and outcome.exit_code != INTERRUPTED:
        document = _save(stage, playbooks, document, out)
    write_plan(document, form, diff=options.diff)
    return detailed_exit_code(document, outcome.exit_code) if detailed else outcome.exit_code


def detailed_exit_code(document: Mapping[str, Any], exit_code: int) -> int:
    """0 nothing to do · 2 changes · 1 error · 4 unreachable (and no error)."""
    if exit_code not in (0, 4):
        return exit_code if exit_code == INTERRUPTED else 1
    if exit_code == 4:
        return 4
    return 2 if any(step["status"] in ("changed", "maybe", "deferred") for step in document["steps"]) else 0


def _save(stage: Stage, playbooks: Sequence[Playbook], document: Mapping[str, Any], out: Path) -> Mapping[str, Any]:
    from provisioner.cli.again import carry_out
    from provisioner.cli.saved import options_of
    from provisioner.plan.document import make_plan
    from provisioner.plan.store import write_plan as store
    from provisioner.report.text import plural

    made = make_plan(
        document,
        options=options_of(stage, playbooks),
        inputs=input_files(stage.session, playbooks, extra_vars_files(stage.choices.extra_vars)),
        extra=stage.session.extra_vars,
        base=Path.cwd(),
        tool=__version__,
    )
    store(made, out)
    paper = stderr()
    paper.line(f"plan saved in {out} ({plural(len(made.inputs), 'input')}); carry it out with: {carry_out(stage.choices, out)}")
    paper.flush()
    return made.document()
