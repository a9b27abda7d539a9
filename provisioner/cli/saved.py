"""Carrying out a saved plan: only if inputs and nodes are still what it saw, only what it says, only once."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioner.cli import execution
from provisioner.cli.again import options_again
from provisioner.cli.options import Choices
from provisioner.cli.output import stderr, write_document
from provisioner.cli.settings import limit
from provisioner.cli.stage import Stage
from provisioner.cli.variables import extra_vars_files
from provisioner.diagnostics import Diagnostics, Span, fold_hosts
from provisioner.engine.options import Options
from provisioner.errors import HostUnreachable, PlanMismatch, Refused, UsageError
from provisioner.events import StepFinished, step_as_dict
from provisioner.plan.compare import Comparison
from provisioner.plan.document import Plan
from provisioner.plan.drift import drift
from provisioner.plan.store import exclusive, mark_applied
from provisioner.playbook.model import Playbook
from provisioner.project.inputs import input_files
from provisioner.report.deviations import drift_lines, mismatch_text
from provisioner.report.text import plural

_FIXED = ("limit", "tags", "skip_tags", "start_at_task")
_KEPT = ("tags", "skip_tags", "start_at_task", "user", "connection", "become", "become_user", "become_method", "force_handlers")
_AGAIN = "plan again: provision plan … -o FILE"


def options_of(stage: Stage, playbooks: Sequence[Playbook]) -> dict[str, Any]:
    """What a plan keeps of the command line: everything that decides what is done, and no value of a variable."""
    choices = stage.choices
    return {
        "inventory": list(stage.session.sources),
        "playbooks": [str(playbook.path) for playbook in playbooks],
        "limit": limit(choices),
        **{name: _plain(getattr(choices, name)) for name in _KEPT},
        "extra_vars_files": [text for text in choices.extra_vars if text.strip().startswith("@")],
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def apply_saved(choices: Choices, path: Path) -> int:
    """Carry out the plan in a file; the exit code. Raises ``Refused`` when it no longer fits."""
    for name in _FIXED:
        if getattr(choices, name):
            raise UsageError(f"--{name.replace('_', '-')} is fixed by the plan", help=_AGAIN)
    path = path.absolute()
    with exclusive(path) as plan:
        _check_plan(plan)
        if Path(plan.folder).is_dir():
            os.chdir(plan.folder)
        _check_inputs(plan.moved_inputs([], Path.cwd()))
        stage = Stage.open(_choices(choices, plan), list(plan.options["inventory"]))
        if plan.variables_differ(stage.session.extra_vars):
            names = ", ".join(plan.variables.get("names", ())) or "none"
            raise Refused(
                "the extra variables are not those of the plan", why=f"it was made with: {names}", help="give the same -e, or plan again"
            )
        foresight = stage.options("plan", "apply")
        playbooks = stage.load(list(plan.options["playbooks"]), foresight)
        _check_inputs(plan.moved_inputs(input_files(stage.session, playbooks, extra_vars_files(stage.choices.extra_vars)), Path.cwd()))
        code = _check_nodes(stage, playbooks, plan, foresight)
        if code is not None:
            return code
        mark_applied(plan, path)
        return _apply(stage, playbooks, plan, replace(foresight, mode="apply"))


def _choices(choices: Choices, plan: Plan) -> Choices:
    """The saved options under those given now; hosts that were not planned stay out."""
    saved = plan.options
    kept = {name: saved[name] for name in _KEPT if saved.get(name) and not getattr(choices, name)}
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    patterns = [saved["limit"]] if saved.get("limit") else []
    if plan.unplanned_hosts:
        patterns = [*(patterns or ["all"]), *(f"!{host}" for host in plan.unplanned_hosts)]
    extra = choices.extra_vars or tuple(saved.get("extra_vars_files", ()))
    return replace(choices, **kept, limit=tuple(patterns), extra_vars=extra)


def _check_plan(plan: Plan) -> None:
    if plan.errored:
        failed = next(step for step in plan.steps if step["status"] == "failed")
        raise Refused(
            f"the plan holds an error: {failed['host']}: {failed['task']}: {failed.get('msg', '')}",
            why="an apply would stop there",
            help="correct it and plan again",
        )
    if plan.unplanned_hosts:
        paper = stderr()
        paper.line(
            paper.paint(f"warning: not in this plan, since unreachable when it was made: {fold_hosts(plan.unplanned_hosts)}", "warning")
        )
        paper.flush()


def _check_inputs(moved: Sequence[str]) -> None:
    if moved:
        raise Refused(f"inputs changed: {', '.join(moved)}", why="the plan was computed from other files", help=_AGAIN)


def _check_nodes(stage: Stage, playbooks: Sequence[Playbook], plan: Plan, options: Options) -> int | None:
    """Plan again over fresh connections and compare; an exit code when the run was interrupted."""
    outcome = execution.execute(stage.session.run(playbooks, options), execution.Quiet())
    if outcome.exit_code == execution.INTERRUPTED:
        return execution.INTERRUPTED
    lost = outcome.document["lost"]
    if lost:
        raise HostUnreachable(
            f"{fold_hosts(one['host'] for one in lost)} cannot be reached: {lost[0]['message']}",
            why="nothing was changed anywhere",
            help=lost[0].get("help") or "bring it back, or plan again without it",
        )
    moved = drift(plan.steps, plan.keyed(outcome.document["steps"]))
    if moved:
        lines = "\n".join(f"  {line}" for line in drift_lines(moved))
        raise Refused(f"{plural(len(moved), 'resource')} moved since the plan was made:\n{lines}", why="nothing was changed", help=_AGAIN)
    return None


class Watch:
    """Holds every step against the plan; a step that deviates ends the run on its host."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.comparison = Comparison(plan.steps)
        self.deviated: set[str] = set()
        self.steps = 0
        self._lock = threading.Lock()

    def __call__(self, step: StepFinished) -> None:
        """Raise ``PlanMismatch`` for a step that did something else than was planned."""
        with self._lock:
            self.steps += 1
            (made,) = self._plan.keyed([step_as_dict(step)])
            mismatch = self.comparison.check(made)
            if mismatch is None:
                return
            self.deviated.add(step.host)
        message, why = mismatch_text(mismatch)
        raise PlanMismatch(message, why=why, help="the host was stopped there; look at it, then plan again", span=step.source)


