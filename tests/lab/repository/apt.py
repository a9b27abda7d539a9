"""The real apt on an empty machine of its own: nothing of this machine's apt is read or changed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_CONFIG = """\
Dir "{root}";
Dir::State "state";
Dir::State::status "{root}/status";
Dir::Cache "cache";
Dir::Etc "etc";
Dir::Bin::methods "/usr/lib/apt/methods";
Dir::Log "log";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::Languages "none";
"""


class Apt:
    """apt with its own sources, preferences and installed packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("state/lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/sources.list.d", "etc/apt.conf.d", "log"):
            (root / folder).mkdir(parents=True)
        (root / "apt.conf").write_text(_CONFIG.format(root=root), encoding="utf-8")
        self.installed({})

    def source(self, name: str, line: str) -> None:
        """A one-line source."""
        (self.root / f"etc/sources.list.d/{name}.list").write_text(f"{line}\n", encoding="utf-8")

    def pin(self, name: str, text: str) -> None:
        """A preferences file."""
        (self.root / f"etc/preferences.d/{name}").write_text(text, encoding="utf-8")

    def installed(self, packages: dict[str, str], *, hold: tuple[str, ...] = (), depends: dict[str, str] | None = None) -> None:
        """What dpkg has installed."""
        stanzas = []
        for name, version in packages.items():
            status = "hold ok installed" if name in hold else "install ok installed"
            needs = f"Depends: {depends[name]}\n" if depends and name in depends else ""
            head = f"Package: {name}\nStatus: {status}\nVersion: {version}\nArchitecture: amd64\n"
            stanzas.append(f"{head}{needs}Maintainer: x\nDescription: x\n")
        (self.root / "status").write_text("\n".join(stanzas), encoding="utf-8")

    def run(self, *command: str) -> tuple[str, int]:
        """Both streams and the exit code."""
        environment = {**os.environ, "APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout, done.returncode

    def update(self) -> tuple[str, int]:
        """Fetch the lists; an error of a source is an error."""
        return self.run("apt-get", "update", "-o", "APT::Update::Error-Mode=any")

    def candidate(self, name: str) -> str:
        """The version that apt would install."""
        match = re.search(r"Candidate: (\S+)", self.run("apt-cache", "policy", name)[0])
        return match[1] if match else ""

    def plan(self, *arguments: str) -> dict[str, str]:
        """What an install would bring: versions by name. AssertionError with apt's words where it refuses."""
        text, code = self.run("apt-get", "-s", "-o", "Debug::NoLocking=1", *arguments)
        assert code == 0, text
        return {match[1]: match[2] for match in re.finditer(r"(?m)^Inst (\S+) (?:\[[^]]*\] )?\((\S+) ", text)}

    def refusal(self, *arguments: str) -> str:
        """Why apt refuses."""
        text, code = self.run("apt-get", "-s", "-o", "Debug::NoLocking=1", *arguments)
        assert code != 0, text
        return text
