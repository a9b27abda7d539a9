"""dnf and rpm: the rpm database for reading, ``dnf --assumeno`` for foreseeing, ``dnf -y`` for changing."""

from __future__ import annotations

import os

from ..faults import Fail
from ..readings import PackageState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..changes import InstallPackages, RemovePackages
    from ..live import Live
    from ..readings import CommandResult

QUIET = {"LC_ALL": "C.UTF-8", "COLUMNS": "400", "SYSTEMD_PAGER": "", "NEEDRESTART_SUSPEND": "1"}
DATABASES = ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages", "Packages.db")
FOLDERS = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
FORMAT = r"%{NAME}\t%{EPOCHNUM}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{SOURCERPM}\n"
HEADS = (
    ("Installing", "install"),
    ("Upgrading", "install"),
    ("Reinstalling", "install"),
    ("Downgrading", "downgrade"),
    ("Removing", "remove"),
)
FLAGS = {
    "disable_gpg_check": "--nogpgcheck",
    "allowerasing": "--allowerasing",
    "skip_broken": "--skip-broken",
    "nobest": "--nobest",
    "best": "--best",
    "cacheonly": "--cacheonly",
    "download_only": "--downloadonly",
    "security": "--security",
    "bugfix": "--bugfix",
}
WORDS = {
    "enablerepo": "--enablerepo=",
    "disablerepo": "--disablerepo=",
    "exclude": "--exclude=",
    "disable_excludes": "--disableexcludes=",
    "enable_plugin": "--enableplugin=",
    "disable_plugin": "--disableplugin=",
    "releasever": "--releasever=",
    "conf_file": "--config=",
    "installroot": "--installroot=",
    "download_dir": "--downloaddir=",
}


