"""What has to be typed again to carry out a saved plan: what it does not keep, and no secret."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from provisioner.cli.options import Choices
from provisioner.cli.process import process

_OPTIONS = {
    "vault_ids": "--vault-id",
    "vault_password_files": "--vault-password-file",
    "ask_vault_password": "--ask-vault-password",
    "private_key": "--private-key",
    "timeout": "--timeout",
    "ssh_args": "--ssh-common-args",
    "ask_password": "--ask-pass",
    "password_file": "--connection-password-file",
    "ask_become_password": "--ask-become-pass",
    "become_password_file": "--become-password-file",
}
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
_LEFT_OUT = "…"


def options_again(choices: Choices, *, files_kept: bool) -> list[str]:
    """The options that a later command needs as well, as words of a command line; values of secrets are left out.

    files_kept: a plan keeps the names of files of extra variables, which are needed again only where they stand among other variables.
    """
    words: list[str] = []
    if not files_kept or any(not text.strip().startswith("@") for text in choices.extra_vars):
        for text in choices.extra_vars:
            words += ["-e", _shown(text.strip())]
    for name, option in _OPTIONS.items():
        value = getattr(choices, name)
        if value is True:
            words.append(option)
        elif value:
            for each in value if isinstance(value, tuple) else (value,):
                words += [option, f"{each:g}" if isinstance(each, float) else str(each)]
    return words


def carry_out(choices: Choices, plan: Path) -> str:
    """The command that carries out a plan that these choices made."""
    return shlex.join(["provision", "apply", str(plan), *options_again(choices, files_kept=True)])


def _shown(text: str) -> str:
    """Extra variables as they were given, without values that are secret or are called so."""
    if text.startswith("@"):
        return text
    if text[:1] in "{[":
        return _LEFT_OUT if _SECRET_NAME.search(text) or process.secrets.mask(text) != text else text
    return " ".join(_pairs(text))


def _pairs(text: str) -> Iterator[str]:
    for pair in shlex.split(text):
        name, _, value = pair.partition("=")
        hidden = _SECRET_NAME.search(name) or process.secrets.mask(value) != value
        quoted = shlex.quote(value) if " " in value else value
        yield f"{name}={_LEFT_OUT if hidden else quoted}"
