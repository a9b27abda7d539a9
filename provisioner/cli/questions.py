"""Questions that a run asks the operator: ``vars_prompt`` of a play, and ``pause``."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping
from typing import Any

from provisioner.cli.process import process
from provisioner.errors import Interrupted

YES = (True, "yes", "true", "on", 1)


def answer(prompt: Mapping[str, Any]) -> Any:
    """The answer to an entry of ``vars_prompt``: its default on an empty answer, and where nobody can answer.

    ``private`` answers are not shown while typed, ``confirm`` asks twice, ``encrypt`` gives the hash of the answer.
    """
    default = prompt.get("default")
    if not sys.stdin.isatty():
        return default
    private = prompt.get("private", True) in YES
    question = str(prompt.get("prompt") or prompt["name"])
    shown = f"{question} [{default}]: " if default is not None and not private else f"{question}: "
    while True:
        given = _typed(shown, private)
        if prompt.get("confirm") not in YES or _typed(f"confirm {question}: ", private) == given:
            break
        sys.stderr.write("the two answers differ\n")
    value = given if given or default is None else default
    if private and isinstance(value, str):
        process.secrets.add(value)
    if prompt.get("encrypt") and value:
        from provisioner.templating.filters.passwords import password_hash

        method = str(prompt["encrypt"]).replace("bcrypt", "blowfish").removesuffix("_crypt")
        return password_hash(str(value), hashtype=method, salt=prompt.get("salt"), salt_size=prompt.get("salt_size"))
    return value


def _typed(question: str, private: bool) -> str:
    try:
        if private:
            return getpass.getpass(question)
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
    except EOFError:
        raise Interrupted("no answer was given") from None
    if not line:
        raise Interrupted("no answer was given")
    return line.rstrip("\n")
