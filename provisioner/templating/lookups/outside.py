"""Lookups that run commands or make random texts: ``pipe``, ``lines``, ``password``, ``random_string``."""

from __future__ import annotations

import base64
import os
import secrets
import string
import subprocess
from pathlib import Path
from typing import Any

from provisioner.templating.filters.crypt import ALIASES, ALPHABET, SCHEMES, hash_password
from provisioner.templating.lookups.context import Lookup, LookupContext
from provisioner.templating.natural import describe
from provisioner.values import Unknown, UnknownValueError

_TIMEOUT = 600


def _output(context: LookupContext, term: Any) -> str:
    """What a shell command prints, run in the folder of the playbook; a failure raises with what it said."""
    if not isinstance(term, str):
        raise TypeError(f"a command is a text, not {describe(term)}")
    done = subprocess.run(
        term, shell=True, cwd=context.base, capture_output=True, timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL
    )  # a shell is what the lookup promises
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise RuntimeError(f"the command '{term}' ended with {done.returncode}{f': {said}' if said else ''}")
    return done.stdout.decode("utf-8", "surrogateescape")


def pipe(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The output of shell commands, without white space at the end."""
    return [_output(context, term).rstrip() for term in terms]


def lines(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The lines that shell commands print."""
    return [line for term in terms for line in _output(context, term).splitlines()]


_CHARACTERS = {
    "ascii_letters": string.ascii_letters, "ascii_lowercase": string.ascii_lowercase, "ascii_uppercase": string.ascii_uppercase,
    "digits": string.digits, "hexdigits": string.hexdigits, "letters": string.ascii_letters, "lowercase": string.ascii_lowercase,
    "octdigits": string.octdigits, "printable": string.printable, "punctuation": string.punctuation, "uppercase": string.ascii_uppercase,
    "whitespace": string.whitespace,
}  # fmt: skip
_OPTIONS = ("length", "chars", "encrypt", "seed", "ident")
_DEFAULT_CHARACTERS = ["ascii_letters", "digits", ".,:-_"]


def password(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """A random password that is kept in a file: ``PATH length=20 chars=ascii_letters,digits encrypt=sha512_crypt seed=…``.

    ``/dev/null`` keeps nothing. In a plan nothing is created: a password that is not there yet is ``Unknown``.
    """
    return [_password(context, str(term), dict(options)) for term in terms]


def _password(context: LookupContext, term: str, options: dict[str, Any]) -> str:
    words = term.split(" ")
    name: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key in _OPTIONS:
            options[key] = value
        elif word:
            name.append(word)
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise TypeError(f"unrecognized parameter '{min(unknown)}'; known are {', '.join(_OPTIONS)}")
    path = Path(" ".join(name)).expanduser()
    path = path if path.is_absolute() else context.base / path
    kept, salt, ident = _read_password(context, path)
    if kept is None:
        if context.read_only:
            raise UnknownValueError(Unknown(f"the apply makes the password in {path}"))
        kept = _random(int(options.get("length", 20)), _alphabet(options.get("chars", _DEFAULT_CHARACTERS)), options.get("seed"))
    scheme = options.get("encrypt")
    if not scheme:
        _keep(context, path, kept)
        return kept
    kind = SCHEMES.get(ALIASES.get(str(scheme), str(scheme)))
    salt = salt or "".join(secrets.choice(ALPHABET) for _ in range(kind.salt_size if kind else 8))
    ident = options.get("ident") or ident
    hashed = hash_password(kept, str(scheme), salt, ident=ident)
    _keep(context, path, f"{kept} salt={salt}" + (f" ident={ident}" if ident else ""))
    return hashed


def _read_password(context: LookupContext, path: Path) -> tuple[str | None, str | None, str | None]:
    if str(path) == os.devnull or not path.exists():
        return None, None, None
    text = context.read(path).decode("utf-8").rstrip("\n")
    text, _, ident = text.partition(" ident=")
    text, _, salt = text.partition(" salt=")
    return text, salt or None, ident or None


def _keep(context: LookupContext, path: Path, text: str) -> None:
    """Write the file unless it says the same; readable by its owner alone from the first moment on."""
    if str(path) == os.devnull or context.read_only:
        return
    if path.exists() and context.read(path).decode("utf-8").rstrip("\n") == text:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    beside.replace(path)


def _alphabet(chars: Any) -> str:
    """The characters to choose from: names of classes, or characters themselves; ``,,`` is a comma."""
    parts = chars
    if not isinstance(chars, list):
        parts = [","] if ",," in str(chars) else []
        parts += [part for part in str(chars).replace(",,", ",").split(",") if part]
    found = "".join(_CHARACTERS.get(str(part), str(part)) for part in parts)
    if not found:
        raise ValueError("there are no characters to choose from")
    return found


def _random(length: int, alphabet: str, seed: Any) -> str:
    import random

    source: Any = random.Random(seed) if seed is not None else random.SystemRandom()
    return "".join(source.choice(alphabet) for _ in range(length))


def random_string(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """A random text: ``length`` and which characters (``upper``, ``lower``, ``numbers``, ``special``)."""
    del context, terms
    known: dict[str, Any] = {
        "length": 8,
        "upper": True,
        "lower": True,
        "numbers": True,
        "special": True,
        "base64": False,
        "override_special": "",
        "override_all": "",
    }
    known |= {"min_upper": 0, "min_lower": 0, "min_numeric": 0, "min_special": 0, "ignore_similar_chars": False, "similar_chars": "il1LoO0"}
    unknown = set(options) - set(known)
    if unknown:
        raise TypeError(f"option '{min(unknown)}' is not supported; known are {', '.join(sorted(known))}")
    given: dict[str, Any] = {**known, **options}
    kinds = {
        "upper": string.ascii_uppercase,
        "lower": string.ascii_lowercase,
        "numbers": string.digits,
        "special": given["override_special"] or string.punctuation,
    }
    if given["ignore_similar_chars"]:
        kinds = {name: "".join(char for char in chars if char not in given["similar_chars"]) for name, chars in kinds.items()}
    everything = given["override_all"] or "".join(chars for name, chars in kinds.items() if given[name])
    least = {"min_upper": "upper", "min_lower": "lower", "min_numeric": "numbers", "min_special": "special"}
    chosen = [secrets.choice(kinds[kind]) for option, kind in least.items() for _ in range(int(given[option]))]
    chosen += [secrets.choice(everything) for _ in range(int(given["length"]) - len(chosen))]
    secrets.SystemRandom().shuffle(chosen)
    text = "".join(chosen)
    return [base64.b64encode(text.encode()).decode() if given["base64"] else text]


LOOKUPS: dict[str, Lookup] = {"lines": lines, "password": password, "pipe": pipe}

GENERAL: dict[str, Lookup] = {"random_string": random_string}
