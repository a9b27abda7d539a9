"""git, with a repository of our own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.modules.steps import Steps, converge, shown

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="modules act as root")
WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(place: Path, *words: str) -> str:
    argv = ["git", "-C", str(place), "-c", "protocol.file.allow=always", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, **WHO}).stdout.strip()


def commit(place: Path, name: str, text: str) -> str:
    (place / name).write_text(text)
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", text)
    return git(place, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    place = tmp_path / "origin"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, "a", "one")
    git(place, "tag", "v1")
    commit(place, "a", "two")
    return place


def test_clone_update_and_pin(origin: Path, tmp_path: Path) -> None:
    dest = tmp_path / "tree"
    params = {"repo": str(origin), "dest": str(dest)}
    made = converge("git", params)
    head = git(origin, "rev-parse", "HEAD")
    assert shown(made) == [f"run_command clone {origin} into {dest}"]
    assert (made["result"]["before"], made["result"]["after"]) == (None, head)
    newer = commit(origin, "a", "three")
    moved = converge("git", params)
    assert (moved["result"]["before"], moved["result"]["after"]) == (head, newer)
    assert (dest / "a").read_text() == "three"
    pinned = converge("git", {**params, "version": "v1"})
    assert (dest / "a").read_text() == "one"
    assert pinned["result"]["before"] == newer
    converge("git", {**params, "version": head})
    assert (dest / "a").read_text() == "two"
    converge("git", {**params, "version": "main"})
    assert git(dest, "rev-parse", "--abbrev-ref", "HEAD") == "main"


def test_local_changes_stay_unless_told(origin: Path, tmp_path: Path) -> None:
    dest = tmp_path / "tree"
    params = {"repo": str(origin), "dest": str(dest)}
    converge("git", params)
    (dest / "a").write_text("mine")
    for mode in ("plan", "apply"):
        failed = Steps(mode).run("git", params)["result"]
        assert failed["failed"]
        assert "Local modifications exist" in failed["msg"]
    converge("git", {**params, "force": True})
    assert (dest / "a").read_text() == "two"


def test_umask_depth_and_a_bare_one(origin: Path, tmp_path: Path) -> None:
    dest = tmp_path / "tree"
    converge("git", {"repo": f"file://{origin}", "dest": str(dest), "depth": 1, "umask": "0077"})
    assert (dest / "a").stat().st_mode & 0o777 == 0o600
    assert git(dest, "rev-list", "--count", "HEAD") == "1"
    converge("git", {"repo": str(origin), "dest": str(tmp_path / "bare"), "bare": True})
    assert (tmp_path / "bare" / "HEAD").is_file()


def test_submodules(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "protocol.file.allow"), ("GIT_CONFIG_VALUE_0", "always")):
        monkeypatch.setenv(name, value)
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q", "-b", "main")
    commit(part, "p", "part")
    git(origin, "submodule", "--quiet", "add", str(part), "sub")
    git(origin, "commit", "-q", "-m", "with a part")
    converge("git", {"repo": str(origin), "dest": str(tmp_path / "tree")})
    assert (tmp_path / "tree" / "sub" / "p").read_text() == "part"
    converge("git", {"repo": str(origin), "dest": str(tmp_path / "flat"), "recursive": False})
    assert not (tmp_path / "flat" / "sub" / "p").exists()


def test_what_cannot_be(origin: Path, tmp_path: Path) -> None:
    (tmp_path / "full" / "x").mkdir(parents=True)
    for params, words in (
        ({"repo": str(origin), "dest": str(tmp_path / "full")}, "is not empty and is no git repository"),
        ({"repo": str(origin), "dest": str(tmp_path / "t"), "version": "nope"}, "has no branch, tag or commit nope"),
        ({"repo": str(tmp_path / "none"), "dest": str(tmp_path / "t")}, "does not appear to be a git repository"),
    ):
        failed = Steps("plan").run("git", params)["result"]
        assert failed["failed"]
        assert words in failed["msg"]
