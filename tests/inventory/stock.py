"""Asks stock Ansible: one process imports it once and forks for each question, since its start costs most of the time.

Stock is looked for on PATH and in the folder that ``PEERS_BIN`` names. It runs as its own program; nothing of it is in here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

_DRIVER = """
import io, json, os, sys
from ansible.cli.inventory import InventoryCLI
from ansible.parsing.dataloader import DataLoader
from ansible.inventory.manager import InventoryManager

def show(arguments):
    sys.stdout = io.StringIO()
    try:
        InventoryCLI(["ansible-inventory", *arguments]).run()
    except SystemExit:
        pass
    return sys.stdout.getvalue()

def match(sources, pattern, limits):
    manager = InventoryManager(loader=DataLoader(), sources=sources)
    found = []
    for limit in limits:
        manager.subset(limit)
        found.append([host.name for host in manager.get_hosts(pattern)])
    return found

answers = []
for kind, arguments in json.load(sys.stdin):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            answer = {"show": show, "match": match}[kind](*arguments)
        except BaseException as error:
            answer = {"error": str(error)}
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answers.append(json.load(pipe))
    os.waitpid(child, 0)
json.dump(answers, sys.stdout)
"""


def program(name: str) -> str:
    """The path of a program of ansible-core; skips the test when it is not installed."""
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PROVISION_PEERS", ""), os.environ.get("PATH", ""))))
    if found is None:
        pytest.skip(f"{name} of ansible-core is not installed (PATH, PEERS_BIN)")
    return found


def ask(questions: Sequence[tuple[str, Sequence[Any]]], folder: Path) -> list[Any]:
    """The answers to ("show", [arguments]) and ("match", [sources, pattern, limits]) questions, with relative paths below ``folder``."""
    script = Path(program("ansible-inventory"))
    python = script.read_text().partition("\n")[0].removeprefix("#!").strip()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    environment |= {"ANSIBLE_DEPRECATION_WARNINGS": "0", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "home")}
    done = subprocess.run(
        [python, "-c", _DRIVER], input=json.dumps(questions), capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers
