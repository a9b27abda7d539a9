"""The units face of ``Node``: services and other systemd units."""

from __future__ import annotations

from .changes import ReloadUnits, RequestUnit, SetUnit
from .faults import Fail, UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node
    from .readings import UnitState

SUFFIXES = (".service", ".socket", ".timer", ".target", ".mount", ".automount", ".path", ".slice", ".scope", ".swap", ".device")


NEITHER = ("static", "generated", "indirect", "transient")
"""Units that cannot be enabled or disabled: others start them, or nothing does."""


class Units:
    """Unit names may leave out ``.service``. ``options``: scope (system, user, global), force, no_block."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @staticmethod
    def full_name(name: str) -> str:
        """The name with its suffix."""
        return name if name.endswith(SUFFIXES) else f"{name}.service"

    def state(self, name: str, options: dict[str, Any] | None = None) -> UnitState:
        """A unit as it is now."""
        return self._node.reader.unit(self.full_name(name), options or {})

    def ensure(
        self,
        name: str,
        *,
        active: bool | None = None,
        enabled: bool | None = None,
        masked: bool | None = None,
        options: dict[str, Any] | None = None,
    ) -> bool:
        """Bring the unit to these states, masking first, then enabling, then starting; None leaves an aspect alone."""
        options = options or {}
        full = self.full_name(name)
        changed = False
        for aspect, wanted in (("masked", masked), ("enabled", enabled), ("active", active)):
            if wanted is not None:
                changed = self._ensure_aspect(full, aspect, wanted, options) or changed
        return changed

    def _ensure_aspect(self, name: str, aspect: str, wanted: bool, options: dict[str, Any]) -> bool:
        try:
            state = self._node.reader.unit(name, options)
        except UnknownReading as unknown:
            return self._set(name, aspect, wanted, options, Unknown(unknown.because))
        now = self._now(state, aspect)
        if not state.exists and aspect != "masked" and not now:
            raise _missing(name)
        if now == wanted or (aspect == "enabled" and state.enabled in NEITHER):
            return False
        if aspect == "masked" and wanted and state.path.startswith("/etc/systemd/system/"):
            raise Fail(f"{state.path} is the unit {name} itself, where a mask would have to be; remove that file instead", name=name)
        if state.load == "masked" and aspect != "masked" and wanted:
            raise _masked(name)
        return self._set(name, aspect, wanted, options, _word(aspect, now))

    def _set(self, name: str, aspect: str, wanted: bool, options: dict[str, Any], before: Any) -> bool:
        certain = not isinstance(before, Unknown)
        after = _word(aspect, wanted)
        self._node.record(SetUnit(target=name, before=before, after=after, certain=certain, aspect=aspect, value=wanted, options=options))
        return True

    @staticmethod
    def _now(state: UnitState, aspect: str) -> bool:
        if aspect == "active":
            return state.running
        if aspect == "enabled":
            return state.is_enabled
        return state.load == "masked" or state.enabled == "masked"

    def request(self, name: str, verb: str, options: dict[str, Any] | None = None) -> bool:
        """Restart or reload a unit, whatever its state; a stopped unit is started."""
        options = options or {}
        full = self.full_name(name)
        try:
            state = self._node.reader.unit(full, options)
            before: Any = state.active
            if not state.exists:
                raise _missing(full)
            if state.load == "masked":
                raise _masked(full)
        except UnknownReading as unknown:
            before = Unknown(unknown.because)
        certain = not isinstance(before, Unknown)
        self._node.record(RequestUnit(target=full, before=before, after=f"{verb}ed", verb=verb, options=options, certain=certain))
        return True

    def reload(self, verb: str = "daemon-reload", options: dict[str, Any] | None = None) -> None:
        """Make the service manager read its unit files again (``daemon-reload``) or re-execute (``daemon-reexec``)."""
        self._node.record(ReloadUnits(target="systemd", after=f"{verb}ed", verb=verb, options=options or {}))


def wanted_by(text: str) -> list[tuple[str, str]]:
    """The links that enabling makes, from a unit file's text: ("wants" or "requires", target)."""
    kinds = {"WantedBy": "wants", "RequiredBy": "requires"}
    pairs = (line.partition("=") for line in text.splitlines())
    return [(kinds[key.strip()], target) for key, _, value in pairs if key.strip() in kinds for target in value.split()]


def _missing(name: str) -> Fail:
    return Fail(f"Could not find the requested service {name}; does the package that brings it come in an earlier step?", name=name)


def _masked(name: str) -> Fail:
    return Fail(f"the unit {name} is masked; unmask it first (masked: false)", name=name)


def _word(aspect: str, value: bool) -> str:
    words = {"active": ("stopped", "started"), "enabled": ("disabled", "enabled"), "masked": ("unmasked", "masked")}
    return words[aspect][value]
