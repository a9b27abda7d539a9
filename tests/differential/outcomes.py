"""What a run brought about, in a form in which stock's and ours can be compared and recorded.

A row is one outcome: ``[host, play, task, what, status, result]``, ``what`` being ``item NAME``, ``handler`` or nothing. Rows are in
order for each host; which of two hosts is first is not compared. Left out of results is what differs from run to run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioner.events import Event, StepFinished, TaskFinished, plain
from tests.differential.stock import Ran

Row = list[Any]

VOLATILE = {
    "start",
    "end",
    "delta",
    "atime",
    "mtime",
    "ctime",
    "inode",
    "dev",
    "invocation",
    "deprecations",
    "warnings",
    "diff",
    "src",
    "frame",
}
VOLATILE |= {"block_size", "blocks", "device_type", "version", "attributes", "attr_flags", "mimetype", "charset"}
VOLATILE |= {"child_pid", "argument_errors", "argument_spec_data"}
"""Keys of results that tell of the moment, or of the tool rather than of the node."""

OPAQUE = {"exception", "failed_when_suppressed_exception", "censored"}
"""Keys whose presence tells something, and whose text each tool words in its own way."""

WORDINGS = (
    (r"^Task failed: ", ""),
    (r"(?:The )?(filter|lookup) plugin '(?:ansible\.builtin\.)?(\w+)' failed: ", r"\1 \2 failed: "),
    (r"\r\n", "\n"),  # Ansible lets script and raw have a terminal over ssh
    (r"(Task failed: )?(Finalization of task args for '[^']*' failed: |Error processing keyword '[^']*': )", ""),
    (r"Error while (resolving value for '[^']*'|evaluating conditional): ", ""),
    (r"^(when|loop): ", ""),
    (r"'\w+' is missing in '[^']*' \((has: [^)]*|it is empty)\); ", ""),
    (r": it is the result of a step that was skipped.*", ""),
    (r"(?s)^(Validation of arguments failed:).*", r"\1"),
    (r"^lookup file failed: .*", "lookup file failed"),
    (r"^(?:filter mandatory failed|Error rendering template): (Mandatory variable)", r"\1"),
    (r"^(?:set_fact: )?(Invalid variable name '[^']*').*", r"\1"),
    (r"^(Recursive loop detected in template:).*", r"\1"),
    (r"^(Error rendering template: Attempt to use undecryptable variable|encrypted, and no vault password is given).*", "encrypted"),
    (r"^((?:Error rendering template|lookup \w+ failed): .*); \w+Error$", r"\1"),
    (r"(No file was found when using first_found)[.,].*", r"\1"),
    (r"(could not find '\w+' key in iterated item) .*", r"\1"),
    (r"^(?:value of |\w+: )(\w+ must be one of: )", r"\1"),
    (r"^(?:Timed out after (\d+) second\(s\)\.|\w+ timed out after (\d+) s)$", r"timed out"),
    (r"(?s)^(Unexpected AnsibleActionFail error: |Task failed: )?Could not find or access ('[^']*').*", r"no file \2"),
    (r"^no file 'CASE/", "no file '"),
    (r"(?s)^there is no file (?:of tasks )?('[^']*').*", r"no file \1"),
    (r"^The `loop` value must resolve to a 'list', not '.*'\.$", "loop needs a list"),
    (r"^loop needs a list and got a .*", "loop needs a list"),
    (r"^Did not run command since '(.*)' (exists|does not exist)$", r"not needed: \1 \2"),
    (r"^Error executing command\.$", "cannot run the command"),
    (r"^cannot run .*: No such file or directory$", "cannot run the command"),
    (r"\bj\d+\.\d+\b", "JOB"),  # a step in the background
    (r"^\S+/\.ansible_async/", "~/.ansible_async/"),
)
"""The same said in other words: patterns of stock's and ours, and what both become."""

MANY_FACTS = 20
"""Facts of a node differ from moment to moment; what playbooks use of them is shown by their tasks."""

EXITS = {0: "ok", 2: "failed", 4: "unreachable"}


@dataclass(frozen=True)
class Outcome:
    """``exit`` is ok, failed, unreachable or refused (nothing was run); ``stats`` has the counts of each host that are not zero."""

    exit: str
    stats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rows: Sequence[Row] = field(default_factory=list)


