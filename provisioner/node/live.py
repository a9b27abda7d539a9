"""The live side: readings straight from the machine, changes straight to it.

``Live`` is Reader and Sink in one; the topics live in files of their own (``live_files``, ``live_accounts``, ``live_packages``, and
``live_units``, which only comes with the modules that need it) and keyed values in ``providers/``. Nothing is decided here.
"""

from __future__ import annotations

import os

from .changes import Change, Reboot, ReloadUnits, Request, RequestUnit, RunCommand, RunModule, SetUnit, SetValue, Unpack
from .faults import Fail
from .live_accounts import LiveAccounts
from .live_files import LiveFiles
from .live_packages import LivePackages
from .readings import CommandResult, ModuleReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Callable

    from .live_units import LiveUnits
    from .readings import UnitState

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Live(LiveFiles, LiveAccounts, LivePackages):
    """The machine this process runs on, as the user it runs as. ``progress`` takes lines about long waits."""

    def __init__(self, progress: Callable[[str], None] = lambda text: None) -> None:
        self.progress = progress
        self._units: LiveUnits | None = None

    def rest(self) -> None:
        """Let go of what a step has opened."""
        if self._units is not None:
            self._units.rest()

    # -- commands ------------------------------------------------------------------------------------------------------------------

    def execute(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout: float | None = None,
        environment: dict[str, str] | None = None,
        chdir: str = "",
        finish: bool = False,
    ) -> CommandResult:
        """Run a program to its end. ``finish``: it may not be killed half-way."""
        from . import process

        env = {"PATH": SEARCH_PATH, **os.environ, **(environment or {})}
        return process.run(list(argv), stdin=stdin, env=env, cwd=chdir or None, timeout=timeout, uninterruptible=finish)

    def tool(self, argv: Sequence[str], **options: Any) -> CommandResult:
        """``execute`` with untranslated output, failing with the tool's own words."""
        from .commands import tool_failed

        environment = {"LC_ALL": "C", **(options.pop("environment", None) or {})}
        result = self.execute(argv, environment=environment, **options)
        if result.rc:
            raise tool_failed(argv, result)
        return result

    def query(
        self,
        argv: Sequence[str],
        about: Sequence[tuple[str, str]],  # noqa: ARG002 - a live answer depends on nothing pending
        stdin: bytes | None,
        timeout: float | None,
        environment: dict[str, str],
    ) -> CommandResult:
        """See ``ports.Reader.query``."""
        return self.execute(argv, stdin=stdin, timeout=timeout, environment={"LC_ALL": "C", **environment})

    def _run_command(self, change: RunCommand) -> CommandResult:
        argv = list(change.argv)
        if change.shell:
            argv = [change.executable or "/bin/sh", "-c", change.shell]
        try:
            return self.execute(
                argv,
                stdin=change.stdin,
                timeout=change.timeout,
                environment=change.environment,
                chdir=change.chdir,
                finish=change.finish,
            )
        except OSError as error:
            place = f" in {change.chdir}" if change.chdir else ""
            because = f"cannot run {argv[0]}{place}: {error.strerror or error}"
            raise Fail(because, changed=False, rc=error.errno or 1, cmd=" ".join(argv), stdout="", stderr="") from None

    def _run_module(self, change: RunModule) -> ModuleReport:
        return ModuleReport(result=change.perform(False))

    def _request(self, change: Request) -> Any:
        return change.perform()

    def _unpack(self, change: Unpack) -> None:
        from .archives import unpack

        unpack(self, change)

    # -- keyed values --------------------------------------------------------------------------------------------------------------

    def value(self, namespace: str, key: str) -> Any:
        """See ``ports.Reader.value``."""
        return provider(namespace).read(self, key)

    def _set_value(self, change: SetValue) -> None:
        provider(change.namespace).write(self, change.key, change.value, change.options)

    # -- units ---------------------------------------------------------------------------------------------------------------------

    def units(self) -> LiveUnits:
        """The units part."""
        if self._units is None:
            from .live_units import LiveUnits

            self._units = LiveUnits(self)
        return self._units

    def unit(self, name: str, options: dict[str, Any]) -> UnitState:
        """See ``ports.Reader.unit``."""
        return self.units().unit(name, options)

    def _set_unit(self, change: SetUnit) -> None:
        self.units().set(change)

    def _request_unit(self, change: RequestUnit) -> None:
        self.units().request(change)

    def _reload_units(self, change: ReloadUnits) -> None:
        self.units().reload(change)

    # -- the rest ------------------------------------------------------------------------------------------------------------------

    def _reboot(self, change: Reboot) -> None:
        # Detached and a moment later, so that the answer to this step still reaches the controller.
        wait = max(1.0, change.delay)
        script = f"sleep {wait}; {change.command or 'systemctl reboot || shutdown -r now || reboot'}"
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                null = os.open(os.devnull, os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(null, number)
                os.closerange(3, 256)
                os.execv("/bin/sh", ["/bin/sh", "-c", script])
            os._exit(0)
        os.wait()

    def apply(self, change: Change) -> Any:
        """Make the change; see ``ports.Sink.apply``."""
        try:
            return getattr(self, f"_{change.KIND}")(change) if change.KIND not in _RENAMED else getattr(self, _RENAMED[change.KIND])(change)
        except OSError as error:
            raise Fail(f"{change.KIND.replace('_', ' ')} {change.target}: {reason(error, change.target)}", path=change.target) from None


_RENAMED = {"set": "_set_value"}


def provider(namespace: str) -> Any:
    """The provider of a namespace: a module of ``providers/`` with ``read(host, key)`` and ``write(host, key, value, options)``."""
    import importlib

    return importlib.import_module(f"{__package__}.providers.{namespace}")


def reason(error: OSError, path: str) -> str:
    """The system's reason why something failed at ``path``, with what to do about the common ones."""
    import errno

    place = os.path.realpath(path)
    while not os.path.ismount(place):
        place = os.path.dirname(place)
    hints = {
        errno.ENOSPC: f"the file system {place} is full; nothing was left half-written",
        errno.EROFS: f"the file system {place} is mounted read-only",
        errno.EDQUOT: f"the disk quota on {place} is used up",
        errno.EACCES: "permission denied; does the task need become: true?",
        errno.EPERM: "not permitted; does the task need become: true?",
    }
    return hints.get(error.errno or 0) or error.strerror or str(error)
