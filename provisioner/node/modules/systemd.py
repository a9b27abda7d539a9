"""A systemd unit: running, enabled, masked."""

from __future__ import annotations

from ..changes import SetUnit
from ..declare import Module, Params, option, required_by
from ..faults import UnknownReading
from ..units import wanted_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node
    from ..readings import UnitState

LINKS = "/etc/systemd/system"


class SystemdParams(Params):
    """Parameters of ``systemd``."""

    name: str | None = option("The unit; without a suffix a service.", None, aliases=("service", "unit"))
    state: str | None = option("What it shall do.", None, choices=("reloaded", "restarted", "started", "stopped"))
    enabled: bool | None = option("Whether it starts at boot.", None)
    masked: bool | None = option("Whether starting it is forbidden.", None)
    daemon_reload: bool = option("Make systemd read its unit files again first.", False, aliases=("daemon-reload",))
    daemon_reexec: bool = option("Make systemd execute itself again first.", False, aliases=("daemon-reexec",))
    force: bool = option("Replace conflicting links when enabling.", False)
    scope: str = option("Whose manager.", "system", choices=("system", "user", "global"))
    no_block: bool = option("Do not wait for the job.", False)


def run(node: Node, p: SystemdParams) -> dict[str, Any]:
    """Reload first where asked or needed, then mask, enable, start."""
    options = {"scope": p.scope, "force": p.force, "no_block": p.no_block}
    options = {key: value for key, value in options.items() if value and value != "system"}
    if p.daemon_reexec:
        node.units.reload("daemon-reexec", options)
    if p.daemon_reload:
        node.units.reload("daemon-reload", options)
    if p.name is None:
        return {"name": None, "changed": False, "enabled": p.enabled, "state": p.state}
    result: dict[str, Any] = {"name": p.name}
    if not p.daemon_reload and (p.state in ("started", "restarted", "reloaded") or p.enabled is not None):
        _reload_if_stale(node, p.name, options)
    _bring(node, p, options)
    try:
        state = node.units.state(p.name, options)
    except UnknownReading:
        return {**result, "state": p.state, "enabled": p.enabled}
    result["status"] = dict(state.properties)
    if p.enabled is not None:
        result["enabled"] = p.enabled
    if p.state is not None:
        result["state"] = "started" if state.running else "stopped"
    result["changed"] = any(change.KIND != "reload_units" for change in node.recorder.changes)
    return result


def _reload_if_stale(node: Node, name: str, options: dict[str, Any]) -> None:
    """systemd would go on with the old definition of a unit whose file has changed; nobody who starts the unit wants that."""
    try:
        stale = node.units.state(name, options).needs_reload
    except UnknownReading:
        return
    if stale:
        node.units.reload("daemon-reload", options)


def _right_links(node: Node, name: str) -> None:
    """Put the links right of a unit that is enabled, but for other targets than its file asks for now."""
    try:
        state = node.units.state(name)
        if state.enabled != "enabled" or not state.path:
            return
        text = node.files.read(state.path).decode("utf-8", "replace")
        wanted = {f"{target}.{kind}" for kind, target in wanted_by(text) if "%" not in target}
        folders = [each for each in node.files.names(LINKS) if each.endswith((".wants", ".requires"))] if wanted else []
        linked = {each for each in folders if node.files.exists(f"{LINKS}/{each}/{state.name}")}
    except UnknownReading:
        return
    if linked and linked != wanted:
        before, after = (f"enabled for {', '.join(sorted(names))}" for names in (linked, wanted))
        node.record(SetUnit(target=state.name, before=before, after=after, aspect="enabled", value=True, options={"again": True}))


def _bring(node: Node, p: SystemdParams, options: dict[str, Any]) -> None:
    name = p.name or ""
    active = {"started": True, "stopped": False}.get(p.state or "")
    if not node.units.ensure(name, masked=p.masked, enabled=p.enabled, options=options) and p.enabled and p.scope == "system":
        _right_links(node, name)
    if active is not None:
        node.units.ensure(name, active=active, options=options)
    elif p.state in ("restarted", "reloaded"):
        _request(node, name, "restart" if p.state == "restarted" else "reload", options)


def _request(node: Node, name: str, verb: str, options: dict[str, Any]) -> None:
    try:
        state: UnitState | None = node.units.state(name, options)
    except UnknownReading:
        state = None
    if state is not None and not state.running and verb == "reload":
        node.units.ensure(name, active=True, options=options)
        return
    node.units.request(name, verb, options)


MODULE = Module(
    name="systemd",
    summary="A systemd unit: running, enabled, masked.",
    params=SystemdParams,
    run=run,
    aliases=("systemd_service",),
    rules=(required_by("state", "name"), required_by("enabled", "name"), required_by("masked", "name")),
    resource=(("unit", "name"),),
    examples="""
- systemd: {name: nvidia-persistenced, state: started, enabled: true}
- systemd: {daemon_reload: true}
""",
)
