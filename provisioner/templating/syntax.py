"""The syntax options of template files, and the ``#jinja2:`` line that sets them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import yaml

from provisioner.diagnostics import Span, did_you_mean
from provisioner.errors import InputError

HEADER = "#jinja2:"


@dataclass(frozen=True)
class Syntax:
    """Options of a template file, with the names and defaults of Ansible's ``template`` module."""

    block_start_string: str = "{%"
    block_end_string: str = "%}"
    variable_start_string: str = "{{"
    variable_end_string: str = "}}"
    comment_start_string: str = "{#"
    comment_end_string: str = "#}"
    line_statement_prefix: str | None = None
    line_comment_prefix: str | None = None
    newline_sequence: str = "\n"
    trim_blocks: bool = True
    lstrip_blocks: bool = False

    def marks(self, text: str) -> bool:
        """Whether a text has anything to render; without it is kept byte for byte."""
        starts = (self.variable_start_string, self.block_start_string, self.comment_start_string)
        return bool(self.line_statement_prefix or self.line_comment_prefix) or any(start in text for start in starts)

    def options(self) -> dict[str, Any]:
        """As keyword arguments for Jinja."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


DEFAULT_SYNTAX = Syntax()


@dataclass(frozen=True)
class Source:
    """The text of a template file to compile; ``shift`` is the number of lines of the file before it."""

    text: str
    path: str
    syntax: Syntax = DEFAULT_SYNTAX
    shift: int = 0


def read_header(text: str, path: str, syntax: Syntax = DEFAULT_SYNTAX) -> Source:
    """A template file with the options of its ``#jinja2:`` line applied; raises ``InputError``."""
    if not text.startswith(HEADER):
        return Source(text, path, syntax)
    line, _, body = text.partition("\n")
    known = {item.name for item in fields(Syntax)}
    options: dict[str, Any] = {}
    for part in _split_options(line[len(HEADER) :]):
        name, colon, raw = part.partition(":")
        name = name.strip()
        if not colon or name not in known:
            problem = f"unknown option '{name}'" if colon else f"Missing key-value separator in '{part.strip()}', write 'option: value'"
            raise InputError.of(f"in the #jinja2: header: {problem}", Span(path, 1, 1), help=did_you_mean(name, known))
        options[name] = _option(raw.strip(), name, path)
    return Source(body, path, replace(syntax, **options), shift=1)


def _split_options(text: str) -> list[str]:
    """At commas outside of quotes."""
    return [part for part in re.findall(r"""(?:"[^"]*"|'[^']*'|[^,])+""", text) if part.strip()]


def _option(raw: str, name: str, path: str) -> Any:
    try:
        value = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise InputError.of(f"in the #jinja2: header: {name} has the unreadable value {raw}", Span(path, 1, 1)) from error
    if name in ("trim_blocks", "lstrip_blocks"):
        if not isinstance(value, bool):
            raise InputError.of(f"in the #jinja2: header: {name} is {raw}, not True or False", Span(path, 1, 1))
        return value
    return value if value is None else str(value)
