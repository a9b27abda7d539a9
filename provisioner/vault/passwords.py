"""Where vault passwords come from: files, executable scripts, client scripts, a prompt, and in which order they are tried.

A source is written ``ID@WHERE``, ``WHERE`` alone meaning the id ``default``; WHERE is ``prompt``, a file that holds the password, or
an executable that prints it. An executable whose name (without extension) ends in ``-client`` is called with ``--vault-id ID``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from provisioner.errors import UsageError
from provisioner.vault.envelope import DEFAULT_ID, Envelope, EnvelopeError, WrongPassword, is_vaulted

PROMPTS = ("prompt", "prompt_ask_vault_pass")
_SCRIPT_SECONDS = 120.0
_NO_SUCH_ID = 2

Ask = Callable[[str], str]
"""Asks a person for a hidden text; the argument is the question."""


@dataclass(frozen=True)
class Password:
    """One password and the vault id it belongs to."""

    vault_id: str
    secret: bytes = field(repr=False)
    origin: str = ""


def split_id(text: str) -> tuple[str, str]:
    """``prod@file`` as ("prod", "file"); without an id, or an empty one, it is ``default``."""
    vault_id, at, where = text.partition("@")
    return (vault_id or DEFAULT_ID, where) if at else (DEFAULT_ID, text)


def load_passwords(
    vault_ids: Iterable[str] = (),
    password_files: Iterable[str] = (),
    *,
    ask_password: bool = False,
    ask: Ask | None = None,
    default_id: str = DEFAULT_ID,
) -> list[Password]:
    """All passwords in the order of trying: ``--vault-id`` ones, then password files, then the prompt of ``--ask-vault-password``.

    Relative paths are taken from the working folder. Raises ``UsageError`` for a source that gives none.
    """
    passwords: list[Password] = []
    sources = [_with_default(text, default_id) for text in vault_ids]
    sources += [(default_id, str(file)) for file in password_files]
    if ask_password:
        sources.append((default_id, "prompt"))
    for vault_id, where in sources:
        if where in PROMPTS:
            passwords.append(_prompted(vault_id, ask))
        else:
            passwords.append(_from_path(vault_id, where, passwords))
    return passwords


def _with_default(text: str, default_id: str) -> tuple[str, str]:
    vault_id, where = split_id(text)
    return (default_id, where) if "@" not in text else (vault_id, where)


def new_password(vault_id: str, ask: Ask) -> Password:
    """Ask twice for a password that is to be used from now on."""
    label = "" if vault_id == DEFAULT_ID else f" ({vault_id})"
    first = ask(f"New vault password{label}")
    if first != ask(f"Confirm new vault password{label}"):
        raise UsageError("the two passwords differ", why="the second entry must repeat the first", help="run the command again")
    return Password(vault_id, _checked(first.encode(), "the prompt"), "prompt")


def _prompted(vault_id: str, ask: Ask | None) -> Password:
    if ask is None:
        raise UsageError(
            f"the vault password of {vault_id!r} can only be asked for on a terminal",
            why="standard input is not a terminal here",
            help="give it by --vault-password-file FILE or --vault-id ID@FILE",
        )
    label = "" if vault_id == DEFAULT_ID else f" ({vault_id})"
    return Password(vault_id, _checked(ask(f"Vault password{label}").encode(), "the prompt"), "prompt")


def _from_path(vault_id: str, where: str, earlier: Sequence[Password]) -> Password:
    path = Path(os.path.expandvars(where)).expanduser()
    if not path.exists():
        raise UsageError(
            f"vault password file {where} does not exist",
            why=f"it should give the password of vault id {vault_id!r}",
            help="name a file or script that exists, or 'prompt'",
        )
    if path.is_dir():
        raise UsageError(f"vault password file {where} is a folder", help="name the file in it that holds the password")
    if os.access(path, os.X_OK):
        return Password(vault_id, _checked(_run(path.absolute(), vault_id), f"script {where}"), where)
    try:
        content = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"cannot read vault password file {where}: {error.strerror}") from error
    if is_vaulted(content):
        content = _open_with(earlier, content, where).strip()
    return Password(vault_id, _checked(content, f"file {where}"), where)


def _open_with(passwords: Sequence[Password], content: bytes, where: str) -> bytes:
    """A password file may itself be encrypted with a password given before it."""
    for password in passwords:
        try:
            return Envelope.parse(content).open(password.secret)
        except WrongPassword:
            continue
        except EnvelopeError as error:
            raise UsageError(f"vault password file {where} is a damaged vault: {error}") from None
    raise UsageError(
        f"vault password file {where} is encrypted, and no password given before it fits",
        help="give the password that opens it first, by an earlier --vault-id",
    )


def _run(script: Path, vault_id: str) -> bytes:
    """The output of a password script; its own standard error goes to the terminal, so that it may ask for a passphrase there."""
    command = [str(script)]
    client = script.stem.endswith("-client")
    if client:
        command += ["--vault-id", vault_id]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=_SCRIPT_SECONDS, check=False)
    except OSError as error:
        raise UsageError(
            f"cannot run vault password script {script}: {error.strerror}",
            why="the file is executable, so it is run, not read",
            help="'chmod -x' it if it holds the password itself; a script needs a '#!' line",
        ) from error
    except subprocess.TimeoutExpired:
        raise UsageError(f"vault password script {script} gave no password within {_SCRIPT_SECONDS:.0f} s") from None
    if client and done.returncode == _NO_SUCH_ID:
        raise UsageError(f"vault password script {script} has no password for vault id {vault_id!r}", why="it ended with exit code 2")
    if done.returncode:
        raise UsageError(f"vault password script {script} failed with exit code {done.returncode}", why="see its messages above")
    return done.stdout.strip()


def _checked(secret: bytes, origin: str) -> bytes:
    if not secret.strip():
        raise UsageError(f"the vault password from {origin} is empty", help="a password has at least one character that is no blank")
    return secret
