"""Runs the cases in ``cases/MODULE.yaml``: each is planned, applied and applied again, on this machine below a temporary folder.

A case, with ``W`` in any text standing for the folder:

    - name: an existing line is replaced
      given: {a.conf: "opt=1\\n"}                # files; a mapping gives content, mode, link, directory: true, or archive: FORMAT
      params: {path: W/a.conf, regexp: "^opt=", line: opt=2}
      changes: [write_file W/a.conf]            # kind and target of each change, in order
      result: {msg: line replaced}              # a part of the return values
      then: {a.conf: "opt=2\\n"}                 # files afterwards; null means absent
      fails: "no such"                          # instead: a part of the failure's message
      repeats: true                             # the second run does the same again (a command); default: it changes nothing
      command: touch x                          # …

What is proved of every case without saying so: planning leaves the folder alone; the plan's changes are those of the apply; the second
apply changes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioner.node.session import Session, find_module
from provisioner.schema.convert import coerce
from tests.modules import archives

CASES = Path(__file__).parent / "cases"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="modules act as root")


def load() -> list[Any]:
    cases = [(file.stem, case) for file in sorted(CASES.glob("*.yaml")) for case in yaml.safe_load(file.read_text()) or ()]
    return [pytest.param(module, case, id=f"{module}: {case['name']}") for module, case in cases]


def placed(value: Any, root: str) -> Any:
    """The value with the folder put in for ``W/`` and a lone ``W``."""
    if isinstance(value, str):
        return value.replace("W/", root + "/") if "W/" in value else (root if value == "W" else value)
    if isinstance(value, dict):
        return {key: placed(child, root) for key, child in value.items()}
    if isinstance(value, list):
        return [placed(child, root) for child in value]
    return value


def prepare(root: Path, given: dict[str, Any]) -> None:
    for name, content in given.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = content if isinstance(content, dict) else {"content": content}
        if entry.get("directory"):
            path.mkdir(exist_ok=True)
        elif "archive" in entry:
            archives.make(path, entry["archive"], entry["members"])
        elif "link" in entry:
            path.symlink_to(placed(entry["link"], str(root)))
            continue
        else:
            text = entry.get("content", "")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if "mode" in entry:
            path.chmod(int(str(entry["mode"]), 8))


def snapshot(root: Path) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        what = os.readlink(path) if path.is_symlink() else (path.read_bytes() if path.is_file() else None)
        seen[str(path.relative_to(root))] = (stat.filemode(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns, what)
    return seen


def run(module: str, params: dict[str, Any], mode: str, step: dict[str, Any] | None = None) -> dict[str, Any]:
    """One step on a session of its own."""

    def ask(kind: str, **data: Any) -> bytes:
        raise AssertionError(f"a case asked the controller for {kind}: {data}")

    values, problems = coerce(find_module(module), params)
    assert not list(problems), [problem.message for problem in problems]
    return Session(mode, {}, ask).run({"id": 1, "module": module, "params": values, **(step or {})})


def settled(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Changes without what the clock puts into the names of backups."""
    return [{**change, "target": re.sub(r"\.\d+\.[\d@:-]+~$", "~", change["target"])} for change in changes]


def shown(changes: list[dict[str, Any]]) -> list[str]:
    return [f"{change['kind']} {change['target']}" for change in changes]


@pytest.mark.parametrize(("module", "case"), load())
def test_case(module: str, case: dict[str, Any], tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    prepare(root, case.get("given", {}))
    case = placed({key: value for key, value in case.items() if key != "given"}, str(root))
    before = snapshot(root)
    planned = run(module, case["params"], "plan", case.get("step"))
    assert snapshot(root) == before, "planning changed something"
    made = run(module, case["params"], "apply", case.get("step"))
    if "fails" in case:
        assert made["result"]["failed"], made["result"]
        assert case["fails"] in made["result"]["msg"]
        if not case.get("fails_late"):
            assert planned["result"]["failed"], planned
            assert case["fails"] in planned["result"]["msg"]
        return
    assert not made["result"]["failed"], made["result"]
    assert not planned["deferred"], planned["deferred"]
    assert settled(planned["changes"]) == settled(made["changes"]), "the plan is not what the apply did"
    if "changes" in case:
        assert shown(made["changes"]) == case["changes"]
    for key, value in case.get("result", {}).items():
        assert made["result"].get(key) == value, (key, made["result"])
    for name, content in case.get("then", {}).items():
        check_file(root / name, content)
    again = run(module, case["params"], "apply", case.get("step"))
    if case.get("repeats"):
        assert shown(again["changes"]) == shown(made["changes"])
    else:
        assert shown(again["changes"]) == [], "the second run changes something"


def check_file(path: Path, wanted: Any) -> None:
    if wanted is None:
        assert not os.path.lexists(path), f"{path.name} exists"
        return
    entry = wanted if isinstance(wanted, dict) else {"content": wanted}
    if "link" in entry:
        assert os.readlink(path) == entry["link"]
        return
    if entry.get("directory"):
        assert path.is_dir()
    if "content" in entry:
        assert path.read_bytes() == (entry["content"].encode() if isinstance(entry["content"], str) else entry["content"])
    if "mode" in entry:
        assert f"{stat.S_IMODE(path.stat().st_mode):04o}" == str(entry["mode"])
