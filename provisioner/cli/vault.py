"""``provision vault``: encrypt, decrypt, view, edit, rekey, create and encrypt-string, with files that ansible-vault reads too."""

from __future__ import annotations

import copy
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from provisioner import config as settings
from provisioner.cli.options import GENERAL, VARIABLES, Choices, shared
from provisioner.cli.passwords import ask, open_vault, terminal
from provisioner.config import Config
from provisioner.errors import UsageError
from provisioner.vault import DEFAULT_ID, Password, Vault, files, is_vaulted, load_passwords, new_password, split_id

_PASSWORDS = VARIABLES[1:]
_FILES = click.argument("paths", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path))
_ENCRYPT_ID = click.option("--encrypt-vault-id", metavar="ID", help="Which of several passwords to encrypt with.")
_OUTPUT = click.option("--output", metavar="FILE", help="Write there instead of in place; - is standard output.")
_LINES_OUTPUT = click.option("--output", metavar="FILE", help="Write there instead of to standard output.")


@click.group("vault")
def command() -> None:
    """Encrypt and decrypt files and values (Ansible Vault 1.1 and 1.2)."""


def _vault(choices: Choices, *, new: bool = False) -> tuple[Vault, Config]:
    """The vault with the passwords given; without any, one is asked for: twice when it is to be a ``new`` one."""
    config = settings.load()
    vault = open_vault(choices, config)
    passwords = vault.passwords
    if not passwords:
        if terminal() is None:
            help_ = "--vault-password-file FILE, --vault-id ID@FILE, or run it on a terminal to be asked"
            raise UsageError("no vault password is given", help=help_)
        passwords = (new_password(DEFAULT_ID, ask) if new else Password(DEFAULT_ID, ask("Vault password").encode(), "prompt"),)
    salt = config.vault_encrypt_salt.encode() if config.vault_encrypt_salt else None
    return Vault(passwords, vault.secrets, match_ids=config.vault_id_match, salt=salt), config


def _sealing(choices: Choices, encrypt_vault_id: str | None) -> tuple[Vault, Password]:
    vault, config = _vault(choices, new=True)
    chosen = encrypt_vault_id or (config.vault_encrypt_identity if len(vault.passwords) > 1 else None)
    return vault, vault.sealing(chosen)


def _one_target(paths: Sequence[Path], output: str | None) -> None:
    if output is not None and len(paths) > 1:
        raise UsageError("--output takes one FILE at a time", help="run the command once for each file")


def _deliver(content: bytes, path: Path | None, output: str | None) -> None:
    """To ``output`` if given, else back to the file, else (standard input was read) to standard output."""
    if output == "-" or (output is None and path is None):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        files.write(Path(output) if output is not None else path or Path(), content)


def _done(what: str) -> None:
    click.echo(what, err=True)


@command.command("encrypt", short_help="Encrypt files, or standard input.")
@shared(*GENERAL, *_PASSWORDS)
@_FILES
@_ENCRYPT_ID
@_OUTPUT
def encrypt(choices: Choices, paths: tuple[Path, ...], encrypt_vault_id: str | None, output: str | None) -> None:
    """Encrypt files in place; without FILE, standard input to standard output."""
    _one_target(paths, output)
    plain = {path: files.read_plain(path) for path in paths}
    vault, password = _sealing(choices, encrypt_vault_id)
    if not paths:
        content = sys.stdin.buffer.read()
        if is_vaulted(content):
            raise UsageError("standard input is encrypted already")
        _deliver(vault.seal_with(content, password).encode(), None, output)
    for path, content in plain.items():
        _deliver(vault.seal_with(content, password).encode(), path, output)
    if paths and output != "-":
        _done(f"encrypted {len(paths)} file{'s' if len(paths) > 1 else ''}")


@command.command("decrypt", short_help="Decrypt files, or standard input.")
@shared(*GENERAL, *_PASSWORDS)
@_FILES
@_OUTPUT
def decrypt(choices: Choices, paths: tuple[Path, ...], output: str | None) -> None:
    """Decrypt files in place; without FILE, standard input to standard output."""
    _one_target(paths, output)
    vault, _ = _vault(choices)
    if not paths:
        content = sys.stdin.buffer.read()
        if not is_vaulted(content.lstrip()):
            raise UsageError("standard input is not encrypted", help="it must begin with $ANSIBLE_VAULT")
        _deliver(vault.open(content), None, output)
    plain = {path: files.decrypted(path, vault) for path in paths}
    for path, content in plain.items():
        _deliver(content, path, output)
    if paths and output != "-":
        _done(f"decrypted {len(paths)} file{'s' if len(paths) > 1 else ''}")


@command.command("view", short_help="Show what encrypted files hold.")
@shared(*GENERAL, *_PASSWORDS)
@_FILES
def view(choices: Choices, paths: tuple[Path, ...]) -> None:
    """Show what encrypted files hold, in a pager on a terminal."""
    _some(paths)
    vault, _ = _vault(choices)
    plain = b"".join(files.decrypted(path, vault) for path in paths)
    if sys.stdout.isatty():
        click.echo_via_pager(plain.decode(errors="backslashreplace"))
    else:
        _deliver(plain, None, None)