def _plan_again(plan: Plan, choices: Choices, hosts: Sequence[str]) -> str:
    """A plan is good for once, so what is left wants a new one."""
    names = [*plan.options["inventory"][:1], *plan.options["playbooks"], "--limit", ",".join(hosts)]
    return shlex.join(["provision", "plan", *names, *options_again(choices, files_kept=False), "-o", "plan.json"])


def _apply(stage: Stage, playbooks: Sequence[Playbook], plan: Plan, options: Options) -> int:
    watch = Watch(plan)
    run = stage.session.run(playbooks, options, expect=watch)
    json_wanted = stage.choices.form == "json"
    listener = execution.Quiet() if json_wanted else execution.human_report(options, lambda hosts: _plan_again(plan, stage.choices, hosts))
    outcome = execution.execute(run, listener)
    through = [
        name for name, stats in outcome.record.hosts.items() if not stats.failed and not stats.unreachable and name not in watch.deviated
    ]
    unmade = watch.comparison.unmade(through) if outcome.exit_code != execution.INTERRUPTED else []
    document = {**outcome.document, "plan": plan.id, "fidelity": {"steps": watch.steps, "deviations": len(watch.deviated) + len(unmade)}}
    if json_wanted:
        write_document(document)
    if unmade:
        problems = Diagnostics()
        for one in unmade:
            message, why = mismatch_text(one)
            problems.error(f"{one.host}: {message}", Span(one.source), why=why)
        raise PlanMismatch(problems.errors[0].message, why=problems.errors[0].why, help=f"{plural(len(unmade), 'planned step')} not made")
    if not watch.deviated and outcome.exit_code == 0:
        paper = stderr()
        paper.line(f"as planned: {plural(watch.steps, 'step')} of plan {plan.id}")
        paper.flush()
    return outcome.exit_code
