"""A small project on this machine, and the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from provisioner.cli import main
from provisioner.cli.process import process
from provisioner.values import Secrets


@dataclass
class Said:
    """What a command ended with and wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it must be."""
        data: dict[str, Any] = json.loads(self.out)
        return data


class Project:
    """A project folder, which is also the working directory."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.write("inventory.yml", "all: {hosts: {here: {ansible_connection: local}}}\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project; ``W`` in it stands for the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("W/", f"{self.folder}/"))
        return path

    def tasks(self, text: str, handlers: str = "") -> None:
        """Make ``playbooks/site.yml`` a play with these tasks."""
        play = "- name: Try\n  hosts: all\n  gather_facts: false\n  tasks:\n"
        play += "".join(f"    {line}\n" for line in text.strip("\n").splitlines())
        if handlers:
            play += "  handlers:\n" + "".join(f"    {line}\n" for line in handlers.strip("\n").splitlines())
        self.write("playbooks/site.yml", play)

    def __call__(self, *arguments: str) -> Said:
        """Run ``provision`` with these arguments."""
        self._capsys.readouterr()
        process.verbosity = 0
        process.secrets = Secrets()
        code = main.run(list(arguments))
        shown = self._capsys.readouterr()
        return Said(code, shown.out, shown.err)

    def path(self, name: str) -> Path:
        """A file of the project."""
        return self.folder / name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_INVENTORY", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(process, "verbosity", 0)
    monkeypatch.setattr(process, "color", None)
    return Project(tmp_path, capsys)
