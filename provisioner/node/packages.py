"""The packages face of ``Node``: what is installed, and what a package manager would and shall do."""

from __future__ import annotations

from .changes import InstallPackages, RefreshIndex, RemovePackages
from .faults import Fail, UnknownReading
from .wire import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .api import Node
    from .readings import PackageState


# The key in an install's ``after`` which says that further packages may come along.
DEPENDENCIES = "(dependencies)"


class Packages:
    """``manager`` is "apt", "dnf"…; a request is in the manager's own words (``name``, ``name=version``).

    ``said``: what the manager told beside what it did: ``kept_back`` packages, ``kept_conffiles``, its ``stdout`` and ``stderr``.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.said: dict[str, Any] = {}

    def installed(self, manager: str, name: str) -> PackageState | None:
        """An installed package, or None."""
        return self._node.reader.package(manager, name)

    def all(self, manager: str) -> dict[str, PackageState]:
        """All installed packages by name."""
        return self._node.reader.packages(manager)

    def refresh(self, manager: str, options: dict[str, Any] | None = None) -> None:
        """Fetch the index again; later requests are then solved on what it brings."""
        self._node.record(RefreshIndex(target=f"{manager} package index", after="refreshed", manager=manager, options=options or {}))

    def install(self, manager: str, request: Sequence[str], options: dict[str, Any] | None = None, verb: str = "install") -> bool:
        """Install what is asked, after asking the solver for the exact set. ``options`` go to the manager:

        about ((kind, name) pairs the solver's answer depends on), allow_downgrade, allow_change_held, allow_remove (None: any removal
        refused; names: only these), recommends, default_release, force…
        Returns False when the solver says there is nothing to do.
        """
        options = options or {}
        try:
            answer = self._node.reader.solve(manager, verb, request, options)
        except UnknownReading as unknown:
            self._install_unknown(manager, request, {**options, "verb": verb}, Unknown(unknown.because))
            return True
        if answer.get("kept_back"):
            self.said["kept_back"] = answer["kept_back"]
        if not answer["install"] and not answer["remove"]:
            return False
        self._check(answer, options)
        before = {name: old for name, (old, _new) in answer["install"].items()}
        after: dict[str, Any] = {name: new for name, (_old, new) in answer["install"].items()}
        for name, old in answer["remove"].items():
            before[name] = old
            after[name] = None
        self._do(
            InstallPackages(
                target=", ".join(request) or verb,
                before=before,
                after=after,
                manager=manager,
                request=tuple(answer.get("request", request)),
                options={**options, "verb": verb},
            )
        )
        return True

    def _do(self, change: InstallPackages | RemovePackages) -> None:
        self.said.update(self._node.record(change) or {})

    def _install_unknown(self, manager: str, request: Sequence[str], options: dict[str, Any], unknown: Unknown) -> None:
        """Note an install whose exact set only the apply can know; what is certainly missing will certainly be installed."""
        before: dict[str, Any] = {}
        after: dict[str, Any] = {}
        for word in request:
            name = bare_name(word)
            version = word[len(name) :].lstrip("=") if word[len(name) : len(name) + 1] == "=" else ""
            if not name:
                continue
            try:
                state = self._node.reader.package(manager, name)
            except UnknownReading:
                state = None
                before[name] = unknown
            else:
                before[name] = None if state is None else state.version
            after[name] = version if version and "*" not in version else unknown
        certain = any(value is None for value in before.values())
        after[DEPENDENCIES] = unknown
        self._do(
            InstallPackages(
                target=", ".join(request) or str(options["verb"]),
                before=before,
                after=after,
                certain=certain,
                manager=manager,
                request=tuple(request),
                options=options,
            )
        )

    @staticmethod
    def _check(answer: dict[str, Any], options: dict[str, Any]) -> None:
        """Refuse what was not asked for: removals, downgrades, changes of held packages."""
        allowed = options.get("allow_remove") or ()
        extra = [] if allowed is True else sorted(set(answer["remove"]) - set(allowed))
        if extra and not allowed:
            names = ", ".join(f"{name} {answer['remove'][name]}" for name in extra)
            raise Fail(f"the package manager would remove {names}; list these in allow_remove, or remove them in a step of their own")
        if extra:
            raise Fail(f"the package manager would also remove {', '.join(extra)}, which allow_remove does not list")
        downgrades = answer.get("downgrade") or ()
        if downgrades and not options.get("allow_downgrade"):
            moves = ", ".join(f"{name} {answer['install'][name][0]} → {answer['install'][name][1]}" for name in downgrades)
            raise Fail(f"this is a downgrade ({moves}); allow_downgrade: true permits it")
        Packages._check_held(answer, options)

    @staticmethod
    def _check_held(answer: dict[str, Any], options: dict[str, Any]) -> None:
        held = answer.get("held") or ()
        if held and not options.get("allow_change_held"):
            raise Fail(
                f"held by the package manager: {', '.join(held)}; "
                "allow_change_held_packages: true lifts the hold for this step and restores it"
            )

    def remove(self, manager: str, request: Sequence[str], options: dict[str, Any] | None = None, verb: str = "remove") -> bool:
        """Remove packages; the solver's whole set is shown."""
        options = options or {}
        try:
            answer = self._node.reader.solve(manager, verb, request, options)
        except UnknownReading as unknown:
            self._node.record(
                RemovePackages(
                    target=", ".join(request) or verb,
                    before=Unknown(unknown.because),
                    certain=False,
                    manager=manager,
                    request=tuple(request),
                    options={**options, "verb": verb},
                )
            )
            return True
        if not answer["remove"] and not answer["install"]:
            return False
        self._check_held(answer, options)
        self._do(
            RemovePackages(
                target=", ".join(request) or verb,
                before=dict(answer["remove"]),
                after=dict.fromkeys(answer["remove"]),
                manager=manager,
                request=tuple(request),
                options={**options, "verb": verb},
            )
        )
        return True


def bare_name(word: str) -> str:
    """The package a request names, without version, release, architecture and extras; "" for what is no name (options, paths, URLs)."""
    if word.startswith(("-", "/", ".")) or "://" in word:
        return ""
    for index, char in enumerate(word):
        if char in "=<>!~/:[; ":
            return word[:index]
    return word
