"""apt and dpkg: the status file for reading, ``apt-get -s`` for foreseeing, ``apt-get`` without questions for changing."""

from __future__ import annotations

import os
import re
import time

from ..faults import Fail
from ..packages import bare_name
from ..readings import PackageState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..changes import InstallPackages, RemovePackages
    from ..live import Live
    from ..readings import CommandResult

STATUS = "/var/lib/dpkg/status"
LOCKS = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock")
QUIET = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_MODE": "l",
    "NEEDRESTART_SUSPEND": "1",
    "UCF_FORCE_CONFFOLD": "1",
    "LC_ALL": "C",
}
LOCK_WAIT = 300.0
UNCACHED = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")
"""Keeps a question from writing apt's cache of packages anew, as it does whenever a source has moved: a plan changes nothing."""
_NEEDED = re.compile(r"Depends: ([a-z0-9][a-z0-9+.-]+)(?::\w+)? \(= ([^)]+)\)")
_CONFFILE = re.compile(r"Configuration file '([^']+)'\n(?: ==> .*\n)+ ==> Keeping old config file")


class Manager:
    """The packages of a Debian-like system."""

    def __init__(self, host: Live) -> None:
        self._host = host
        self._status: tuple[Any, bytes] | None = None

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def _database(self) -> bytes:
        """The status file, led by a newline so that every paragraph starts the same way; read again only when it changed."""
        try:
            seen = os.stat(STATUS)
        except OSError:
            raise Fail("there is no dpkg database here, so apt cannot be used") from None
        stamp = (seen.st_mtime_ns, seen.st_ino, seen.st_size)
        if self._status is None or self._status[0] != stamp:
            with open(STATUS, "rb") as file:
                self._status = (stamp, b"\n" + file.read())
        return self._status[1]

    def package(self, name: str) -> PackageState | None:
        """An installed package; ``name:arch`` asks for that architecture only.

        ``provides:name`` is an installed package that provides a virtual one, ``leftover:name`` one of which only configuration is left.
        """
        if name.startswith("provides:"):
            return self._provider(name[9:])
        if name.startswith("leftover:"):
            return self._leftover(name[9:])
        name, _, arch = name.partition(":")
        data = self._database()
        mark = b"\nPackage: " + name.encode() + b"\n"
        start = data.find(mark)
        while start >= 0:
            end = data.find(b"\n\n", start + 1)
            state = _parse(data[start + 1 : end if end >= 0 else len(data)])
            if state is not None and arch in ("", "any", state.arch, *(["native"] if state.arch else [])):
                return state
            start = data.find(mark, start + 1)
        return None

    def _provider(self, name: str) -> PackageState | None:
        for paragraph in self._database().split(b"\n\n"):
            for line in paragraph.split(b"\n"):
                if line.startswith(b"Provides: ") and name.encode() in (word.split(b" ")[0] for word in line[10:].split(b", ")):
                    return _parse(paragraph.lstrip(b"\n"))
        return None

    def _leftover(self, name: str) -> PackageState | None:
        data = self._database()
        start = data.find(b"\nPackage: " + name.encode() + b"\nStatus: deinstall ok config-files\n")
        return PackageState(name=name, version="", status="config-files") if start >= 0 else None

    def packages(self) -> dict[str, PackageState]:
        """All installed packages; of a package in several architectures the later ones are keyed ``name:arch``."""
        found: dict[str, PackageState] = {}
        for paragraph in self._database().split(b"\n\n"):
            state = _parse(paragraph.lstrip(b"\n"))
            if state is not None:
                found[f"{state.name}:{state.arch}" if state.name in found else state.name] = state
        return found

    # -- foreseeing ----------------------------------------------------------------------------------------------------------------

    def solve(self, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """What apt would do; see ``ports.Reader.solve``. Fails in apt's words when the request cannot be met."""
        wanted = list(request)
        options = {**options, "allow_change_held": True, "allow_downgrade": True}
        while True:
            result = self._run(_argv(verb, wanted, options, simulate=True))
            if result.rc == 0:
                return {**_parse_simulation(result.out), "request": wanted}
            # apt takes the newest of a dependency even where an older one is asked for by name; then that one has to be named, too.
            named = set(map(bare_name, wanted))
            more = [f"{name}={version}" for name, version in _NEEDED.findall(result.out) if name not in named]
            if not more:
                raise _refused(request, result)
            wanted += dict.fromkeys(more)

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def install(self, change: InstallPackages) -> dict[str, Any]:
        """Make the transaction; exact versions of the foreseen set are asked for, so that nothing else can come."""
        options = change.options
        # A changed package loses its hold, and so does what comes along with those that were asked for.
        held = self._held(change.after or change.request) if options.get("allow_change_held") else []
        try:
            with _Policy(options.get("policy_rc_d")):
                return self._transaction(str(options.get("verb", "install")), change.request, options)
        finally:
            left = [name for name in held if self.package(name) is not None]
            if left:
                self._host.tool(["apt-mark", "hold", *left])

    def remove(self, change: RemovePackages) -> dict[str, Any]:
        """Remove what was foreseen."""
        return self._transaction(str(change.options.get("verb", "remove")), change.request, change.options)

    def refresh(self, options: dict[str, Any]) -> None:
        """``apt-get update``; a repository that cannot be fetched is a failure, not a warning."""
        self._wait_for_locks(options)
        for attempt in range(int(options.get("retries", 0)) + 1):
            result = self._run(["apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any"])
            if result.rc == 0:
                return
            time.sleep(min(2**attempt, float(options.get("max_delay", 12))))
        words = (result.err or result.out).strip()
        if result.rc:
            raise Fail(f"apt-get update failed: {words[-3000:]}", rc=result.rc, stdout=result.out, stderr=result.err)

    def _transaction(self, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        self._wait_for_locks(options)
        result = self._run(_argv(verb, request, options, simulate=False), finish=True)
        self._status = None
        if result.rc:
            raise _refused(request, result)
        said: dict[str, Any] = {"stdout": result.out, "stderr": result.err}
        kept = _CONFFILE.findall(result.out + result.err)
        return {**said, "kept_conffiles": [f"{path}.dpkg-dist" for path in kept]} if kept else said

    def _held(self, request: Iterable[str]) -> list[str]:
        names = [word.split("=")[0].split("/")[0] for word in request]
        return [name for name in names if (state := self.package(name)) is not None and state.held]

    def _run(self, argv: Sequence[str], finish: bool = False) -> CommandResult:
        return self._host.execute(argv, environment=QUIET, finish=finish)

    def _wait_for_locks(self, options: dict[str, Any]) -> None:
        """Wait until nobody holds apt's locks, saying who does; apt's own wait would be silent."""
        wait = float(options.get("lock_timeout") or LOCK_WAIT)
        deadline = time.monotonic() + wait
        told = ""
        while True:
            holder = _lock_holder()
            if holder is None:
                return
            if holder != told:
                self._host.progress(f"waiting for the apt lock, held by {holder}")
                told = holder
            if time.monotonic() > deadline:
                raise Fail(f"the apt lock is still held by {holder} after {wait:g} s; wait for it to end or raise lock_timeout")
            time.sleep(0.5)


class _Policy:
    """A policy-rc.d that decides, while packages are installed, whether their services start; an existing one is put back."""

    PATH = "/usr/sbin/policy-rc.d"

    def __init__(self, code: int | None) -> None:
        self._code = code
        self._saved = f"{self.PATH}.provision"

    def __enter__(self) -> None:
        if self._code is None:
            return
        if os.path.exists(self.PATH):
            os.rename(self.PATH, self._saved)
        with open(self.PATH, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexit {self._code}\n")
        os.chmod(self.PATH, 0o755)

    def __exit__(self, *_exception: object) -> None:
        if self._code is None:
            return
        os.unlink(self.PATH)
        if os.path.exists(self._saved):
            os.rename(self._saved, self.PATH)


def _argv(verb: str, request: Sequence[str], options: dict[str, Any], *, simulate: bool) -> list[str]:
    """The apt-get command of a verb: install, upgrade, dist-upgrade, remove, purge, autoremove, build-dep."""
    argv = ["apt-get", "-q"]
    argv += ["-s", "-o", "Debug::NoLocking=1", *UNCACHED] if simulate else ["-y", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=60"]
    for word in options.get("dpkg_options") or ("force-confdef", "force-confold"):
        argv += ["-o", f"Dpkg::Options::=--{word}"]
    if options.get("recommends") is not None:
        argv += ["-o", f"APT::Install-Recommends={'yes' if options['recommends'] else 'no'}"]
    if options.get("default_release"):
        argv += ["-t", str(options["default_release"])]
    flags = {
        "allow_downgrade": "--allow-downgrades",
        "allow_change_held": "--allow-change-held-packages",
        "allow_unauthenticated": "--allow-unauthenticated",
        "only_upgrade": "--only-upgrade",
        "auto_remove": "--auto-remove",
        "fix_broken": "--fix-broken",
        "reinstall": "--reinstall",
    }
    argv += [flag for name, flag in flags.items() if options.get(name)]
    if options.get("force"):
        argv += ["--allow-downgrades", "--allow-remove-essential", "--allow-change-held-packages", "--allow-unauthenticated"]
    return [*argv, verb, "--", *request] if request else [*argv, verb]


def _parse(paragraph: bytes) -> PackageState | None:
    """A paragraph of the status file, if its package is installed (or half-way there)."""
    fields = {}
    for line in paragraph.split(b"\n"):
        if line[:1] not in (b" ", b"\t"):
            key, _, value = line.partition(b": ")
            if key in (b"Package", b"Status", b"Version", b"Architecture", b"Source"):
                fields[key] = value.decode("utf-8", "surrogateescape")
    status = fields.get(b"Status", "").split()
    if len(status) != 3 or status[2] in ("not-installed", "config-files", "half-installed"):
        return None
    return PackageState(
        name=fields[b"Package"],
        version=fields.get(b"Version", ""),
        arch=fields.get(b"Architecture", ""),
        held=status[0] == "hold",
        source=fields.get(b"Source", fields[b"Package"]),
        status=status[2],
    )


def _parse_simulation(text: str) -> dict[str, Any]:
    """The ``Inst``/``Remv`` lines of ``apt-get -s`` and its lists of held and downgraded packages."""
    install: dict[str, tuple[str | None, str]] = {}
    remove: dict[str, str] = {}
    lists: dict[str, list[str]] = {"held": [], "downgrade": [], "kept_back": []}
    heads = {
        "The following held packages will be changed": "held",
        "The following packages will be DOWNGRADED": "downgrade",
        "The following packages have been kept back": "kept_back",
    }
    current: list[str] | None = None
    for line in text.splitlines():
        if line.startswith("  ") and current is not None:
            current += line.split()
            continue
        current = next((lists[name] for head, name in heads.items() if line.startswith(head)), None)
        words = line.split()
        if line.startswith("Inst ") and len(words) > 2:
            old = words[2][1:-1] if words[2].startswith("[") else None
            new = next((word[1:] for word in words[2:] if word.startswith("(")), "")
            install[words[1]] = (old, new)
        elif line.startswith(("Remv ", "Purg ")) and len(words) > 1:
            old = words[2].strip("[]") if len(words) > 2 and words[2].startswith("[") else ""
            remove[words[1]] = old
    for name in install:
        remove.pop(name, None)
    return {"install": install, "remove": remove, **lists}


def _refused(request: Sequence[str], result: CommandResult) -> Fail:
    """apt's refusal, shortened to the lines that say why."""
    lines = [
        line
        for line in (result.err + result.out).splitlines()
        if line.startswith(("E:", "W:")) or " : Depends:" in line or "Conflicts:" in line
    ]
    words = "\n".join(dict.fromkeys(line.strip() for line in lines)) or (result.err or result.out).strip()[-2000:]
    return Fail(f"apt cannot do this for {', '.join(request)}: {words}", rc=result.rc, stdout=result.out, stderr=result.err)


def _lock_holder() -> str | None:
    """Who holds one of apt's locks: ``PID (command line)``, or None."""
    import fcntl
    import struct

    if os.geteuid():
        return None
    layout = struct.Struct("hhqqi4x")
    for path in LOCKS:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, layout.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        finally:
            os.close(descriptor)
        kind, _whence, _start, _length, pid = layout.unpack(answer)
        if kind != fcntl.F_UNLCK:
            return f"process {pid} ({_command_line(pid)})" if pid > 0 else "a process outside this namespace"
    return None


def _command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()[:80]
    except OSError:
        return "ended"
