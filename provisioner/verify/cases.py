"""What verification found: one case a host for the plan, one a test and host for the roles' tests, and the document of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["passed", "failed", "skipped", "error", "unknown", "unreachable"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "error", "skipped", "unknown", "unreachable")
SCHEMA = "provision.verify/1"


@dataclass(frozen=True)
class Case:
    """One thing that was verified.

    part      ``plan`` or ``tests``
    host      empty for a test that asks for no host
    name      of the test, or ``nothing left to do``
    place     ``roles/driver/tests/test_driver.py:12``
    message   one line; ``details`` may be long
    """

    part: str
    host: str
    name: str
    outcome: Outcome
    role: str = ""
    place: str = ""
    seconds: float = 0.0
    message: str = ""
    details: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for documents."""
        return dict(vars(self))


def exit_code(cases: Iterable[Case]) -> int:
    """2 when something is not as it should be, 4 when hosts could not be asked, else 0; unknown is no failure."""
    outcomes = {case.outcome for case in cases}
    if outcomes & {"failed", "error"}:
        return 2
    return 4 if "unreachable" in outcomes else 0


def document(cases: Iterable[Case], plan: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Both parts as one JSON-ready mapping, schema ``provision.verify/1``; of the plan only the steps that are not done, and
    those that it did not run."""
    listed = list(cases)
    hosts: dict[str, dict[str, int]] = {name: dict.fromkeys(OUTCOMES, 0) for name in plan.get("hosts", {})}
    for case in listed:
        if case.host:
            hosts.setdefault(case.host, dict.fromkeys(OUTCOMES, 0))[case.outcome] += 1
    left = [step for step in plan.get("steps", ()) if step["status"] not in ("ok", "skipped")]
    return {
        "schema": SCHEMA,
        "command": "verify",
        "ok": exit_code(listed) == 0,
        "hosts": hosts,
        "cases": [case.as_dict() for case in listed],
        "steps": left,
        "unrun": [step for step in plan.get("steps", ()) if step.get("unrun")],
        "lost": list(plan.get("lost", ())),
        "stats": {**{word: sum(case.outcome == word for case in listed) for word in OUTCOMES}, "seconds": round(seconds, 3)},
    }
