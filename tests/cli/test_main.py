"""The frame of the command line: names, exit codes, errors, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest

from provisioner.cli import failures, main
from provisioner.cli.process import process
from provisioner.diagnostics import Diagnostic, Diagnostics, Span
from provisioner.errors import HostFailed, HostUnreachable, InputError, PlanMismatch, Refused, UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(process, "verbosity", 0)


def failing(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command that ends with this error."""

    def fail(*_arguments: Any) -> NoReturn:
        raise error

    monkeypatch.setattr(main, "_invoke", fail)
    return main.run(["apply"])


def provision(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "provisioner", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, **options
    )


def test_help_lists_every_command_and_imports_none_of_them() -> None:
    code = "import sys; from provisioner.cli import main; main.run(['--help']); print(sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert all(f"  {name} " in done.stdout for name in main.COMMANDS)
    assert not {"rich", "jinja2", "yaml", "fabric", "paramiko", "pytest", "testinfra"} & set(done.stdout.splitlines()[-1].split("'"))


@pytest.mark.parametrize("name", sorted(main.COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([name, "--help"]) == 0
    assert "Usage: provision" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such thing"), 1),
        (InputError.of("bad"), 1),
        (click.UsageError("no such option"), 1),
        (HostFailed("install failed"), 2),
        (Refused("stale"), 3),
        (PlanMismatch("other"), 3),
        (HostUnreachable("no route"), 4),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.exceptions.Exit(0), 0),
        (RuntimeError("ours"), 1),
        (BrokenPipeError(), 141),
    ],
)
def test_exit_codes(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(main, "silence_streams", lambda: None)
    assert failing(error, monkeypatch) == code
    assert "Traceback" not in capsys.readouterr().err


def test_all_problems_are_shown_with_their_source_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "site.yml"
    file.write_text("- hosts: all\n  tasks:\n    - cpy: {src: a}\n")
    problems = Diagnostics()
    problems.error("there is no module 'cpy'", Span(str(file), 3, 7), help="did you mean 'copy'?")
    problems.warning("the group gpu is empty", Span(str(file), 1))
    problems.error("something else", Span("<generated>"))
    assert failures.report(InputError(problems)) == 1
    shown = capsys.readouterr().err
    assert f"{file}:3:7: error: there is no module 'cpy'\n  3 |     - cpy: {{src: a}}\n    |       ^\n  help: did you mean 'copy'?" in shown
    assert shown.index("warning: the group gpu") < shown.index("error: there is no")
    assert shown.endswith("2 errors\n")


def test_very_many_problems_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    failures.show(Diagnostic(f"problem {number}") for number in range(80))
    shown = capsys.readouterr().err
    assert "… and 30 more problems" in shown
    assert "80 errors" in shown


def test_a_bug_of_ours_says_so_and_keeps_the_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    process.secrets.add("hunter22")
    failing(RuntimeError("broken with hunter22"), monkeypatch)
    shown = capsys.readouterr().err
    assert "this is a bug in provision: RuntimeError: broken with ********" in shown
    (crash,) = (tmp_path / "cache" / "provision").iterdir()
    assert str(crash) in shown
    assert "Traceback" in crash.read_text()
    assert "hunter22" not in crash.read_text()
    assert crash.stat().st_mode & 0o077 == 0


def test_a_bug_shows_its_traceback_at_three_v(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    process.verbosity = 3
    failing(RuntimeError("broken"), monkeypatch)
    assert "Traceback" in capsys.readouterr().err


def test_secrets_do_not_get_into_errors(capsys: pytest.CaptureFixture[str]) -> None:
    process.secrets.add("hunter23")
    failures.report(UsageError("the password hunter23 is wrong", why="hunter23"))
    assert "hunter23" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["aply"], "there is no command 'aply': did you mean 'apply'?"),
        (["show"], "Missing argument 'FILE'"),
        (["show", "--nonsense", "x"], "No such option"),
    ],
)
def test_misuse(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


PIPE = """
import sys
from provisioner.cli import main
main._invoke = lambda arguments: [print("x" * 99999) for _ in range(99)]
sys.exit(main.run([]))
"""
SLEEP = """
import sys, time
from provisioner.cli import main
main._invoke = lambda arguments: (print("on", flush=True), time.sleep(30))
sys.exit(main.run([]))
"""


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = ["/bin/bash", "-c", '"$0" -c "$1" | head -c 1; exit ${PIPESTATUS[0]}', sys.executable, PIPE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 141
    assert done.stderr == ""


STUBBORN = """
import time
from provisioner.cli import interrupts, main
def invoke(arguments):
    try:
        print("on", flush=True)
        time.sleep(30)
    except KeyboardInterrupt:
        print("stopping", flush=True)
        time.sleep(30)
main._invoke = invoke
main.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interrupt_does_not_wait(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for word in ("on\n", "stopping\n"):
            assert running.stdout.readline() == word
            running.send_signal(number)
        _, shown = running.communicate(timeout=10)
    assert running.returncode == 130
    assert shown == "\ninterrupted: stopping; once more to leave at once\n\ninterrupted again: left at once\n"


def test_interrupts_that_are_to_be_ignored_are() -> None:
    command = ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, STUBBORN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "stopping\n"
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=10)
    assert running.returncode == 130


def test_interrupt_ends_with_130() -> None:
    command = [sys.executable, "-c", SLEEP]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        os.kill(running.pid, signal.SIGINT)
        _, shown = running.communicate(timeout=10)
    assert running.returncode == 130
    assert shown == "interrupted\n"
