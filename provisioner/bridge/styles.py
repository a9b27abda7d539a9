"""How a module's file wants to be run, told from its text: the kinds that Ansible's developer guide describes."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["python", "json", "words", "complete"]

COMMON = b"#<<INCLUDE_ANSIBLE_MODULE_COMMON>>"
ARGUMENTS = b"<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"
_LIBRARY = b"from ansible.module_utils.basic import *"
_IMPORTS = re.compile(rb"^\s*(?:from|import)\s+(?:ansible\.module_utils|ansible_collections\.\w+\.\w+\.plugins\.|\.+\w*)", re.MULTILINE)
_CHECKS = b"supports_check_mode"


@dataclass(frozen=True)
class Style:
    """A module's text as it is run. ``shebang``: the words of its first line, if it has one.

    honest: whether it may be asked what it would do. Only modules that speak of check mode are: others would just do it.
    """

    kind: Kind
    text: bytes
    shebang: tuple[str, ...] = ()
    honest: bool = False


def style_of(path: Path) -> Style:
    """Read a module's file and tell how it is run. Raises ``OSError``."""
    text = path.read_bytes()
    if _is_binary(text):
        return Style("json", text)
    text = text.replace(COMMON, _LIBRARY)
    shebang = _shebang(text)
    if _is_python(text):
        return Style("python", text, shebang, honest=_CHECKS in text)
    if ARGUMENTS in text:
        return Style("complete", text, shebang)
    return Style("json" if b"WANT_JSON" in text else "words", text, shebang)


def _is_python(text: bytes) -> bool:
    """Whether it imports what modules import from Ansible or their collection."""
    if _IMPORTS.search(text) is None:
        return False
    try:
        ast.parse(text)
    except SyntaxError:
        return b"ansible.module_utils" in text  # it is meant to be one, and will say itself what is wrong
    return True


def _is_binary(text: bytes) -> bool:
    head = text[:8192]
    if b"\0" in head:
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 4
    return False


def _shebang(text: bytes) -> tuple[str, ...]:
    first = text.split(b"\n", 1)[0]
    return tuple(shlex.split(first[2:].decode("utf-8", "replace"))) if first.startswith(b"#!") else ()
