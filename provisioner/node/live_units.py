"""Units, live: by systemctl."""

from __future__ import annotations

import os

from .faults import Fail
from .readings import UnitState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .changes import ReloadUnits, RequestUnit, SetUnit
    from .readings import CommandResult

PROPERTIES = "LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,FragmentPath,Names,Id,MainPID,Type,Description"


class LiveUnits:
    """The units part of ``Live``."""

    if TYPE_CHECKING:

        def tool(self, argv: Sequence[str], **options: Any) -> CommandResult: ...
        def execute(self, argv: Sequence[str]) -> CommandResult: ...

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:
        """See ``ports.Reader.unit``."""
        _need_systemd()
        result = self.execute([*_systemctl(options), "show", "--no-pager", f"--property={PROPERTIES}", "--", name])
        seen = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
        if not seen:
            raise Fail(f"systemd does not answer about {name}: {result.err.strip()}", rc=result.rc)
        enabled = seen.get("UnitFileState", "")
        load = seen.get("LoadState", "")
        if enabled in ("", "generated") and load == "loaded":
            # Scripts of the old init system: only is-enabled looks at their links.
            answer = self.execute([*_systemctl(options), "is-enabled", "--", name])
            enabled = answer.out.strip().splitlines()[-1] if answer.out.strip() else enabled
        return UnitState(
            name=name,
            load=load,
            active=seen.get("ActiveState", ""),
            sub=seen.get("SubState", ""),
            enabled=enabled,
            needs_reload=seen.get("NeedDaemonReload") == "yes",
            path=seen.get("FragmentPath", ""),
            properties=seen,
        )

    def _set_unit(self, change: SetUnit) -> None:
        verbs = {"active": ("stop", "start"), "enabled": ("disable", "enable"), "masked": ("unmask", "mask")}
        verb = "reenable" if change.options.get("again") else verbs[change.aspect][change.value]
        self._systemctl_verb(verb, change.target, change.options)

    def _request_unit(self, change: RequestUnit) -> None:
        verb = {"restart": "restart", "reload": "reload-or-restart"}.get(change.verb, change.verb)
        self._systemctl_verb(verb, change.target, change.options)

    def _systemctl_verb(self, verb: str, unit: str, options: dict[str, Any]) -> None:
        _need_systemd()
        flags = ["--no-block"] if options.get("no_block") and verb in ("start", "stop", "restart", "reload-or-restart") else []
        if options.get("force") and verb in ("enable", "mask"):
            flags.append("--force")
        argv = [*_systemctl(options), *flags, verb, "--", unit]
        result = self.execute(argv)
        if result.rc == 0:
            return
        words = result.err.strip() or result.out.strip()
        if verb in ("start", "restart", "reload-or-restart"):
            words += self._last_words(unit, options)
        raise Fail(f"systemctl {verb} {unit} failed: {words}", rc=result.rc, stderr=result.err)

    def _last_words(self, unit: str, options: dict[str, Any]) -> str:
        """The unit's last journal lines: the reason is nearly always there and not in systemctl's message."""
        scope = ["--user"] if options.get("scope") == "user" else []
        try:
            result = self.execute(["journalctl", *scope, "--no-pager", "--quiet", "--output=cat", "--lines=8", f"--unit={unit}"])
        except OSError:
            return ""
        return f"\n{result.out.strip()}" if result.out.strip() else ""

    def _reload_units(self, change: ReloadUnits) -> None:
        _need_systemd()
        self.tool([*_systemctl(change.options), change.verb])


def _systemctl(options: dict[str, Any]) -> list[str]:
    scope = options.get("scope", "system")
    return ["systemctl"] if scope in ("system", "") else ["systemctl", f"--{scope}"]


def _need_systemd() -> None:
    if not os.path.isdir("/run/systemd/system"):
        raise Fail("systemd does not run here (no /run/systemd/system), so units cannot be managed")
