"""Every command in the README is run, in order, on the nodes that the README uses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
LINKS = [*sorted((ROOT / "docs").glob("*.md")), README, ROOT / "CONTRIBUTING.md"]
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL) for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("document", LINKS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_commands_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for name in re.findall(r"^    make ([a-z-]+)", README.read_text(), re.MULTILINE):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of somebody who follows the README: the two nodes are up, nothing is provisioned."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "provision").write_text(f'#!/bin/sh\nexec {sys.executable} -m provisioner "$@"\n')
    (folder / "provision").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    subprocess.run(["provision", "lab", "down", "lab"], env=environment, capture_output=True, check=False)
    subprocess.run(["provision", "lab", "up", "-n", "2"], env=environment, check=True, capture_output=True)
    yield environment
    subprocess.run(["provision", "lab", "down", "lab"], env=environment, capture_output=True, check=False)
    (ROOT / "plan.json").unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", str(ROOT / "my-fleet")], check=False)


@pytest.mark.nodes
@pytest.mark.skipif(os.geteuid() != 0, reason="lab nodes need root")
@pytest.mark.timeout(600)
def test_every_command_works(shell: dict[str, str]) -> None:
    """In one test, since they build on each other."""
    for command in COMMANDS:
        if command.startswith("export PATH"):
            continue
        done = subprocess.run(["bash", "-c", command], env=shell, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
