"""Login and sudo passwords: asked for, or read from a file or a script; and the passwords of vaults."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

from provisioner.cli.options import Choices
from provisioner.cli.process import process
from provisioner.config import Config
from provisioner.errors import Interrupted, UsageError
from provisioner.vault import Ask, Vault, load_passwords

_SCRIPT_SECONDS = 60


def ask(question: str) -> str:
    """A hidden answer from the terminal; it is a secret from now on."""
    try:
        answer = getpass.getpass(f"{question}: ")
    except EOFError:
        raise Interrupted("no password was given") from None
    process.secrets.add(answer)
    return answer


def terminal() -> Ask | None:
    """``ask`` when somebody can answer."""
    return ask if sys.stdin.isatty() else None


def login_password(choices: Choices, config: Config) -> str | None:
    """The password to log in with, or None."""
    file = choices.password_file or config.connection_password_file
    return _password("SSH password", choices.ask_password or (config.ask_pass and not file), file, "--connection-password-file")


def become_password(choices: Choices, config: Config, login: str | None) -> str | None:
    """The password of sudo or su, or None; an empty answer means that of the login."""
    file = choices.become_password_file or config.become_password_file
    asked = choices.ask_become_password or (config.become_ask_pass and not file)
    return _password("BECOME password", asked, file, "--become-password-file") or (login if asked else None)


def _password(question: str, asked: bool, file: str | None, option: str) -> str | None:
    if asked:
        if terminal() is None:
            raise UsageError(
                f"the {question} can only be asked for on a terminal",
                why="standard input is not a terminal here",
                help=f"give it by {option} FILE",
            )
        return ask(question)
    return _from_file(Path(file).expanduser(), option) if file else None


def _from_file(path: Path, option: str) -> str:
    """The first line of a file, or of what an executable file prints."""
    try:
        if os.access(path, os.X_OK) and path.is_file():
            done = subprocess.run([str(path.absolute())], stdout=subprocess.PIPE, timeout=_SCRIPT_SECONDS, check=True, text=True)
            text = done.stdout
        else:
            text = path.read_text("utf-8")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {path}: {getattr(error, 'strerror', None) or error}") from None
    password = text.splitlines()[0] if text else ""
    if not password:
        raise UsageError(f"{option} {path}: there is no password in it")
    process.secrets.add(password)
    return password


def open_vault(choices: Choices, config: Config) -> Vault:
    """The vault of a run, with all passwords that options and settings name."""
    files = choices.vault_password_files or ((config.vault_password_file,) if config.vault_password_file else ())
    passwords = load_passwords(
        (*choices.vault_ids, *config.vault_identity_list),
        files,
        ask_password=choices.ask_vault_password or config.ask_vault_pass,
        ask=terminal(),
        default_id=config.vault_identity,
    )
    return Vault(passwords, process.secrets, match_ids=config.vault_id_match)