@command.command("edit", short_help="Edit encrypted files in $EDITOR.")
@shared(*GENERAL, *_PASSWORDS)
@_FILES
def edit(choices: Choices, paths: tuple[Path, ...]) -> None:
    """Open encrypted files in $EDITOR and encrypt what is saved, under the same id."""
    _some(paths)
    vault, _ = _vault(choices)
    for path in paths:
        changed = files.edit(path, vault, _editor)
        _done(f"{path}: {'encrypted anew' if changed else 'nothing changed'}")


@command.command("create")
@shared(*GENERAL, *_PASSWORDS)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@_ENCRYPT_ID
def create(choices: Choices, path: Path, encrypt_vault_id: str | None) -> None:
    """Write a new encrypted file in $EDITOR."""
    vault, password = _sealing(choices, encrypt_vault_id)
    files.create(path, vault, password, _editor)
    _done(f"{path}: encrypted")


@command.command("rekey", short_help="Encrypt files with another password.")
@shared(*GENERAL, *_PASSWORDS)
@_FILES
@click.option("--new-vault-id", metavar="ID@WHERE", help="The new id, and where its password is.")
@click.option("--new-vault-password-file", metavar="FILE", help="File or script with the new password.")
def rekey(choices: Choices, paths: tuple[Path, ...], new_vault_id: str | None, new_vault_password_file: str | None) -> None:
    """Encrypt files with another password; all must open with the old one before any is changed."""
    _some(paths)
    if new_vault_id and new_vault_password_file:
        raise UsageError("--new-vault-id and --new-vault-password-file exclude each other", help="write --new-vault-id ID@FILE")
    vault, _ = _vault(choices)
    for path in paths:
        files.decrypted(path, vault)
    new = _new_password(new_vault_id, new_vault_password_file)
    for path in paths:
        files.rekey(path, vault, new)
    _done(f"encrypted {len(paths)} file{'s' if len(paths) > 1 else ''} with the new password")


def _new_password(vault_id: str | None, password_file: str | None) -> Password:
    if vault_id and split_id(vault_id)[1] != "prompt":
        return load_passwords([vault_id])[0]
    if password_file:
        return load_passwords([], [password_file])[0]
    if terminal() is None:
        raise UsageError("no new vault password is given", help="--new-vault-password-file FILE or --new-vault-id ID@FILE")
    return new_password(split_id(vault_id)[0] if vault_id else DEFAULT_ID, ask)


@command.command("encrypt-string", short_help="Encrypt values for a variables file.")
@shared(*GENERAL, *_PASSWORDS)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@_ENCRYPT_ID
@click.option("-n", "--name", "names", multiple=True, metavar="NAME", help="Name of the variable; once for each TEXT.")
@click.option("-p", "--prompt", is_flag=True, help="Ask for a text.")
@click.option("--show-input", is_flag=True, help="Show the text while it is typed.")
@click.option("--stdin-name", metavar="NAME", help="Name of the variable for the text from standard input.")
@_LINES_OUTPUT
def encrypt_string(
    choices: Choices,
    texts: tuple[str, ...],
    encrypt_vault_id: str | None,
    names: tuple[str, ...],
    prompt: bool,
    show_input: bool,
    stdin_name: str | None,
    output: str | None,
) -> None:
    """Encrypt values, and print them as lines for a variables file.

    Values on a command line can be seen by other users of this machine while it runs: pipe them in, or use --prompt.
    """
    if len(names) > len(texts) + prompt:
        raise UsageError("there are more --name than texts", help="give one --name for each TEXT")
    vault, password = _sealing(choices, encrypt_vault_id)
    named: list[tuple[str | None, str]] = []
    for index, text in enumerate(texts):
        if text != "-":
            named.append((names[index] if index < len(names) else None, text))
    if prompt:
        name = names[len(texts)] if len(names) > len(texts) else None
        named.append((name, _typed(show_input)))
    if "-" in texts or not (texts or prompt):
        named.append((stdin_name, _piped()))
    blocks = [_block(name, vault.seal_with(text.encode(), password)) for name, text in named]
    _deliver("\n".join(blocks).encode(), None, output or "-")


def _typed(show_input: bool) -> str:
    if not show_input:
        return ask("Text to encrypt")
    typed: str = click.prompt("Text to encrypt", err=True)
    return typed


def _piped() -> str:
    if sys.stdin.isatty():
        _done("type the text and end it with Ctrl-D (twice if it does not end with a new line)")
    text = sys.stdin.read()
    if not text:
        raise UsageError("there is no text to encrypt: standard input is empty")
    return text


def _block(name: str | None, envelope: str) -> str:
    """A value for a variables file, indented as Ansible does."""
    lines = "".join(f"          {line}\n" for line in envelope.splitlines())
    return f"{name + ': ' if name else ''}!vault |\n{lines}"


def _some(paths: Sequence[Path]) -> None:
    if not paths:
        raise click.UsageError("name at least one FILE")


def _editor(path: Path) -> None:
    words = shlex.split(os.environ.get("ANSIBLE_EDITOR") or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        done = subprocess.run([*words, str(path)], check=False)
    except OSError as error:
        raise UsageError(f"cannot run the editor {words[0]}: {error.strerror}", help="set EDITOR to one that is installed") from None
    if done.returncode:
        raise UsageError(f"the editor {words[0]} ended with exit code {done.returncode}: nothing was changed")


# Ansible spells it with an underscore.
_spelling = copy.copy(encrypt_string)
_spelling.hidden = True
command.add_command(_spelling, "encrypt_string")
