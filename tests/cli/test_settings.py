"""From options, settings and files to what the engine is told: passwords, extra variables, limits, colours, retries."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioner.cli import passwords
from provisioner.cli.options import Choices
from provisioner.cli.process import process, use_color
from provisioner.cli.retry import retry_command
from provisioner.cli.settings import engine_options
from provisioner.cli.variables import read_extra_vars
from provisioner.config import Config
from provisioner.engine.options import Options
from provisioner.errors import InputError, UsageError
from provisioner.vault import Vault


def told(choices: Choices | None = None, config: Config | None = None) -> Options:
    return engine_options(choices or Choices(), config or Config(), {}, mode="apply", command="apply")


def test_the_command_line_wins_over_settings_and_those_over_defaults() -> None:
    config = Config(remote_user="ops", forks=7, become=True, become_method="su", timeout=20, host_key_checking=False, run_tags=("a",))
    default, set_, chosen = (
        told(),
        told(config=config),
        told(Choices(user="me", forks=3, become_method="doas", timeout=5, tags=("b,c", "d")), config),
    )
    assert (default.remote_user, default.forks, default.become, default.become_method) == (None, 50, False, "sudo")
    assert (default.connect_timeout, default.host_key_checking, default.tags) == (10.0, "yes", frozenset({"all"}))
    assert (set_.remote_user, set_.forks, set_.become, set_.become_method) == ("ops", 7, True, "su")
    assert (set_.connect_timeout, set_.host_key_checking, set_.tags) == (20.0, "no", frozenset({"a"}))
    assert (chosen.remote_user, chosen.forks, chosen.become_method) == ("me", 3, "doas")
    assert (chosen.connect_timeout, chosen.tags) == (5.0, frozenset({"b", "c", "d"}))


@pytest.mark.parametrize(
    ("limits", "expected"), [((), None), (("a",), "a"), (("a", "!b"), "a:!b"), (("a,b", "!b"), "a,b,!b"), (("@hosts",), "@hosts")]
)
def test_limits(limits: tuple[str, ...], expected: str | None) -> None:
    assert told(Choices(limit=limits)).limit == expected


# -- passwords -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def prepare(**known: str) -> None:
        monkeypatch.setattr("sys.stdin", _Terminal())
        monkeypatch.setattr("getpass.getpass", lambda question: known[question.split()[0]])

    return prepare


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_passwords_are_asked_for_and_are_secrets(answers: Callable[..., None]) -> None:
    answers(SSH="login-secret", BECOME="")
    options = told(Choices(ask_password=True, ask_become_password=True))
    assert options.password == "login-secret"
    assert options.become_password == "login-secret"  # an empty answer means the same
    assert process.secrets.mask("login-secret") == "********"
    assert "login-secret" not in repr(options)


def test_nobody_is_asked_where_nobody_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UsageError, match="BECOME password can only be asked for on a terminal"):
        told(Choices(ask_become_password=True))


def test_passwords_from_files_and_scripts(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("from-file\nmore\n")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho from-script\n")
    script.chmod(0o755)
    options = told(Choices(password_file=str(plain), become_password_file=str(script)))
    assert (options.password, options.become_password) == ("from-file", "from-script")
    assert told(config=replace(Config(), become_password_file=str(plain))).become_password == "from-file"


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), ("", "there is no password in it")])
def test_password_files_that_give_none(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=message):
        told(Choices(password_file=str(file)))


def test_vault_passwords_come_from_options_or_settings(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"secret-{name}\n")
    vault = passwords.open_vault(Choices(vault_ids=(f"prod@{tmp_path}/one",)), Config(vault_password_file=str(tmp_path / "two")))
    assert vault.ids == ("prod", "default")


# -- extra variables -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a=1 b='x y'"], {"a": "1", "b": "x y"}),
        (['{"a": 1, "b": [1, 2]}'], {"a": 1, "b": [1, 2]}),
        (["{a: yes}", "a=no"], {"a": "no"}),
        (["a=b=c"], {"a": "b=c"}),
        ([""], {}),
    ],
)
def test_extra_variables(texts: list[str], expected: dict[str, Any]) -> None:
    assert read_extra_vars(texts, Vault()) == expected


def test_extra_variables_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("a: 12.10\nb: {c: d}\n")
    assert str(read_extra_vars([f"@{tmp_path}/a.yml"], Vault())["a"]) == "12.10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("novalue", "'novalue' is neither name=value nor @FILE"),
        ("[1]", "a mapping of names to values is wanted"),
        ("a='x", "quote"),
        ("1a=x", "'1a' is no name of a variable"),
        ("@/nowhere", "there is no such file"),
        ("@/", "this is a folder"),
    ],
)
def test_extra_variables_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_extra_vars([text], Vault())


def test_a_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("- 1\n")
    with pytest.raises(InputError, match="variables are a mapping"):
        read_extra_vars([f"@{tmp_path}/a.yml"], Vault())


# -- the process ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "terminal", "wanted", "expected"),
    [
        ({"TERM": "xterm"}, True, None, True),
        ({"TERM": "xterm"}, False, None, False),
        ({"TERM": "dumb"}, True, None, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, None, False),
        ({"FORCE_COLOR": "1"}, False, None, True),
        ({"TERM": "xterm"}, True, False, False),
        ({"NO_COLOR": "1"}, False, True, True),
    ],
)
def test_colours(environment: dict[str, str], terminal: bool, wanted: bool | None, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(process, "color", wanted)
    assert use_color(_Terminal() if terminal else io.StringIO()) is expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["apply", "inv.yml"], "provision apply inv.yml --limit h1,h2"),
        (["apply", "inv.yml", "-l", "gpu", "-D"], "provision apply inv.yml -D --limit h1,h2"),
        (["apply", "--limit=gpu", "inv.yml"], "provision apply inv.yml --limit h1,h2"),
        (["apply", "inv.yml", "-lgpu", "-e", "a='b c'"], "provision apply inv.yml -e 'a='\"'\"'b c'\"'\"'' --limit h1,h2"),
    ],
)
def test_the_command_to_go_on_with(typed: list[str], expected: str) -> None:
    assert retry_command(["h1", "h2"], typed) == expected


def test_the_command_to_go_on_with_shows_no_secret() -> None:
    process.secrets.add("hunter25")
    assert "hunter25" not in retry_command(["h1"], ["apply", "inv.yml", "-e", "password=hunter25"])
