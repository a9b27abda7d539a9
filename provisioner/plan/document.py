"""A saved plan: the steps of a plan run, and what they rest on.

A plan file is the JSON document ``provision.plan/1``: what ``provision plan --format json`` prints (``hosts``, ``steps``, ``stats``, …)
and beside it

    id, created, tool      who it is, when it was made (UTC), by which version
    folder                 the working directory that relative paths in it start from
    options                what the operator chose: inventories, playbooks, limit, tags…
    inputs                 keyed digest of every file it was computed from, by path
    variables              keyed digest of the extra variables, and their names
    applied                when it was carried out; a plan is good for once
    key                    the key of the digests: without it, a guess at a short secret cannot be confirmed from the digests;
                           shown nowhere, which is why the file itself is readable by its owner only

Values of variables are not kept: secrets are masked in the steps, digests of contents are keyed, too, and extra variables are given again
when the plan is applied.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError
from provisioner.plan.digests import digest_data, digest_file, keyed_step

SCHEMA = "provision.plan/1"
_OWN = ("id", "created", "tool", "folder", "options", "inputs", "variables", "applied", "key", "complete", "errored")


@dataclass(frozen=True)
class Plan:
    """A plan with what it rests on; ``body`` is the record of the plan run (``events.Record.document``)."""

    body: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    variables: Mapping[str, Any]
    key: bytes = field(repr=False)
    id: str
    created: str
    tool: str
    folder: str
    applied: str | None = None

    @property
    def steps(self) -> list[Mapping[str, Any]]:
        """The planned steps."""
        return list(self.body["steps"])

    @property
    def unplanned_hosts(self) -> list[str]:
        """Hosts that could not be reached: the plan says nothing about them."""
        return [str(one["host"]) for one in self.body.get("lost", ())]

    @property
    def complete(self) -> bool:
        """Whether every change is certain."""
        return not any(step["status"] in ("maybe", "deferred") for step in self.steps) and not self.unplanned_hosts

    @property
    def errored(self) -> bool:
        """Whether a step failed already in the plan, so that an apply would stop there."""
        return any(step["status"] == "failed" and not step.get("ignored") and not step.get("rescued") for step in self.steps)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do, for certain."""
        return not any(step["status"] in ("changed", "maybe", "deferred") for step in self.steps)

    def document(self, *, with_key: bool = False) -> dict[str, Any]:
        """The plan as JSON-ready data; the key belongs into the file and nowhere else."""
        shown = {
            **self.body,
            "schema": SCHEMA,
            "id": self.id,
            "created": self.created,
            "tool": self.tool,
            "folder": self.folder,
            "options": dict(self.options),
            "inputs": dict(self.inputs),
            "variables": dict(self.variables),
            "complete": self.complete,
            "errored": self.errored,
            "applied": self.applied,
        }
        if with_key:
            shown["key"] = self.key.hex()
        return shown

    def keyed(self, steps: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Steps of another run in the form in which this plan keeps its own, to be compared with them."""
        return [keyed_step(step, self.key) for step in steps]

    def moved_inputs(self, inputs: Iterable[Path], base: Path) -> list[str]:
        """Paths whose content is not what the plan saw: changed, gone, or new; ``inputs`` are the files an apply would read now."""
        now = {name_of(path, base): path for path in inputs}
        moved = []
        for name, digest in self.inputs.items():
            path = now.get(name, base / name)
            if not path.is_file():
                moved.append(f"{name} (gone)")
            elif digest_file(path, self.key) != digest:
                moved.append(name)
        moved += [f"{name} (new)" for name in now if name not in self.inputs]
        return sorted(moved)

    def variables_differ(self, extra: Mapping[str, Any]) -> bool:
        """Whether the extra variables given now are not those of the plan."""
        return digest_data(extra, self.key) != self.variables.get("digest")

    def marked(self, when: str) -> Plan:
        """The same plan, carried out."""
        return replace(self, applied=when)


def make_plan(
    body: Mapping[str, Any], *, options: Mapping[str, Any], inputs: Iterable[Path], extra: Mapping[str, Any], base: Path, tool: str
) -> Plan:
    """A new plan from the document of a plan run; ``base`` is the folder that the names of the inputs are relative to."""
    key = secrets.token_bytes(32)
    return Plan(
        body={**body, "steps": [keyed_step(step, key) for step in body["steps"]]},
        options=options,
        inputs={name_of(path, base): digest_file(path, key) for path in sorted(set(inputs)) if path.is_file()},
        variables={"names": sorted(extra), "digest": digest_data(extra, key)},
        key=key,
        id=secrets.token_hex(8),
        created=timestamp(),
        tool=tool,
        folder=str(base),
    )


def timestamp() -> str:
    """Now, as plans write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def name_of(path: Path, base: Path) -> str:
    """The path relative to ``base`` when it lies below, else absolute."""
    full = (base / path).resolve() if not path.is_absolute() else path.resolve()
    try:
        return str(full.relative_to(base.resolve()))
    except ValueError:
        return str(full)


def plan_of(document: Any, file: str) -> Plan:
    """The plan in a decoded plan file; ``InputError`` when it is none, or one of another version."""
    problems = Diagnostics()
    where = Span(file)
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith("provision.plan/"):
        raise InputError.of("this is no saved plan", where, help="write one with: provision plan INVENTORY -o plan.json")
    if document["schema"] != SCHEMA:
        raise InputError.of(
            f"the plan has format {document['schema']}, and this version of provision reads {SCHEMA}",
            where,
            help="use the version that wrote it, or plan again",
        )
    shapes: dict[str, type | tuple[type, ...]] = {
        "steps": list,
        "hosts": dict,
        "options": dict,
        "inputs": dict,
        "variables": dict,
        "key": str,
    }
    for name, shape in shapes.items():
        if not isinstance(document.get(name), shape):
            problems.error(f"the plan's {name!r} is missing or of the wrong type", where, help="plan again")
    for step in document["steps"] if isinstance(document.get("steps"), list) else ():
        if not isinstance(step, dict) or not all(isinstance(step.get(key), str) for key in ("host", "task", "status", "address")):
            problems.error("the plan holds a step without host, task, status or address", where, help="plan again")
            break
    if problems.errors:
        raise InputError(problems)
    try:
        key = bytes.fromhex(document["key"])
    except ValueError:
        raise InputError.of("the plan's key is damaged", where, help="plan again") from None
    return Plan(
        body={name: value for name, value in document.items() if name not in _OWN},
        options=document["options"],
        inputs=document["inputs"],
        variables=document["variables"],
        key=key,
        id=str(document.get("id", "")),
        created=str(document.get("created", "")),
        tool=str(document.get("tool", "")),
        folder=str(document.get("folder", "")),
        applied=document.get("applied"),
    )
