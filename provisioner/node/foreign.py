"""Modules of Ansible's kind, as modules of ours: one declaration for all of them; the controller sends the module's own code as data."""

from __future__ import annotations

from .changes import RunModule
from .content import Content, content_of
from .declare import Module, Params, option
from .faults import ResultUnknown
from .guest import Guest
from .rehearsal import rehearse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node

_TYPE = "__ansible_type"
READ_ONLY = ("_info", "_facts")
"""How names of modules end that by Ansible's rules change nothing."""


class ForeignParams(Params):
    """What the controller says of a foreign module and this call of it.

    kind: python (an archive with everything it imports), json (a program that reads a file of JSON), words (a program that reads a file
    of ``key=value``), complete (a program that has its arguments in its text).
    """

    code: Any = option("The module: an archive or a program.", kind="content")
    kind: str = option("How it is run.", choices=("python", "json", "words", "complete"))
    main: str = option("The module's name in its archive.", "")
    launcher: list[str] = option("The words before the program's path.", [])
    folder: str = option("Where its private folder is made.", "/tmp")
    files: int = option("How many files it may have open; 0 changes nothing.", 0)
    arguments: dict[str, Any] = option("The arguments of the task, and those by which Ansible tells a module of the run.", {})
    honest: bool = option("Whether it may be asked what it would do.", True)


def declared(name: str) -> Module:
    """The declaration of the foreign module that is sent under this name."""
    name = name.removeprefix("ansible.legacy.")
    return Module(
        name=name,
        summary="A module of Ansible's kind.",
        params=ForeignParams,
        run=lambda node, p: _run(name, node, p),
        reads_only=name.endswith(READ_ONLY),
    )


def _run(name: str, node: Node, p: ForeignParams) -> dict[str, Any]:
    """Run it, or have it say what it would do."""
    guest = Guest(name, content_of(p.code).bytes(), p)
    environment = dict(node.context.environment)

    def perform(only_say: bool) -> dict[str, Any] | None:
        if only_say and not p.honest:
            return None
        told = {"_ansible_check_mode": only_say, "_ansible_diff": node.context.diff}
        result = guest.run({**p.arguments, **told}, environment)
        return None if only_say and result.get("skipped") else result

    touches = () if name.endswith(READ_ONLY) else None
    report = node.record(RunModule(target=name, after="run", touches=touches, perform=perform, rehearse=rehearse))
    result = _finished(name, report.result)
    _note_diffs(node, name, result.get("diff"))
    if report.doubt:
        raise ResultUnknown(report.doubt, **result)
    return result


def _finished(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """A module's result as ours are: what it may leave out is there, and what Ansible keeps for itself is not."""
    kept = {key: value for key, value in result.items() if not key.startswith("_ansible_")}
    if "msg" not in kept and isinstance(kept.get("exception"), dict):
        kept["msg"] = f"module {name} broke off: {_event_text(kept['exception'].get('event'))}"
    for key, each in (("warnings", _warning), ("deprecations", _deprecation), ("exception", _trace)):
        if key in kept:
            kept[key] = [each(item) for item in kept[key]] if isinstance(kept[key], list) else each(kept[key])
    kept["failed"] = _is_true(kept["failed"]) if "failed" in kept else kept.get("rc", 0) not in (0, "0", None)
    kept["changed"] = _is_true(kept.get("changed", False))
    return kept


def _warning(item: Any) -> Any:
    """Its text: since ansible-core 2.19 modules send a summary of what happened instead."""
    return _event_text(item["event"]) if isinstance(item, dict) and "event" in item else item


def _deprecation(item: Any) -> Any:
    if not isinstance(item, dict) or "event" not in item:
        return item
    by = {name: value for name, value in (item.get("deprecator") or {}).items() if name != _TYPE}
    told = {name: value for name, value in item.items() if name not in ("event", "deprecator", _TYPE)}
    return {"msg": _event_text(item["event"]), **told, "collection_name": by.get("resolved_name"), "deprecator": by}


def _trace(item: Any) -> Any:
    event = item.get("event") if isinstance(item, dict) else None
    return event.get("formatted_traceback") or _event_text(event) if isinstance(event, dict) else item


def _event_text(event: Any) -> str:
    """The message of an event and of those that caused it."""
    parts = []
    while isinstance(event, dict):
        parts.append(str(event.get("msg", "")).rstrip("."))
        event = (event.get("chain") or {}).get("event")
    return ": ".join(part for part in parts if part)


def _is_true(value: Any) -> bool:
    return value.lower() in ("true", "yes", "on", "1") if isinstance(value, str) else bool(value)


def _note_diffs(node: Node, name: str, found: Any) -> None:
    """What a module says of how texts change: one mapping or several."""
    if not node.context.diff:
        return
    for diff in found if isinstance(found, list) else [found]:
        if not isinstance(diff, dict):
            continue
        if "prepared" in diff:
            node.recorder.diffs.append(str(diff["prepared"]))
        if "before" in diff or "after" in diff:
            title = str(diff.get("after_header") or diff.get("before_header") or name)
            node.note_diff(title, _side(diff.get("before")), _side(diff.get("after")))


def _side(value: Any) -> Content:
    """One side of a diff; anything but text is shown as JSON."""
    import json

    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, indent=4, sort_keys=True) + "\n"
    return Content(text.encode("utf-8", "surrogateescape"))
