"""Commands on a node: their output, their end, and what must not be left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.node import process
from provisioner.node.faults import TimedOut

SH = "/bin/sh"


@pytest.fixture(params=["pidfd", "polling"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel's help to see a command end, and without."""
    if request.param == "polling":
        monkeypatch.delattr(os, "pidfd_open")


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before


def sh(script: str, **options: object) -> process.Finished:
    return process.collect([SH, "-c", script], **options)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def gone(*pids: int) -> bool:
    """Whether all have ended, a moment after they were told to."""
    for _ in range(100):
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.usefixtures("kernel")
def test_both_outputs_and_the_exit_code() -> None:
    end = sh("echo out; echo err >&2; exit 3")
    assert (end.rc, end.stdout, end.stderr, end.timed_out) == (3, b"out\n", b"err\n", False)


def test_a_signal_is_a_negative_code() -> None:
    assert sh("kill -TERM $$").rc == -signal.SIGTERM


@pytest.mark.usefixtures("kernel")
def test_much_output_on_both_sides_at_once() -> None:
    end = sh("head -c 52428800 /dev/zero & head -c 10485760 /dev/zero | tr '\\0' x >&2; wait")
    assert (len(end.stdout), len(end.stderr)) == (50 << 20, 10 << 20)


def test_bytes_stay_bytes() -> None:
    data = bytes(range(256)) * 1000
    assert sh("cat", stdin=data).stdout == data


def test_much_input_and_output_at_once() -> None:
    data = os.urandom(8 << 20)
    assert sh("cat", stdin=data).stdout == data


def test_input_nobody_reads() -> None:
    assert sh("exit 0", stdin=b"x" * (4 << 20)).rc == 0


def test_no_input_is_the_end_of_input() -> None:
    assert sh("cat; echo done").stdout == b"done\n"


@pytest.mark.usefixtures("kernel")
def test_a_background_child_is_not_waited_for_and_lives_on() -> None:
    end = sh("sleep 600 & echo $!")
    child = int(end.stdout)
    assert alive(child)
    os.kill(child, signal.SIGKILL)


@pytest.mark.usefixtures("kernel")
def test_a_deadline_ends_the_whole_group_and_keeps_the_output() -> None:
    started = time.monotonic()
    end = sh("echo $$; sleep 60 & echo $!; wait", timeout=0.3)
    assert time.monotonic() - started < 50
    assert end.timed_out
    assert gone(*(int(pid) for pid in end.stdout.split()))


def test_a_deadline_ends_what_ignores_the_polite_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MERCY", 0.2)
    end = sh("trap '' TERM; echo $$; while :; do sleep 0.1; done", timeout=0.3)
    assert end.timed_out
    assert end.rc == -signal.SIGKILL
    assert gone(int(end.stdout))


def test_run_says_a_deadline_with_an_exception() -> None:
    with pytest.raises(TimedOut, match=r"timed out after 0\.2 s"):
        process.run([SH, "-c", "sleep 5"], timeout=0.2)


def test_an_exception_ends_the_command() -> None:
    class Stop(BaseException):
        pass

    def stop(_number: int, _frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    pids: list[bytes] = []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Stop):
            sh("echo $$; sleep 60", on_output=pids.append)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert gone(int(pids[0]))


def test_what_must_finish_is_not_ended_by_a_deadline() -> None:
    end = sh("sleep 0.4; echo whole", timeout=0.1, uninterruptible=True)
    assert (end.rc, end.stdout, end.timed_out) == (0, b"whole\n", True)


def test_what_must_finish_holds() -> None:
    seen: list[bool] = []
    sh("echo x", uninterruptible=True, on_output=lambda _piece: seen.append(process.held()))
    assert seen == [True]
    assert not process.held()


@pytest.mark.parametrize("name", ["no-such-command", "/no/such/file"])
def test_a_command_that_does_not_exist(name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        process.run([name])
    assert caught.value.filename == name


def test_a_file_that_is_no_command(tmp_path: Path) -> None:
    file = tmp_path / "plain"
    file.write_text("text")
    with pytest.raises(PermissionError):
        process.run([str(file)])
    with pytest.raises(PermissionError):
        process.run(["plain"], env={"PATH": str(tmp_path)})


def test_a_folder_that_does_not_exist() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        process.run([SH, "-c", "pwd"], cwd="/no/such/folder")
    assert caught.value.filename == "/no/such/folder"


def test_the_folder_is_the_commands_alone(tmp_path: Path) -> None:
    here = os.getcwd()
    assert process.run(["pwd"], cwd=str(tmp_path)).out == f"{tmp_path}\n"
    assert os.getcwd() == here


def test_the_commands_own_path_counts(tmp_path: Path) -> None:
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert process.run(["only-here"], env={"PATH": str(tmp_path)}).out == "found\n"


def test_a_session_of_its_own_without_a_terminal() -> None:
    result = process.run([sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid(), os.isatty(0))"])
    assert result.out == "True False\n"


def test_signals_are_as_usual_for_the_command() -> None:
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert process.run([sys.executable, "-c", script]).out == "True\n"
        assert process.run([SH, "-c", "yes | head -n 1; kill -PIPE $$"]).rc == -signal.SIGPIPE
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_as_somebody_else() -> None:
    account = process.Account("nobody")
    end = process.collect(
        [SH, "-c", "id -un; id -Gn; cat"], stdin=b"x", account=account, env=account.environment({"PATH": "/usr/bin:/bin"})
    )
    assert end.stdout.split()[0] == b"nobody"
    assert b"root" not in end.stdout
    with pytest.raises(FileNotFoundError):
        process.collect(["/no/such"], account=account)


def test_no_such_user() -> None:
    with pytest.raises(KeyError):
        process.Account("no-such-user-here")