def of_stock(ran: Ran, folder: Path) -> Outcome:
    """What stock told through the callback."""
    stats: Mapping[str, Mapping[str, int]] | None = None
    rows: list[Row] = []
    for line in ran.lines:
        if "stats" in line:
            stats = line["stats"]
            continue
        if line["action"].rpartition(".")[2] == "meta":
            continue
        what = f"item {_line(line['item'])}" if line["item"] is not None else "handler" if line["handler"] else ""
        result = {"censored": True} if "censored" in line["result"] else line["result"]
        if "reason" in result and "include" in result:
            # An include that cannot be loaded is ok first, and failed then.
            before = next(row for row in reversed(rows) if (row[0], row[2]) == (line["host"], line["task"]))
            rows.remove(before)
            result = {"msg": result["reason"], "exception": "", "changed": False}
        rows.append([line["host"], line["play"], line["task"], what, line["state"], result])
    if stats is None and not rows:
        return Outcome("refused")
    return Outcome(EXITS.get(ran.code, f"exit {ran.code}"), _counts(stats or {}), _comparable(rows, folder))


def _line(label: str) -> str:
    """A label as one line, which ours always are."""
    return " ".join(label.split()) if "\n" in label else label


def of_ours(events: Iterable[Event], code: int, stats: Mapping[str, Mapping[str, int]], folder: Path) -> Outcome:
    """What our events tell."""
    looped: set[tuple[str, str]] = set()
    rows: list[Row] = []
    for event in events:
        if isinstance(event, StepFinished):
            name = f"{event.role} : {event.task}" if event.role else event.task
            what = f"item {event.item}" if event.item is not None else "handler" if event.handler else ""
            if event.item is not None:
                looped.add((event.host, event.address.partition("#")[0]))
            rows.append([event.host, event.play, name, what, _status(event), plain(event.result)])
        elif isinstance(event, TaskFinished) and (event.host, event.address) in looped:
            rows.append([event.host, event.play, event.task, "loop", _status(event), {}])
    renamed = {"ignored": "ignored", "rescued": "rescued", "failed": "failures"}
    counts = {host: {renamed.get(name, name): count for name, count in each.items()} for host, each in stats.items()}
    return Outcome(EXITS.get(code, f"exit {code}"), _counts(counts), _comparable(rows, folder))


def _status(event: StepFinished | TaskFinished) -> str:
    """An item that failed is failed, also where the task as a whole is ignored."""
    whole = isinstance(event, TaskFinished) or event.item is None
    return "ignored" if event.ignored and whole and event.status == "failed" else event.status


def _counts(stats: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    counted = {host: {name: count for name, count in sorted(each.items()) if count} for host, each in sorted(stats.items())}
    return {host: each for host, each in counted.items() if each}


def _comparable(rows: Iterable[Row], folder: Path) -> list[Row]:
    found = []
    for host, play, task, what, status, result in sorted(rows, key=lambda row: str(row[0])):
        if what == "loop" or "results" in result:
            # The rows of the items have told all of it.
            found.append([host, play, task.rpartition(" : ")[2], "loop", status, {}])
        elif status == "unreachable":
            found.append([host, play, task, what, status, {}])
        else:
            found.append([host, play, task, what, status, _apart(result, bool(what))])
    text = json.dumps(found).replace(str(folder), "CASE")
    return list(_lasting(json.loads(text)))


def _apart(result: Mapping[str, Any], item: bool) -> dict[str, Any]:
    """A result without what the status and the item say already; what is registered has all of it."""
    left = {"failed", "skipped", "unreachable"}
    if item:
        names = {"ansible_loop_var", "ansible_index_var"}
        left |= {*names, "ansible_loop", *(str(result.get(name)) for name in names)}
    if "msg" in result:
        result = {"changed": False, **result}
    if "include_args" in result:
        left.add("changed")
    if len(result.get("ansible_facts", ())) > MANY_FACTS:
        left.add("ansible_facts")
    return {key: value for key, value in result.items() if key not in left}


def _lasting(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get("unreachable"):
            value = {**value, "msg": "cannot be reached"}
        kept = {str(key): child for key, child in value.items() if str(key) not in VOLATILE and not str(key).startswith("_ansible_")}
        return {key: "…" if key in OPAQUE else _lasting(child) for key, child in kept.items()}
    if isinstance(value, list):
        return [_lasting(child) for child in value]
    if isinstance(value, str):
        for pattern, said in WORDINGS:
            value = re.sub(pattern, said, value)
    return value
