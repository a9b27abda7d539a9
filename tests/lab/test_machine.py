"""What nodes take over from this machine's apt."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.errors import UsageError
from provisioner.lab import backends, machine

DEB822 = """\
# a comment
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security/
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm

Types: deb
URIs: https://other.example/repo
Suites: stable
"""
ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/x.gpg] http://lines.example/debian bookworm main
deb http://lines.example/debian-security bookworm-security main
"""


@pytest.mark.parametrize(
    ("file", "text", "main", "security"),
    [
        ("sources.list.d/debian.sources", DEB822, "http://mirror.example/debian", "http://mirror.example/debian-security"),
        ("sources.list", ONE_LINE, "http://lines.example/debian", "http://lines.example/debian-security"),
        ("sources.list.d/x.list", ONE_LINE, "http://lines.example/debian", "http://lines.example/debian-security"),
        ("sources.list", "", "http://named.example/debian", "http://named.example/debian-security"),
    ],
)
def test_mirrors_are_those_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, main: str, security: str
) -> None:
    monkeypatch.setenv("PROVISION_DEBIAN_MIRROR", "http://named.example/debian")
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    release, updates, fixes = machine.sources("trixie", apt=tmp_path)
    assert (release.uri, updates.uri, fixes.uri) == (main, main, security)
    assert (release.suite, updates.suite, fixes.suite) == ("trixie", "trixie-updates", "trixie-security")


def test_without_any_archive_it_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVISION_UBUNTU_MIRROR", raising=False)
    with pytest.raises(UsageError, match="no Ubuntu archive") as caught:
        machine.sources("jammy", apt=tmp_path)
    assert "PROVISION_UBUNTU_MIRROR" in caught.value.help


def test_components_are_those_the_suite_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for family in ("DEBIAN", "UBUNTU"):
        monkeypatch.setenv(f"PROVISION_{family}_MIRROR", "http://named.example/archive")
    assert "non-free-firmware" in machine.sources("bookworm", apt=tmp_path)[0].components
    assert "non-free-firmware" not in machine.sources("bullseye", apt=tmp_path)[0].components
    assert "universe" in machine.sources("jammy", apt=tmp_path)[0].line()


def test_an_unknown_suite_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="'bokworm'") as caught:
        machine.sources("bokworm")
    assert "bookworm" in caught.value.why
    assert "machine" in caught.value.help


def test_an_unknown_backend_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="'dokcer'") as caught:
        backends.choose("dokcer")
    assert "docker" in caught.value.help


def test_no_backend_says_why_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provisioner.lab.nspawn.lacking", lambda tools: ["systemd-nspawn"])
    monkeypatch.setattr("provisioner.lab.docker.shutil.which", lambda name: None)
    with pytest.raises(Exception, match="no backend") as caught:
        backends.choose("auto")
    assert "nspawn: systemd-nspawn not installed" in getattr(caught.value, "why", "")
    assert "docker: docker is not installed" in getattr(caught.value, "why", "")
