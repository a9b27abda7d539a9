"""Packages, live: the manager's database for reading, its solver for foreseeing, the manager itself for changing.

``MANAGERS`` maps a manager's name to the file that knows it; each offers ``Manager(host)`` with ``package``, ``packages``, ``solve``,
``refresh``, ``install`` and ``remove``, the last two returning what else the manager said. A name may say which of several
(``pip:/opt/tool/bin/python``): ``Manager(host, place)``.
"""

from __future__ import annotations

from .faults import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .changes import InstallPackages, RefreshIndex, RemovePackages
    from .readings import PackageState

MANAGERS = {"apt": "managers.apt", "dnf": "managers.dnf", "pip": "managers.pip"}


class LivePackages:
    """The packages part of ``Live``."""

    _managers: dict[str, Any] | None = None

    def _manager(self, name: str) -> Any:
        if self._managers is None:
            self._managers = {}
        if name not in self._managers:
            import importlib

            kind, _, place = name.partition(":")
            if kind not in MANAGERS:
                raise Fail(f"the package manager {kind} is not supported")
            manager = importlib.import_module(f"{__package__}.{MANAGERS[kind]}").Manager
            self._managers[name] = manager(self, place) if place else manager(self)
        return self._managers[name]

    def package(self, manager: str, name: str) -> PackageState | None:
        """See ``ports.Reader.package``."""
        found: PackageState | None = self._manager(manager).package(name)
        return found

    def packages(self, manager: str) -> dict[str, PackageState]:
        """See ``ports.Reader.packages``."""
        found: dict[str, PackageState] = self._manager(manager).packages()
        return found

    def solve(self, manager: str, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """See ``ports.Reader.solve``."""
        answer: dict[str, Any] = self._manager(manager).solve(verb, request, options)
        return answer

    def _install_packages(self, change: InstallPackages) -> Any:
        return self._manager(change.manager).install(change)

    def _remove_packages(self, change: RemovePackages) -> Any:
        return self._manager(change.manager).remove(change)

    def _refresh_index(self, change: RefreshIndex) -> None:
        self._manager(change.manager).refresh(change.options)
