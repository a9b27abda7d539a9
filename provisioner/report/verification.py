"""A verification for people: per cause what is wrong and where, equal findings of several hosts once, the counts last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provisioner.diagnostics import fold_hosts
from provisioner.report.plan_view import unrun_text
from provisioner.report.text import Paper, clean, one_line, plural

_WORDS = {"failed": "failed", "error": "failed", "unreachable": "unreachable", "unknown": "maybe", "skipped": "skipped", "passed": "ok"}
_DETAIL_LINES = 30


def write_verification(paper: Paper, document: Mapping[str, Any], *, verbosity: int = 0) -> None:
    """Write a ``provision.verify/1`` document; passed and skipped tests are only counted unless ``verbosity`` says otherwise."""
    cases: Sequence[Mapping[str, Any]] = document["cases"]
    for part, title in (("plan", "PLAN"), ("tests", "TESTS")):
        listed = [case for case in cases if case["part"] == part]
        counts = _counts(listed)
        right = "  ".join(f"{word} {count}" for word, count in counts.items()) or "none"
        painted = "  ".join(paper.paint(f"{word} {count}", _WORDS[word]) for word, count in counts.items()) or "none"
        paper.spread(paper.paint(title, "bold"), painted, left_width=len(title), right_width=len(right))
        for group in _grouped(listed):
            if group[0]["outcome"] not in ("passed", "skipped") or verbosity:
                _write_group(paper, group)
    paper.line()
    paper.line(_verdict(paper, document))
    remark = unrun_text(document.get("unrun", ()))
    if remark:
        paper.line(paper.paint(remark, "dim"))
    paper.flush()


def _counts(cases: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    found = {
        word: sum(case["outcome"] == word for case in cases) for word in ("passed", "skipped", "unknown", "failed", "error", "unreachable")
    }
    return {word: count for word, count in found.items() if count}


def _grouped(cases: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Cases that say the same of several hosts together."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for case in cases:
        details = str(case.get("details", "")).replace(str(case["host"]), "…") if case["host"] else case.get("details", "")
        key = (case["outcome"], case.get("role"), case["name"], case.get("place"), case.get("message"), details)
        groups.setdefault(key, []).append(case)
    return list(groups.values())


def _write_group(paper: Paper, group: Sequence[Mapping[str, Any]]) -> None:
    case = group[0]
    hosts = clean(fold_hosts(str(each["host"]) for each in group if each["host"]))
    label = one_line(f"{case['role']} : {case['name']}" if case.get("role") else str(case["name"]))
    word = paper.paint(str(case["outcome"]), _WORDS[str(case["outcome"])])
    message = one_line(str(case.get("message", "")))
    paper.line(f"  {word} {label}{f' on {hosts}' if hosts else ''}{': ' + message if message else ''}")
    details = [line for line in str(case.get("details", "")).splitlines() if line.strip()]
    if case["outcome"] not in ("passed", "skipped"):
        paper.lines(f"      {clean(line)}" for line in details[:_DETAIL_LINES])
        if len(details) > _DETAIL_LINES:
            paper.line(f"      … {len(details) - _DETAIL_LINES} more lines (--format json has all)")
    if case.get("place"):
        paper.line(paper.paint(f"      at {clean(str(case['place']))}", "dim"))


def _verdict(paper: Paper, document: Mapping[str, Any]) -> str:
    stats = document["stats"]
    hosts: Mapping[str, Mapping[str, int]] = document["hosts"]
    bad = [name for name, counts in hosts.items() if counts["failed"] or counts["error"]]
    lost = [name for name, counts in hosts.items() if counts["unreachable"] and name not in bad]
    open_ = [name for name, counts in hosts.items() if counts["unknown"] and name not in (*bad, *lost)]
    good = len(hosts) - len(bad) - len(lost) - len(open_)
    words = [
        (good, "verified", "ok"),
        (len(open_), "unknown", "maybe"),
        (len(bad), "not as wanted", "failed"),
        (len(lost), "unreachable", "unreachable"),
    ]
    shown = ", ".join(paper.paint(f"{count} {word}", style) for count, word, style in words if count)
    return f"{paper.paint('VERIFY', 'bold')} {plural(len(hosts), 'host')}: {shown or 'nothing'} · {stats['seconds']:.1f} s"
