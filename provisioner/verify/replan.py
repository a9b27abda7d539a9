"""The first half of verification: what a fresh plan leaves to do on each host must be nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provisioner.verify.cases import Case, Outcome

NAME = "nothing left to do"


def judge(plan: Mapping[str, Any]) -> list[Case]:
    """One case a host, from the document of a plan run. What cannot be known without applying is ``unknown``: no proof, no failure."""
    lost = {one["host"]: one for one in plan.get("lost", ())}
    by_host: dict[str, list[Mapping[str, Any]]] = {name: [] for name in plan.get("hosts", {})}
    for step in plan.get("steps", ()):
        by_host.setdefault(step["host"], []).append(step)
    cases = []
    for host, steps in by_host.items():
        if host in lost:
            cases.append(
                Case("plan", host, NAME, "unreachable", message=str(lost[host]["message"]), details=str(lost[host].get("help", "")))
            )
        else:
            cases.append(_judge_host(host, steps))
    return cases


def _judge_host(host: str, steps: Sequence[Mapping[str, Any]]) -> Case:
    failed = [step for step in steps if step["status"] == "failed" and not step.get("ignored") and not step.get("rescued")]
    changed = [step for step in steps if step["status"] == "changed"]
    open_ = [step for step in steps if step["status"] in ("maybe", "deferred")]
    outcome: Outcome = "failed" if failed or changed else "unknown" if open_ else "passed"
    words = (("failed in the plan", failed), ("left to do", changed), ("not known without applying", open_))
    message = ", ".join(f"{len(found)} {'step' if len(found) == 1 else 'steps'} {word}" for word, found in words if found)
    details = "\n".join(_line(step) for step in [*failed, *changed, *open_])
    place = str((failed or changed or open_ or [{}])[0].get("source", ""))
    return Case(
        "plan", host, NAME, outcome, place=place, seconds=sum(step.get("seconds", 0.0) for step in steps), message=message, details=details
    )


def _line(step: Mapping[str, Any]) -> str:
    label = f"{step['role']} : {step['task']}" if step.get("role") else str(step["task"])
    targets = ", ".join(str(change["target"]) for change in step.get("changes", ()))
    why = step.get("reason") or (step.get("msg") if step["status"] == "failed" else "") or targets
    return f"{step['status']}: {label} ({step.get('source', '')})" + (f": {why}" if why else "")
