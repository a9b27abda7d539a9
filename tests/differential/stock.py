"""Stock ansible-playbook, with what it says of each host, task and item."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SETTINGS = {
    "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback"),
    "ANSIBLE_CALLBACKS_ENABLED": "outcomes",
    "ANSIBLE_PIPELINING": "1",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
}


def program(name: str = "ansible-playbook") -> str | None:
    """The path of a program of ansible-core; None when it is not installed (``make peers``)."""
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PROVISION_PEERS", ""), os.environ.get("PATH", ""))))


@functools.cache
def version() -> str:
    """The version of ansible-core that is installed."""
    name = program("python")
    assert name is not None
    asked = [name, "-c", "from importlib.metadata import version; print(version('ansible-core'))"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@dataclass(frozen=True)
class Ran:
    """``lines`` as the callback writes them."""

    code: int
    lines: Sequence[Mapping[str, Any]]
    output: str


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without settings that would change what stock does, and with those that these tests need."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    return {**kept, **SETTINGS, **(more or {})}


def run(folder: Path, arguments: Sequence[str], settings: Mapping[str, str]) -> Ran:
    """Run ansible-playbook itself in a folder; notes and output go beside it."""
    name = program()
    assert name is not None
    notes, output = _beside(folder)
    with output.open("w") as file:
        done = subprocess.run(
            [name, *arguments],
            cwd=folder,
            env=environment({**settings, "OUTCOMES": str(notes)}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return _ran(done.returncode, notes, output)


class Forker:
    """Runs ansible-playbook as ``run`` does, without starting it anew; for projects without settings of their own."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        name = program("python")
        assert name is not None
        self._process = subprocess.Popen(
            [name, str(HERE / "forker.py")],
            cwd="/",
            env=environment(settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, arguments: Sequence[str]) -> Ran:
        """See ``run``."""
        notes, output = _beside(folder)
        job = {"folder": str(folder), "arguments": list(arguments), "outcomes": str(notes), "output": str(output)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return _ran(int(self._process.stdout.readline()), notes, output)

    def close(self) -> None:
        """End the program."""
        self._process.communicate()


def _beside(folder: Path) -> tuple[Path, Path]:
    notes = folder.with_name(folder.name + ".outcomes")
    notes.write_text("")
    return notes, folder.with_name(folder.name + ".output")


def _ran(code: int, notes: Path, output: Path) -> Ran:
    return Ran(code, [json.loads(line) for line in notes.read_text().splitlines()], output.read_text())
