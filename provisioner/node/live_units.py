"""Units, live: read over systemd's own socket where that is open to us, else by systemctl, and changed by systemctl."""

from __future__ import annotations

import os

from . import bus
from .faults import Fail
from .readings import UnitState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .changes import ReloadUnits, RequestUnit, SetUnit
    from .live import Live

PROPERTIES = ("LoadState", "ActiveState", "SubState", "UnitFileState", "NeedDaemonReload", "FragmentPath", "Names", "Id", "Description")
OF_KIND: dict[str, dict[str, tuple[str, ...]]] = {".service": {"Service": ("MainPID", "Type")}, ".mount": {"Mount": ("Type",)}}
"""Interface → properties that only units with this suffix have."""


class LiveUnits:
    """The units part of ``Live``, which asks for it when a step first needs it."""

    def __init__(self, host: Live) -> None:
        self._host = host
        self._bus: bus.Bus | None = None

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:
        """See ``ports.Reader.unit``."""
        _need_systemd()
        seen = self._told(name) if options.get("scope", "system") in ("system", "") else {}
        seen = seen or self._shown(name, options)
        enabled = seen.get("UnitFileState", "")
        load = seen.get("LoadState", "")
        if enabled in ("", "generated") and load == "loaded":
            # Scripts of the old init system: only is-enabled looks at their links.
            answer = self._host.execute([*_systemctl(options), "is-enabled", "--", name])
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

    def _told(self, name: str) -> dict[str, str]:
        """The properties as systemd tells them over its socket; nothing where systemctl has to be asked."""
        if not bus.UNIT_NAME.fullmatch(name):
            return {}
        try:
            if self._bus is None:
                self._bus = bus.Bus()
            told = self._bus.unit(name, PROPERTIES, OF_KIND.get(name[name.rindex(".") :], {}))
        except OSError:
            self.rest()  # not root, an old socket after daemon-reexec…
            return {}
        except LookupError:
            return {}  # systemctl has the words for it
        return {key: _shown_value(told[key]) for key in (*PROPERTIES, "MainPID", "Type") if key in told}

    def _shown(self, name: str, options: dict[str, Any]) -> dict[str, str]:
        """The properties as systemctl shows them."""
        names = ",".join((*PROPERTIES, "MainPID", "Type"))
        result = self._host.execute([*_systemctl(options), "show", "--no-pager", f"--property={names}", "--", name])
        seen = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
        if not seen:
            raise Fail(f"systemd does not answer about {name}: {result.err.strip()}", rc=result.rc)
        return seen

    def rest(self) -> None:
        """Let go of the socket until the next reading."""
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def set(self, change: SetUnit) -> None:
        """Start, stop, enable, disable, mask or unmask a unit."""
        verbs = {"active": ("stop", "start"), "enabled": ("disable", "enable"), "masked": ("unmask", "mask")}
        verb = "reenable" if change.options.get("again") else verbs[change.aspect][change.value]
        self._systemctl_verb(verb, change.target, change.options)

    def request(self, change: RequestUnit) -> None:
        """Restart or reload a unit."""
        verb = {"restart": "restart", "reload": "reload-or-restart"}.get(change.verb, change.verb)
        self._systemctl_verb(verb, change.target, change.options)

    def _systemctl_verb(self, verb: str, unit: str, options: dict[str, Any]) -> None:
        _need_systemd()
        flags = ["--no-block"] if options.get("no_block") and verb in ("start", "stop", "restart", "reload-or-restart") else []
        if options.get("force") and verb in ("enable", "mask"):
            flags.append("--force")
        argv = [*_systemctl(options), *flags, verb, "--", unit]
        result = self._host.execute(argv)
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
            result = self._host.execute(["journalctl", *scope, "--no-pager", "--quiet", "--output=cat", "--lines=8", f"--unit={unit}"])
        except OSError:
            return ""
        return f"\n{result.out.strip()}" if result.out.strip() else ""

    def reload(self, change: ReloadUnits) -> None:
        """Make the manager read its files, or start itself, again."""
        _need_systemd()
        self._host.tool([*_systemctl(change.options), change.verb])


def _shown_value(value: Any) -> str:
    """A property as systemctl writes it; in a list it quotes the words with a backslash, as a shell would have them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join('"{}"'.format(word.replace("\\", "\\\\")) if "\\" in word else word for word in value)
    return str(value)


def _systemctl(options: dict[str, Any]) -> list[str]:
    scope = options.get("scope", "system")
    return ["systemctl"] if scope in ("system", "") else ["systemctl", f"--{scope}"]


def _need_systemd() -> None:
    if not os.path.isdir("/run/systemd/system"):
        raise Fail("systemd does not run here (no /run/systemd/system), so units cannot be managed")
