"""Runs stock ansible-playbook over many expressions at once: a program of its own, found on PATH or in PROVISION_PEERS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


def program(name: str = "ansible-playbook") -> str:
    """The path of a program of ansible-core; skips the test when it is not installed."""
    places = [os.environ.get(variable, "") for variable in ("PROVISION_PEERS", "PEERS_BIN", "PATH")]
    found = shutil.which(name, path=os.pathsep.join(filter(None, places)))
    if found is None:
        pytest.skip(f"{name} of ansible-core is not installed (PATH, PROVISION_PEERS)")
    return found


def play(name: str, variables: Mapping[str, Any], good: Sequence[Any], bad: Sequence[Any], folder: Path) -> dict[str, Any]:
    """A play that writes the types and values of good expressions, and the messages of bad ones, into files of the folder."""
    names = [f"c{index}" for index in range(len(good))]
    pairs = "{{ %s | map('extract', vars) | %s | to_json }}"
    tasks: list[dict[str, Any]] = [
        {"copy": {"dest": str(folder / f"{name}.values"), "content": pairs % (names, "list")}},
        {"copy": {"dest": str(folder / f"{name}.types"), "content": pairs % (names, "map('type_debug') | list")}},
    ]
    for index, expression in enumerate(bad):
        refused = {"set_fact": {f"e{index}": True}}
        tasks.append({"block": [{"set_fact": {f"x{index}": expression}}], "rescue": [refused]})
    refusals = [f"e{index}" for index in range(len(bad))]
    tasks.append(
        {"copy": {"dest": str(folder / f"{name}.refused"), "content": f"{{{{ {refusals} | select('in', vars) | list | to_json }}}}"}}
    )
    return {
        "hosts": "localhost",
        "gather_facts": False,
        "connection": "local",
        "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}", **variables, **dict(zip(names, good, strict=True))},
        "tasks": tasks,
    }


def run(plays: Sequence[dict[str, Any]], folder: Path) -> None:
    """Run the plays in one go."""
    playbook = folder / "site.json"
    playbook.write_text(json.dumps(plays), "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    environment |= {"ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_DEPRECATION_WARNINGS": "0"}
    done = subprocess.run(
        [program(), "-i", "localhost,", str(playbook)], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def answers(name: str, folder: Path) -> tuple[list[Any], list[str], list[str]]:
    """What a play wrote: values, types, and which bad expressions were refused."""
    found = [json.loads((folder / f"{name}.{part}").read_text("utf-8")) for part in ("values", "types", "refused")]
    return found[0], found[1], found[2]
