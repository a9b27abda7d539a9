"""The foreseen units: what files, packages and earlier requests of the same plan make of them."""

from __future__ import annotations

from .faults import Fail, UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .changes import ReloadUnits, RequestUnit, SetUnit
    from .content import Content
    from .ports import Reader
    from .readings import FileState, UnitState

UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
# A service that starts makes sockets, state and devices; it does not write configuration.
RUNTIME_PLACES = ("/run/", "/var/", "/tmp/", "/dev/", "/proc/", "/sys/")


class OverlayUnits:
    """The units part of ``Overlay``."""

    if TYPE_CHECKING:
        _base: Reader
        _serial: int
        _entries: dict[str, Any]
        _unknown_names: dict[tuple[str, str], str]

        def pending(self, after: int = 0, path: str = "") -> str | None: ...
        def read_base(self) -> None: ...
        def mark_path(self, path: str, because: str) -> None: ...
        def content(self, path: str) -> Content: ...
        def names(self, path: str) -> list[str]: ...
        def _look(self, path: str) -> FileState | None: ...
        def _look_quietly(self, path: str) -> FileState | None: ...
        def _arrive(self, because: str, places: tuple[str, ...] = ()) -> None: ...

    def _start_units(self) -> None:
        self._units: dict[str, dict[str, bool]] = {}
        self._reloaded = 0
        self._loaded: dict[str, int] = {}

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:
        """See ``ports.Reader.unit``."""
        because = self._unknown_names.get(("unit", name))
        if because:
            raise UnknownReading(because)
        try:
            state = self._base.unit(name, options)
        except Fail:
            if self.pending():
                raise UnknownReading(str(self.pending())) from None
            raise
        self.read_base()
        path = self._unit_file(name)
        if state.needs_reload and self._reloaded:
            state = state.evolve(needs_reload=False)
            if not path and state.path and self._look_quietly(state.path) is None:
                state = state.evolve(load="not-found", enabled="", path="")
        if not path and state.exists:
            state = self._without_file(state)
        elif path and not state.exists:
            installable = b"[Install]" in self.content(path).bytes()
            state = state.evolve(load="loaded", active="inactive", sub="dead", enabled="disabled" if installable else "static", path=path)
        elif not path and not state.exists:
            gone = self._entries.get(f"{UNIT_FOLDERS[0]}/{name}")
            if name in self._loaded and gone is not None and gone.serial > self._reloaded:
                raise UnknownReading(f"removing {UNIT_FOLDERS[0]}/{name}")
            because = self.pending()
            if because:
                raise UnknownReading(because)
        return self._as_noted(state, path)

    def _is_wanted(self, name: str) -> bool:
        """Whether a link starts the unit at boot, which a mask hides but leaves in place."""
        top = UNIT_FOLDERS[0]
        if self._look(top) is None:
            return False
        folders = [each for each in self.names(top) if each.endswith((".wants", ".requires"))]
        return any(self._look(f"{top}/{each}/{name}") is not None for each in folders)

    def _without_file(self, state: UnitState) -> UnitState:
        """A unit whose file a pending change removes: systemd goes on with what it has loaded until it reads its files again."""
        entry = self._entries.get(state.path)
        if entry is None or entry.state is not None:
            return state
        noted = self._units.get(state.name, {})
        loaded = noted.get("active", state.active != "inactive") or noted.get("enabled", state.enabled == "enabled")
        if loaded and entry.serial > self._reloaded:
            raise UnknownReading(f"removing {state.path}")
        return state.evolve(load="not-found", enabled="", needs_reload=False, path="")

    def _as_noted(self, state: UnitState, path: str) -> UnitState:
        """A unit as pending changes leave it; ``path``: the pending unit file."""
        noted = self._units.get(state.name, {})
        fields: dict[str, Any] = {}
        if "active" in noted:
            fields["active"] = "active" if noted["active"] else "inactive"
        if "enabled" in noted:
            fields["enabled"] = "enabled" if noted["enabled"] else "disabled"
        if noted.get("masked"):
            fields.update(load="masked", enabled="masked")
        elif "masked" in noted and state.load == "masked":
            if path or any(self._look(f"{folder}/{state.name}") is not None for folder in UNIT_FOLDERS[1:]):
                fields["load"] = "loaded"
                fields.setdefault("enabled", "enabled" if self._is_wanted(state.name) else "disabled")
            else:
                fields.update(load="not-found", enabled="")
        if path:
            # A link that is there stays whatever the new file says; and what systemd has not loaded cannot be stale.
            enabled = fields.get("enabled", state.enabled)
            if enabled in ("disabled", "static"):
                fields["enabled"] = "disabled" if b"[Install]" in self.content(path).bytes() else "static"
            loaded = fields.get("active", state.active) != "inactive" or enabled == "enabled"
            written = self._entries[path].serial
            fields["needs_reload"] = loaded and (written > max(self._reloaded, self._loaded.get(state.name, 0)) or state.needs_reload)
        return state.evolve(**fields) if fields else state

    def _unit_file(self, name: str) -> str:
        """The unit file of this name that a pending change writes, or ""."""
        template = f"{name.split('@')[0]}@.{name.rsplit('.', 1)[-1]}" if "@" in name else name
        for folder in UNIT_FOLDERS:
            for candidate in (f"{folder}/{name}", f"{folder}/{template}"):
                entry = self._entries.get(candidate)
                if entry is not None and entry.state is not None and entry.content is not None:
                    return candidate
        return ""

    def _fold_set_unit(self, change: SetUnit) -> None:
        self._unknown_names.pop(("unit", change.target), None)
        self._note_unit(change.target, change.aspect, change.value)
        if isinstance(change.before, Unknown):
            # Only this aspect is known now; without the unit file underneath, the others are not.
            self._unknown_names[("unit", change.target)] = change.before.because
        if change.aspect == "active" and change.value:
            self._arrive(f"starting {change.target}", RUNTIME_PLACES)
        if change.aspect in ("enabled", "masked"):
            for folder in self._wanted_by(change.target):
                self.mark_path(f"{folder}/{change.target}", f"enabling {change.target}")

    def _wanted_by(self, name: str) -> list[str]:
        """The folders in which enabling puts links, from the unit file's [Install] section."""
        path = self._unit_file(name) or next((f"{folder}/{name}" for folder in UNIT_FOLDERS if self._look_quietly(f"{folder}/{name}")), "")
        folders = ["/etc/systemd/system"] if not path.startswith("/etc/systemd/system/") else []
        if path:
            from .units import wanted_by

            text = self.content(path).bytes().decode("utf-8", "replace")
            folders += [f"{UNIT_FOLDERS[0]}/{target}.{kind}" for kind, target in wanted_by(text)]
        return folders

    def _note_unit(self, name: str, aspect: str, value: bool) -> None:
        """What runs or is wanted has been loaded as its file was then."""
        noted = self._units.setdefault(name, {})
        if value and not (noted.get("active") or noted.get("enabled")):
            try:
                state = self._base.unit(name, {})
            except Fail:
                state = None
            if state is None or (state.active == "inactive" and state.enabled != "enabled"):
                self._loaded[name] = self._serial
        noted[aspect] = value

    def _fold_request_unit(self, change: RequestUnit) -> None:
        self._note_unit(change.target, "active", True)
        self._arrive(f"{change.verb}ing {change.target}", RUNTIME_PLACES)

    def _fold_reload_units(self, change: ReloadUnits) -> None:  # noqa: ARG002 - all units are read again, whatever the verb
        self._reloaded = self._serial
