"""Small playbooks run by stock ansible-core and by us: the same outcomes for each host, task and item, and the same messages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from provisioner.engine.options import Options
from provisioner.events import Event, StepFinished, TaskFinished, plain
from provisioner.project.session import Session

CASES = Path(__file__).parent / "peers"
STOCK = shutil.which("ansible-playbook") or "/opt/peers/bin/ansible-playbook"
INVENTORY = "h1 ansible_connection=local\nh2 ansible_connection=local\n"
SUMMARIES = ("All items completed", "One or more items failed", "All items skipped")
Rows = list[tuple[str, str, str, bool, str]]

pytestmark = [pytest.mark.peers, pytest.mark.skipif(not Path(STOCK).exists(), reason="ansible-core is not installed")]


def cases() -> dict[str, dict[str, str]]:
    """Name → files. A case starts with ``#### name``; ``=== path`` starts a further file of it."""
    found = {}
    for path in sorted(CASES.glob("*.cases")):
        for text in path.read_text().split("#### ")[1:]:
            name, _, body = text.partition("\n")
            playbook, *others = body.split("\n=== ")
            files = {"site.yml": playbook + "\n", "inventory.ini": INVENTORY}
            for other in others:
                file, _, content = other.partition("\n")
                files[file.strip()] = content.rstrip("\n") + "\n"
            found[f"{path.stem}: {name.strip()}"] = files
    return found


def row(host: str, task: str, status: str, item: bool, message: Any) -> tuple[str, str, str, bool, str]:
    """One outcome in comparable form: what failed or was skipped may say so in other words."""
    shown = "" if status in ("failed", "ignored", "skipped") or message is None or message in SUMMARIES else json.dumps(plain(message))
    return host, task, status, item, shown


def stock(folder: Path) -> tuple[bool, Rows]:
    """Whether stock ansible-playbook succeeds, and its outcomes."""
    settings = {
        "ANSIBLE_STDOUT_CALLBACK": "recorder",
        "ANSIBLE_CALLBACK_PLUGINS": str(CASES / "plugins"),
        "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",
    }
    done = subprocess.run(
        [STOCK, "-i", "inventory.ini", "site.yml"], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120
    )
    lines = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert lines, done.stdout + done.stderr
    rows = [row(line["host"], line["task"], line["status"], line["item"], line["msg"]) for line in lines if line["task"] != "meta"]
    return done.returncode == 0, rows


def ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, Rows]:
    """The same of ours."""
    monkeypatch.chdir(folder)
    session = Session.open(["inventory.ini"])
    playbooks = session.read(["site.yml"])
    assert not session.loader.context.diagnostics.errors
    events: list[Event] = []
    outcome = session.run(playbooks, Options()).execute(events.append)
    return outcome.exit_code == 0, list(_rows(events))


def _rows(events: Iterable[Event]) -> Iterable[tuple[str, str, str, bool, str]]:
    looped: set[tuple[str, str]] = set()
    for event in events:
        if isinstance(event, StepFinished):
            status = "ignored" if event.ignored and event.item is None else event.status
            message = event.result.get("msg") if event.action == "debug" and isinstance(event.result, Mapping) else None
            if event.item is not None:
                looped.add((event.host, event.address.partition("#")[0]))
            yield row(event.host, event.task, status, event.item is not None, message)
        elif isinstance(event, TaskFinished) and (event.host, event.address) in looped:
            yield row(event.host, event.task, "ignored" if event.ignored else event.status, False, None)


@pytest.mark.parametrize("name", list(cases()))
def test_same_outcomes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("stock", "ours"):
        for file, text in cases()[name].items():
            path = tmp_path / folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
    stock_ok, expected = stock(tmp_path / "stock")
    our_ok, found = ours(tmp_path / "ours", monkeypatch)
    for host in sorted({line[0] for line in expected + found}):
        assert [line for line in found if line[0] == host] == [line for line in expected if line[0] == host]
    assert our_ok == stock_ok
