"""One change in words: a symbol and a line, for reports of runs and of plans.

    +  something comes into being      ~  something becomes different      -  something goes away
    !  something is done (a command, a restart, a reboot)                  ?  it may turn out to be unnecessary

Changes are plain data here, as in documents: ``{"kind", "target", "before", "after", "certain"}``, and what is not known yet is
``{"unknown": because}``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.report.text import cause, clean, one_line

STYLE = {"+": "create", "~": "change", "-": "remove", "!": "act", "?": "maybe"}


@dataclass(frozen=True)
class Line:
    """A change ready to show; ``text`` is clean and on one line. ``maybe``: why it may not be needed, or ''."""

    symbol: str
    text: str
    maybe: str = ""

    @property
    def style(self) -> str:
        """The style of the symbol."""
        return STYLE["?" if self.maybe else self.symbol]

    @property
    def sign(self) -> str:
        """The symbol, with ``?`` before it when the change is not certain."""
        return f"? {self.symbol}" if self.maybe else self.symbol

    @property
    def note(self) -> str:
        """What stands behind the text of a change that is not certain."""
        return f"  (maybe, {cause(self.maybe)})" if self.maybe else ""


def describe(change: Mapping[str, Any], *, planned: bool = False, maybe: str = "") -> Line:
    """The change in words; ``planned`` says ``would run`` where a finished run says ``ran``; ``maybe``: why its step may not happen."""
    kind = str(change.get("kind", ""))
    target = one_line(str(change.get("target", "")))
    before, after = change.get("before"), change.get("after")
    teller = _TELLERS.get(kind)
    if teller is not None:
        symbol, text = teller(target, before, after)
    else:
        symbol, text = _anything(target, before, after)
    if kind == "run_command":
        text = f"{'would run' if planned else 'ran'}: {text}"
    if not change.get("certain", True):
        maybe = unknown_reason(before) or unknown_reason(after) or maybe or "it may not be needed"
    return Line(symbol, text, maybe)


def unknown_reason(value: Any) -> str:
    """Why a value is not known, or '' when it is."""
    if isinstance(value, Mapping) and set(value) == {"unknown"}:
        return one_line(str(value["unknown"]))
    return ""


def _value(value: Any) -> str:
    """A value, short."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        reason = unknown_reason(value)
        if reason:
            return f"(known after {reason})"
        return ", ".join(f"{clean(str(key))} {_value(child)}" for key, child in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(_value(child) for child in value) or "none"
    return one_line(str(value), 100) or '""'


def _details(after: Any, hidden: tuple[str, ...] = ("kind", "sha256", "size", "target")) -> str:
    """`` (mode 0644, owner root)`` of something new, or nothing."""
    if not isinstance(after, Mapping) or unknown_reason(after):
        return ""
    parts = [f"{clean(str(key))} {_value(value)}" for key, value in after.items() if key not in hidden and value is not None]
    return f" ({', '.join(parts)})" if parts else ""


def _differences(before: Any, after: Any) -> str:
    """`` (content, mode 0644 → 0600)`` between two descriptions, or nothing."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping) or unknown_reason(before) or unknown_reason(after):
        return _details(after)
    parts = []
    if "sha256" in after and before.get("sha256") != after.get("sha256"):
        parts.append("content")
    parts += [
        f"{clean(str(key))} {_value(before.get(key))} → {_value(value)}"
        for key, value in after.items()
        if key not in ("sha256", "size", "kind") and before.get(key) != value
    ]
    if before.get("kind") and after.get("kind") and before["kind"] != after["kind"]:
        parts.append(f"was a {_value(before['kind'])}")
    return f" ({', '.join(parts)})" if parts else ""


def _anything(target: str, before: Any, after: Any) -> tuple[str, str]:
    if before is None and after is not None:
        return "+", f"{target}: {_value(after)}"
    if after is None and before is not None:
        return "-", f"{target}: {_value(before)}"
    if unknown_reason(before):
        return "~", f"{target}: {_value(after)}"
    return "~", f"{target}: {_value(before)} → {_value(after)}"


def _file(target: str, before: Any, after: Any) -> tuple[str, str]:
    if before is None:
        return "+", f"{target}{_details(after)}"
    return "~", f"{target}{_differences(before, after)}"


def _directory(target: str, _before: Any, after: Any) -> tuple[str, str]:
    return "+", f"{target.rstrip('/')}/{_details(after)}"


def _link(target: str, before: Any, after: Any) -> tuple[str, str]:
    to = _value(after.get("target")) if isinstance(after, Mapping) else _value(after)
    was = before.get("target") if isinstance(before, Mapping) else None
    return ("+" if before is None else "~"), f"{target} → {to}" + (f" (was → {_value(was)})" if was else "")


def _gone(what: str) -> Callable[[str, Any, Any], tuple[str, str]]:
    def tell(target: str, before: Any, _after: Any) -> tuple[str, str]:
        kind = before.get("kind") if isinstance(before, Mapping) else None
        return "-", f"{what}{target}" + (f" ({_value(kind)})" if kind and not what else "")

    return tell


def _attribute(name: str) -> Callable[[str, Any, Any], tuple[str, str]]:
    def tell(target: str, before: Any, after: Any) -> tuple[str, str]:
        if isinstance(after, Mapping) and not unknown_reason(after):
            return "~", f"{target}{_differences(before, after)}"
        was = "" if before is None or unknown_reason(before) else f"{_value(before)} → "
        return "~", f"{target} ({name} {was}{_value(after)})"

    return tell


def _times(target: str, before: Any, after: Any) -> tuple[str, str]:
    if not isinstance(after, Mapping):
        return "~", f"{target} (times)"
    old = before if isinstance(before, Mapping) else {}
    moved = [key for key in after if old.get(key) != after[key]] or list(after)
    shown = ", ".join(f"{clean(str(key))} {_instant(after[key])}" for key in moved)
    return "~", f"{target} ({shown})"


def _instant(value: Any) -> str:
    if not isinstance(value, (int, float)):
        return _value(value)
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value)) + " UTC"


def _packages(target: str, before: Any, after: Any) -> tuple[str, str]:
    if not isinstance(after, Mapping) or unknown_reason(after):
        return "+", f"package {target}"
    old = before if isinstance(before, Mapping) else {}
    reasons = {unknown_reason(version) for version in after.values()}
    if len(reasons) == 1 and "" not in reasons:
        names = sorted(map(str, after), key=lambda name: (name.startswith("("), name))
        shown = ", ".join(clean(name.strip("()")) for name in names)
        return "+", f"{'package' if len(names) == 1 else 'packages'} {shown} (versions known after {reasons.pop()})"
    parts = []
    for name, version in sorted(after.items()):
        label = clean(str(name))
        was = old.get(name)
        if version is None:
            parts.append(f"remove {label} {_value(was)}")
        elif was is None:
            parts.append(f"{label} {_value(version)}")
        else:
            parts.append(f"{label} {_value(was)} → {_value(version)}")
    new = any(old.get(name) is None for name in after)
    shown = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
    return ("+" if new else "~"), f"{'package' if len(parts) == 1 else 'packages'} {shown}"


def _packages_gone(target: str, before: Any, _after: Any) -> tuple[str, str]:
    if not isinstance(before, Mapping) or unknown_reason(before):
        return "-", f"package {target}"
    shown = ", ".join(f"{clean(str(name))} {_value(version)}" for name, version in sorted(before.items()))
    return "-", f"{'package' if len(before) == 1 else 'packages'} {shown}"


def _unit(target: str, _before: Any, after: Any) -> tuple[str, str]:
    verbs = {"started": "start", "stopped": "stop", "enabled": "enable", "disabled": "disable", "masked": "mask", "unmasked": "unmask"}
    word = verbs.get(str(after))
    return "!", f"{word} {target}" if word else f"{target}: {_value(after)}"


def _request(target: str, _before: Any, after: Any) -> tuple[str, str]:
    return "!", f"{str(after).removesuffix('ed') if isinstance(after, str) else 'restart'} {target}"


def _reload(target: str, _before: Any, after: Any) -> tuple[str, str]:
    return "!", f"{str(after).removesuffix('ed') if isinstance(after, str) else 'daemon-reload'} ({target})"


def _account(what: str) -> Callable[[str, Any, Any], tuple[str, str]]:
    def tell(target: str, before: Any, after: Any) -> tuple[str, str]:
        if before is None:
            return "+", f"{what} {target}{_details(after)}"
        return "~", f"{what} {target}{_differences(before, after)}"

    return tell


def _command(target: str, _before: Any, _after: Any) -> tuple[str, str]:
    return "!", target


def _act(text: str) -> Callable[[str, Any, Any], tuple[str, str]]:
    def tell(target: str, _before: Any, _after: Any) -> tuple[str, str]:
        return "!", f"{text} ({target})" if target else text

    return tell


_TELLERS: dict[str, Callable[[str, Any, Any], tuple[str, str]]] = {
    "write_file": _file,
    "make_directory": _directory,
    "make_link": _link,
    "make_hard_link": _link,
    "make_fifo": _file,
    "remove": _gone(""),
    "set_mode": _attribute("mode"),
    "set_owner": _attribute("owner"),
    "set_times": _times,
    "install_packages": _packages,
    "remove_packages": _packages_gone,
    "refresh_index": lambda target, _before, _after: ("!", f"refresh the {target or 'package index'}"),
    "set_unit": _unit,
    "request_unit": _request,
    "reload_units": _reload,
    "put_user": _account("user"),
    "remove_user": _gone("user "),
    "put_group": _account("group"),
    "remove_group": _gone("group "),
    "run_command": _command,
    "reboot": _act("reboot"),
}
