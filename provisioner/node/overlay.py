"""The planning side: a Reader and Sink that only notes changes, and folds each into what is read afterwards.

The fold "change → new reading" is the one thing that exists both here and in reality; property tests hold the two together. Three kinds of
not knowing are kept apart:

- *unknown*: a pending step decides it, so a reading raises ``UnknownReading``; the step that needed it is deferred, or its change "maybe";
- *absent underneath while something is pending*: a package being installed or a service being started may bring it: unknown;
- *tainted*: the reading holds now, but a command of unforeseeable effect comes before: the step's changes are not certain.
"""

from __future__ import annotations

from .changes import Change
from .faults import ResultUnknown, UnknownReading
from .overlay_files import OverlayFiles
from .overlay_system import OverlaySystem
from .overlay_units import RUNTIME_PLACES, OverlayUnits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Self

    from .ports import Reader
    from .readings import CommandResult

PATH_KINDS = {
    "write_file",
    "make_directory",
    "make_link",
    "make_hard_link",
    "make_fifo",
    "unpack",
    "remove",
    "set_mode",
    "set_owner",
    "set_times",
}


class Overlay(OverlayFiles, OverlaySystem, OverlayUnits):
    """Copy-on-write over ``base``. ``tainted`` collects, per step, the reason why a reading may have moved; the session resets it.

    ``trial``: there is only this step, and its rehearsal is what somebody wants.
    """

    def __init__(self, base: Reader, *, trial: bool = False) -> None:
        self._base = base
        self.trial = trial
        self._serial = 1
        self._opaque: tuple[int, str] = (0, "")
        self._arrivals: list[tuple[int, str, tuple[str, ...]]] = []
        self.tainted: str | None = None
        self.count = 0
        self._start_files()
        self._start_system()
        self._start_units()

    def fork(self) -> Self:
        """A copy that can be changed without changing this one."""
        twin = type(self)(self._base)
        for name, value in self.__dict__.items():
            twin.__dict__[name] = value.copy() if isinstance(value, (dict, list)) else value
        return twin

    # -- what is pending -----------------------------------------------------------------------------------------------------------

    def pending(self, after: int = 0, path: str = "") -> str | None:
        """Why something absent may still appear, looking only at what was noted after this serial; None when it cannot.

        ``path``: the absent thing is this path; without it, an account, a unit or a value.
        """
        since, because = self._opaque
        if because and since > after:
            return because
        for serial, reason, places in reversed(self._arrivals):
            if serial > after and (not places or path.startswith(places)):
                return reason
        return None

    def opaque_since(self) -> tuple[int, str]:
        """Serial and reason of the newest command whose effect cannot be foreseen; (0, "") without one."""
        return self._opaque

    def read_base(self) -> None:
        """Note that a real reading was used."""
        if self._opaque[1]:
            self.tainted = self._opaque[1]

    def anything_noted(self) -> bool:
        """Whether any change is pending on this node."""
        return self.count > 0

    # -- commands ------------------------------------------------------------------------------------------------------------------

    def query(
        self,
        argv: Sequence[str],
        about: Sequence[tuple[str, str]],
        stdin: bytes | None,
        timeout: float | None,
        environment: dict[str, str],
    ) -> CommandResult:
        """See ``ports.Reader.query``."""
        for kind, name in about:
            because = self._pending_for(kind, name)
            if because:
                raise UnknownReading(because)
        try:
            result = self._base.query(argv, about, stdin, timeout, environment)
        except FileNotFoundError:
            because = self.pending()
            if because:
                raise UnknownReading(because) from None
            raise
        self.read_base()
        return result

    # -- notes ---------------------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Any:
        """Note the change: ``ports.Sink.apply`` of the planning side."""
        if change.KIND == "run_module":
            return change.rehearse(self, change)  # type: ignore[attr-defined]
        self.fold(change)
        if change.KIND in ("run_command", "request"):
            raise ResultUnknown(f"running {change.target}")

    def fold(self, change: Change) -> None:
        """Let later readings see the change."""
        self._serial += 1
        self.count += 1
        getattr(self, f"_fold_{change.KIND}")(change)

    def _fold_run_command(self, change: Change) -> None:
        because = f"running {change.target}"
        touches = getattr(change, "touches", None)
        if touches is None:
            self.taint(because)
            return
        for kind, name in touches:
            self.forget(kind, name, because)

    _fold_run_module = _fold_run_command

    def _fold_request(self, change: Change) -> None:
        """What a request alters is elsewhere."""

    def _fold_reboot(self, change: Change) -> None:
        self._arrive(f"rebooting ({change.target})")

    def _arrive(self, because: str, places: tuple[str, ...] = ()) -> None:
        """From here on, what is absent (below these places, if any are given) may have been brought by this."""
        self._arrivals.append((self._serial, because, places))

    def taint(self, because: str) -> None:
        """From here on anything may have been altered."""
        self._serial += 1
        self._opaque = (self._serial, because)
        self.count += 1

    def forget(self, kind: str, name: str, because: str) -> None:
        """From here on one resource is not known."""
        self._serial += 1
        if kind == "path":
            self.mark_path(name, because)
        else:
            self._forget_system(kind, name, because)
        self._serial += 1

    def doubt(self, change: Change, because: str) -> None:
        """The change may or may not be made: what it would touch is not known afterwards."""
        kind = change.KIND
        if kind in PATH_KINDS:
            self.forget("path", change.target, because)
        elif kind in ("run_command", "run_module"):
            self._fold_run_command(change)
        elif kind in ("install_packages", "remove_packages"):
            self._doubt_packages(change, because)
        elif kind in ("set_unit", "request_unit"):
            self.forget("unit", change.target, because)
            self._arrive(because, RUNTIME_PLACES)
        elif kind in ("put_user", "remove_user"):
            self.forget("user", change.target, because)
        elif kind in ("put_group", "remove_group"):
            self.forget("group", change.target, because)
        elif kind == "set":
            self.forget("value", f"{getattr(change, 'namespace', '')}:{getattr(change, 'key', '')}", because)
        elif kind == "refresh_index":
            self.fold(change)
        elif kind == "reboot":
            self._arrive(because)
        self.count += 1