class Manager:
    """The packages of a system with rpm."""

    def __init__(self, host: Live) -> None:
        self._host = host
        self._known: tuple[Any, dict[str, PackageState]] | None = None

    # -- readings ------------------------------------------------------------------------------------------------------------------

    def packages(self) -> dict[str, PackageState]:
        """All installed packages; of one in several versions or architectures the later ones are keyed by these, too."""
        stamp = tuple(_stamp(f"{folder}/{name}") for folder in FOLDERS for name in DATABASES)
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._ask())
        return self._known[1]

    def _ask(self) -> dict[str, PackageState]:
        try:
            result = self._host.execute(["rpm", "-qa", "--queryformat", FORMAT], environment=QUIET)
        except OSError:
            raise Fail("rpm is not installed here, so dnf cannot be used") from None
        if result.rc:
            raise Fail(f"the rpm database cannot be read: {result.err.strip()}", rc=result.rc)
        found: dict[str, PackageState] = {}
        for line in result.out.splitlines():
            name, epoch, version, arch, source = line.split("\t")
            if name == "gpg-pubkey":
                continue
            full = version if epoch in ("0", "(none)") else f"{epoch}:{version}"
            key = next(each for each in (name, f"{name}:{arch}", f"{name}-{full}") if each not in found or each == f"{name}-{full}")
            found[key] = PackageState(name=name, version=full, arch=arch, source=source)
        return found

    def package(self, name: str) -> PackageState | None:
        """An installed package by name, ``name.arch``, ``name-version`` or ``name-version-release``, or what ``provides:x``."""
        known = self.packages()
        if name.startswith("provides:"):
            return self._provider(name[9:])
        if name in known:
            return known[name]
        for state in known.values():
            bare = state.version.partition(":")[2] or state.version
            version = bare.rpartition("-")[0]
            spellings = (f"{state.name}.{state.arch}", *(f"{state.name}-{each}" for each in (version, bare, f"{bare}.{state.arch}")))
            if name in (*spellings, f"{state.name}-{state.version}"):
                return state
        return None

    def _provider(self, name: str) -> PackageState | None:
        result = self._host.execute(["rpm", "-q", "--whatprovides", "--queryformat", "%{NAME}\n", "--", name], environment=QUIET)
        first = result.out.splitlines()[0] if result.rc == 0 and result.out.strip() else ""
        return self.packages().get(first)

    # -- foreseeing ----------------------------------------------------------------------------------------------------------------

    def solve(self, verb: str, request: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """What dnf would do; see ``ports.Reader.solve``. Fails in dnf's words when the request cannot be met."""
        result = self._run(["--assumeno", *_flags(options), verb, *_asked(request)])
        answer = parse_transaction(result.out, {name: state.version for name, state in self.packages().items()})
        aborted = "Operation aborted" in result.out + result.err
        if result.rc and not aborted and not (answer["install"] or answer["remove"]):
            raise _refused(request, result)
        return answer

    # -- changes -------------------------------------------------------------------------------------------------------------------

    def install(self, change: InstallPackages) -> None:
        """Make the transaction."""
        self._transaction(str(change.options.get("verb", "install")), change.request, change.options)

    def remove(self, change: RemovePackages) -> None:
        """Remove what was foreseen."""
        self._transaction(str(change.options.get("verb", "remove")), change.request, change.options)

    def refresh(self, options: dict[str, Any]) -> None:
        """``dnf makecache``; a repository that cannot be fetched is a failure."""
        result = self._run([*_flags(options), "makecache"])
        if result.rc:
            raise Fail(f"dnf makecache failed: {(result.err or result.out).strip()[-3000:]}", rc=result.rc, stderr=result.err)

    def _transaction(self, verb: str, request: Sequence[str], options: dict[str, Any]) -> None:
        result = self._run(["-y", *_flags(options), verb, *_asked(request)], finish=True)
        self._known = None
        if result.rc:
            raise _refused(request, result)

    def _run(self, argv: Sequence[str], finish: bool = False) -> CommandResult:
        try:
            return self._host.execute(["dnf", *argv], environment=QUIET, finish=finish)
        except OSError:
            raise Fail("dnf is not installed here") from None


def _asked(request: Sequence[str]) -> list[str]:
    """The packages; an option that looks like one would be an accident."""
    return [word for word in request if not word.startswith("-")]


def _flags(options: dict[str, Any]) -> list[str]:
    argv = [flag for name, flag in FLAGS.items() if options.get(name)]
    for name, prefix in WORDS.items():
        value = options.get(name)
        given = value if isinstance(value, (list, tuple)) else [value]
        argv += [f"{prefix}{each}" for each in given if each not in (None, "", False)]
    if options.get("recommends") is False:
        argv.append("--setopt=install_weak_deps=False")
    if options.get("sslverify") is False:
        argv.append("--setopt=sslverify=False")
    if options.get("autoremove") is False:
        argv.append("--setopt=clean_requirements_on_remove=False")
    return argv


def parse_transaction(text: str, installed: dict[str, str]) -> dict[str, Any]:
    """The table that dnf shows before it asks; names too long for the terminal stand on a line of their own."""
    answer: dict[str, Any] = {"install": {}, "remove": {}, "held": [], "downgrade": []}
    kind = ""
    words: list[str] = []
    for line in text.splitlines():
        head = next((each for start, each in HEADS if line.startswith(start)), "")
        if head and line.rstrip().endswith(":"):
            kind, words = head, []
        elif line.startswith(("Transaction Summary", "Skipping", "Enabling", "Is this ok")):
            kind = ""
        elif kind and line.startswith(" ") and not line.lstrip().startswith("replac"):
            words += line.split()
            # name, architecture, version, repository, size; its unit is missing where there is nothing to count
            if len(words) >= 5:
                _row(answer, kind, words, installed)
                words = []
    return answer


def _row(answer: dict[str, Any], kind: str, words: list[str], installed: dict[str, str]) -> None:
    name, version = words[0], words[2].removeprefix("0:")
    if kind == "remove":
        answer["remove"][name] = version
        return
    answer["install"][name] = (installed.get(name), version)
    if kind == "downgrade":
        answer["downgrade"].append(name)


def _refused(request: Sequence[str], result: CommandResult) -> Fail:
    lines = [
        line for line in (result.err + result.out).splitlines() if line.startswith(("Error", "No match", "Unable", " Problem", "  - "))
    ]
    words = "; ".join(dict.fromkeys(line.strip() for line in lines)) or (result.err or result.out).strip()[-2000:]
    return Fail(f"dnf cannot do this for {', '.join(request)}: {words}", rc=result.rc, stdout=result.out, stderr=result.err)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size
