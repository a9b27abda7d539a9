"""What there is to say about one step: its changes, its failure, its diff, its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from provisioner.report.changes import describe
from provisioner.report.text import Paper, clean, one_line

OUTPUT_LINES = 20
DIFF_LINES = 400
_GENERIC = re.compile(r"(non-zero return code|(ended with )?(exit status|exit code|rc) -?\d+)?\.?", re.IGNORECASE)


def change_lines(step: Mapping[str, Any], paper: Paper, *, planned: bool = False) -> list[str]:
    """One painted line a change, with the item's label where the task loops."""
    label = f"  [{one_line(str(step['item']), 60)}]" if step.get("item") is not None else ""
    maybe = one_line(str(step.get("reason") or "it depends on an earlier step")) if step.get("status") == "maybe" else ""
    lines = []
    for change in step.get("changes", ()):
        told = describe(change, planned=planned, maybe=maybe)
        lines.append(f"{paper.paint(told.sign, told.style)} {told.text}{paper.paint(label + told.note, 'dim')}")
    return lines


def diff_lines(diffs: Sequence[str], paper: Paper, *, limit: int = DIFF_LINES) -> list[str]:
    """Unified diffs, painted and harmless; what is over the limit is counted."""
    lines = [line for diff in diffs for line in diff.splitlines()]
    shown = [paper.paint(clean(line), _diff_style(line)) if _diff_style(line) else clean(line) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(paper.paint(f"… {len(lines) - limit} more lines (-v shows all)", "dim"))
    return shown


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "added", "-": "removed", "@": "hunk"}.get(line[:1], "")


def headline(step: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """A failure in one line: its message, or exit status and last words of the command."""
    message = str(step.get("msg") or result.get("msg") or "")
    if _GENERIC.fullmatch(message.strip()) and "rc" in result:
        last = next((line for line in reversed(_lines(result.get("stderr")) or _lines(result.get("stdout"))) if line.strip()), "")
        message = f"exit status {result['rc']}" + (f": {last.strip()}" if last else "")
    return one_line(message.split("\n", 1)[0]) or "failed without a message"


def failure_lines(step: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """What stands below the headline of a failure: the rest of the message, command, exit status, the end of its output."""
    lines = [clean(line) for line in str(step.get("msg") or "").split("\n")[1:] if line.strip()]
    if "censored" in result:
        return [*lines, "(the rest is hidden by no_log)"]
    if "assertion" in result:
        lines.append(f"condition: {one_line(str(result['assertion']), 400)}")
    command = result.get("cmd")
    if command:
        words = command if isinstance(command, str) else " ".join(map(str, command))
        lines.append(f"command: {one_line(words, 400)}")
    if "rc" in result:
        lines.append(f"exit status: {result['rc']}")
    for name in ("stderr", "stdout"):
        output = _lines(result.get(name))
        if not output:
            continue
        cut = len(output) - OUTPUT_LINES
        lines.append(f"{name}:" if cut <= 0 else f"{name}, last {OUTPUT_LINES} of {len(output)} lines:")
        lines += ["  " + clean(line) for line in output[-OUTPUT_LINES:]]
    return lines


def _lines(text: Any) -> list[str]:
    return text.rstrip().splitlines() if isinstance(text, str) and text.strip() else []


def message_lines(step: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """What ``debug`` wants to say: its text as written, data as indented JSON."""
    shown = {key: value for key, value in result.items() if key not in ("changed", "failed", "skipped", "_ansible_verbose_always")}
    if isinstance(shown.get("msg"), str):
        return [clean(line) for line in shown["msg"].split("\n")]
    if set(shown) == {"msg"}:
        return as_json(shown["msg"])
    return as_json(shown) if shown else [clean(line) for line in str(step.get("msg") or "").split("\n")]


def as_json(value: Any) -> list[str]:
    """Data as indented JSON lines that are harmless on a terminal."""
    return clean(json.dumps(value, indent=2, ensure_ascii=False, default=str)).splitlines()
