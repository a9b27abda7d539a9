"""testinfra over an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner.verify.backend import AgentBackend, make_host
from tests.verify.agents import HereAgent


def test_modules_of_testinfra_work(tmp_path: Path) -> None:
    file = tmp_path / "a b"
    file.write_text("héllo\n")
    file.chmod(0o640)
    host = make_host("here", HereAgent)
    assert host.file(str(file)).exists
    assert host.file(str(file)).mode == 0o640
    assert host.file(str(file)).content_string == "héllo\n"
    assert host.user("root").uid == 0
    assert host.check_output("echo %s", "a; b") == "a; b"


def test_bytes_that_are_no_text_survive() -> None:
    assert make_host("here", HereAgent).run("printf 'h\\351'").stdout_bytes == b"h\xe9"


def test_tools_in_sbin_are_found(tmp_path: Path) -> None:
    assert "/usr/sbin" in make_host("here", HereAgent).check_output("echo $PATH")


def test_what_a_command_said_is_readable_where_a_test_failed() -> None:
    said = repr(make_host("here", HereAgent).run("echo out; echo 'no such device' >&2; exit 9"))
    assert said == "(echo out; echo 'no such device' >&2; exit 9 → exit status 9, stdout 'out', stderr 'no such device')"
    assert repr(make_host("here", HereAgent).run("true")) == "(true → exit status 0)"


def test_a_command_without_end_is_cut() -> None:
    backend = AgentBackend("here", HereAgent, deadline=0.2)
    with pytest.raises(TimeoutError, match="no end after 0 s: sleep 9"):
        backend.run("sleep 9")


@pytest.mark.parametrize(
    ("uid", "user", "expected"),
    [
        (0, None, "/bin/sh -c id"),
        (0, "ops", "runuser -u ops -- /bin/sh -c id"),
        (1000, None, "sudo -n -u root /bin/sh -c id"),
    ],
)
def test_becoming_somebody_else(uid: int, user: str | None, expected: str) -> None:
    assert AgentBackend("here", lambda: HereAgent(uid=uid)).get_sudo_command("id", user) == expected


@pytest.mark.parametrize(("verb", "expected"), [("is-enabled", 1), ("is-active", 3), ("status", 4)])
def test_a_unit_that_does_not_exist_is_no_exception(verb: str, expected: int) -> None:
    assert AgentBackend._exit_status(f"systemctl {verb} nosuch", 4) == expected
