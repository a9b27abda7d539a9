"""File modules where a table of cases does not reach: times, several names, mounts, other users."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.modules.steps import Steps, converge, shown

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="modules act as root")


def test_stat_tells_what_ansible_tells(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("hello\n")
    path.chmod(0o4640)
    (tmp_path / "l").symlink_to("f")
    seen = Steps().run("stat", {"path": str(path)})["result"]["stat"]
    assert (seen["mode"], seen["size"], seen["isreg"], seen["isuid"], seen["pw_name"], seen["nlink"]) == ("4640", 6, True, True, "root", 1)
    assert seen["checksum"] == "f572d396fae9206628714fb2ce00f72e94f2258f"
    assert (seen["rusr"], seen["wgrp"], seen["roth"], seen["readable"], seen["executable"]) == (True, False, False, True, False)
    link = Steps().run("stat", {"path": str(tmp_path / "l")})["result"]["stat"]
    assert (link["islnk"], link["lnk_target"], link["lnk_source"]) == (True, "f", str(path))
    followed = Steps().run("stat", {"path": str(tmp_path / "l"), "follow": True, "checksum_algorithm": "md5"})["result"]["stat"]
    assert followed["isreg"]
    assert followed["checksum"] == "b1946ac92492d2347c6235b4d2611184"


def test_stat_sees_what_the_plan_will_have_made(tmp_path: Path) -> None:
    steps = Steps("plan")
    steps.run("copy", {"dest": str(tmp_path / "new"), "content": "hello\n", "mode": "0600"})
    seen = steps.run("stat", {"path": str(tmp_path / "new")})["result"]["stat"]
    assert (seen["exists"], seen["mode"], seen["size"]) == (True, "0600", 6)
    assert seen["checksum"] == "f572d396fae9206628714fb2ce00f72e94f2258f"


def test_times(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("x")
    wanted = {"path": str(path), "modification_time": "202001020304.05", "access_time": "202001020304.05"}
    assert shown(converge("file", wanted)) == [f"set_times {path}"]
    assert path.stat().st_mtime == time.mktime((2020, 1, 2, 3, 4, 5, 0, 0, -1))
    made = Steps().run("file", {"path": str(path), "state": "touch"})
    assert made["result"]["changed"]
    assert path.stat().st_mtime > time.time() - 60
    kept = Steps().run("file", {"path": str(path), "state": "touch", "modification_time": "preserve", "access_time": "preserve"})
    assert not kept["result"]["changed"]
    assert "is no time of the form" in Steps("plan").run("file", {"path": str(path), "modification_time": "soon"})["result"]["msg"]


def test_temporary_names(tmp_path: Path) -> None:
    made = Steps().run("tempfile", {"path": str(tmp_path), "state": "directory", "prefix": "build.", "suffix": ".d"})["result"]
    assert Path(made["path"]).stat().st_mode & 0o777 == 0o700
    assert Path(made["path"]).name.startswith("build.")
    assert made["path"].endswith(".d")
    file = Steps().run("tempfile", {"path": str(tmp_path)})["result"]
    assert (Path(file["path"]).stat().st_mode & 0o777, file["mode"], file["owner"]) == (0o600, "0600", "root")
    before = sorted(tmp_path.iterdir())
    Steps("plan").run("tempfile", {"path": str(tmp_path)})
    assert sorted(tmp_path.iterdir()) == before


def test_m06_a_file_with_two_names(tmp_path: Path) -> None:
    """The name that is written gets a file of its own, unless the old one is to be written over."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")
    os.link(one, two)
    converge("copy", {"dest": str(one), "content": "new"})
    assert (one.read_text(), two.read_text()) == ("new", "old")
    os.link(one, tmp_path / "three")
    converge("copy", {"dest": str(one), "content": "newer", "unsafe_writes": True})
    assert (tmp_path / "three").read_text() == "newer"


@pytest.fixture
def mounted(tmp_path: Path) -> Any:
    (tmp_path / "real").write_text("old")
    (tmp_path / "target").write_text("")
    done = subprocess.run(["mount", "--bind", str(tmp_path / "real"), str(tmp_path / "target")], capture_output=True)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path / "target")], check=True)


def test_m06_a_file_that_is_mounted(mounted: Path) -> None:
    """It cannot be renamed over, so it is written in place, and that is told."""
    made = converge("copy", {"dest": str(mounted / "target"), "content": "new", "mode": "0640"})
    assert (mounted / "real").read_text() == "new"
    assert (mounted / "real").stat().st_mode & 0o777 == 0o640
    assert made["result"]["warnings"] == [f"{mounted / 'target'} is a mount point, so it is written in place"]


def test_a_step_as_another_user(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent != Path("/") and not parent.stat().st_mode & 0o001:
            pytest.skip("the folder cannot be reached by others")
    refused = Steps().run("copy", {"dest": str(tmp_path / "f"), "content": "x"}, user="daemon")["result"]
    assert refused["failed"]
    assert "does the task need become: true?" in refused["msg"]
    place = tmp_path / "theirs"
    place.mkdir()
    os.chown(place, 1, 1)
    steps = Steps("plan")
    planned = steps.run("copy", {"dest": str(place / "f"), "content": "x"}, user="daemon")
    assert steps.run("stat", {"path": str(place / "f")})["result"]["stat"]["pw_name"] == "daemon"
    made = Steps().run("copy", {"dest": str(place / "f"), "content": "x"}, user="daemon")
    assert planned["changes"] == made["changes"]
    assert (place / "f").stat().st_uid == 1
