"""pip, for one Python: the manager's name is ``pip:PYTHON``, the interpreter of a virtual environment or of the system."""

from __future__ import annotations

import os

from ..faults import Fail
from ..readings import PackageState
from ..requirements import canonical, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..changes import InstallPackages, RemovePackages
    from ..live import Live
    from ..readings import CommandResult

QUIET = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
LISTING = """
import sys
sys.path = [place for place in sys.path if place]
from importlib.metadata import distributions
for found in distributions():
    if found.metadata["Name"]:
        print(found.metadata["Name"], found.version)
"""


class Manager:
    """The packages of one Python."""

    def __init__(self, host: Live, python: str) -> None:
        self._host = host
        self._python = python

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def packages(self) -> dict[str, PackageState]:
        """All packages by canonical name; none where there is no such Python (yet)."""
        if not os.path.exists(self._python):
            return {}
        result = self._host.execute([self._python, "-c", LISTING])
        lines = result.out.splitlines()
        if result.rc:
            # A Python too old to have importlib.metadata; its pip knows, in several times the time.
            result = self._pip(["list", "--format=freeze"], {})
            lines = [line.replace("==", " ", 1) for line in result.out.splitlines() if "==" in line]
        found: dict[str, PackageState] = {}
        for line in lines:
            name, _, version = line.partition(" ")
            # The first on the search path is the one that is imported.
            found.setdefault(canonical(name), PackageState(name=name, version=version))
        return found

    def package(self, name: str) -> PackageState | None:
        """An installed package."""
        return self.packages().get(canonical(name))

    # -- foreseeing ----------------------------------------------------------------------------------------------------------------

    def solve(self, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """What pip would do; see ``ports.Reader.solve``. A pip before 22.2 cannot say, so then only what is asked for by name counts."""
        before = self.packages()
        if verb == "remove":
            return {"install": {}, "remove": {name: before[name].version for name in map(canonical, request) if name in before}}
        argv = ["install", "--dry-run", "--quiet", "--no-cache-dir", "--report", "-", *_flags(verb, options), *request]
        result = self._pip(argv, options)
        if result.rc and "no such option" in result.err:
            return {"install": _by_name(request, before), "remove": {}}
        if result.rc:
            raise _refused(request, result)
        import json

        install: dict[str, tuple[str | None, str]] = {}
        for entry in json.loads(result.out[result.out.index("{") :])["install"]:
            name = canonical(entry["metadata"]["name"])
            old = before[name].version if name in before else None
            install[name] = (old, entry["metadata"]["version"])
        return {"install": install, "remove": {}}

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def install(self, change: InstallPackages) -> None:
        """Install, upgrade or install again."""
        options = change.options
        result = self._pip(["install", *_flags(str(options.get("verb", "install")), options), *change.request], options, finish=True)
        if result.rc:
            raise _refused(change.request, result)

    def remove(self, change: RemovePackages) -> None:
        """Uninstall."""
        result = self._pip(["uninstall", "-y", *_extra(change.options), *change.request], change.options, finish=True)
        if result.rc:
            raise _refused(change.request, result)

    def refresh(self, options: dict[str, Any]) -> None:
        """pip keeps no index."""
        raise Fail(f"pip has no package index to refresh ({options})")

    def _pip(self, words: Sequence[str], options: dict[str, Any], *, finish: bool = False) -> CommandResult:
        argv = [self._python, "-m", "pip", *words]
        if options.get("umask"):
            argv = ["/bin/sh", "-c", f'umask {options["umask"]}; exec "$@"', "sh", *argv]
        environment = {**QUIET, **(options.get("environment") or {})}
        if options.get("break_system_packages"):
            environment["PIP_BREAK_SYSTEM_PACKAGES"] = "1"
        try:
            return self._host.execute(argv, environment=environment, chdir=str(options.get("chdir") or ""), finish=finish)
        except OSError as error:
            raise Fail(f"cannot run {self._python} -m pip: {error.strerror or error}") from None


def _flags(verb: str, options: dict[str, Any]) -> list[str]:
    flags = {"install": [], "upgrade": ["--upgrade"], "reinstall": ["--upgrade", "--force-reinstall"]}[verb]
    return [*flags, *_extra(options)]


def _extra(options: dict[str, Any]) -> list[str]:
    return [str(word) for word in options.get("extra_args") or ()]


def _by_name(request: Sequence[str], before: dict[str, PackageState]) -> dict[str, tuple[str | None, str]]:
    install: dict[str, tuple[str | None, str]] = {}
    for word in request:
        requirement = parse(word)
        if requirement is not None:
            version = next((version for operator, version in requirement.specs if operator == "=="), "newest")
            install[requirement.name] = (before[requirement.name].version if requirement.name in before else None, version)
        elif not word.startswith("-"):
            install[word] = (None, "as given")
    return install


def _refused(request: Sequence[str], result: CommandResult) -> Fail:
    """pip's refusal, with what to do about the common one."""
    lines = [line for line in result.err.splitlines() if line.startswith("ERROR")] or result.err.strip().splitlines()[-5:]
    words = "; ".join(line.replace("ERROR: ", "", 1).strip() for line in lines)
    if "externally-managed-environment" in result.err:
        words = "this Python belongs to the system's packages; use virtualenv, a package of the system, or break_system_packages: true"
    return Fail(f"pip cannot do this for {' '.join(request)}: {words}", rc=result.rc, stdout=result.out, stderr=result.err)
