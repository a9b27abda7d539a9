"""Arguments in text form: ``copy: src=a dest="b c"``, ``command: uptime chdir=/tmp``, ``action: debug msg=hi``.

A text is cut at white space outside quotes and outside Jinja marks. Pieces ``name=value`` are arguments, with quotes around the value
removed and backslash escapes decoded; the others, with the white space between them as written, are the free form.
"""

from __future__ import annotations

import re

COMMANDS = frozenset({"command", "shell", "script", "raw", "win_command", "win_shell"})
"""Actions whose text is a command line: only ``COMMAND_OPTIONS`` are cut out of it."""

COMMAND_OPTIONS = frozenset({"creates", "removes", "chdir", "executable", "warn", "stdin", "stdin_add_newline", "strip_empty_ends"})
RAW = "_raw_params"

_TOKEN = re.compile(r"\s+|\\.|\{\{|\}\}|\{%|%\}|\{\#|\#\}|[\"']|[^\s\\\"'{}%\#]+|.", re.DOTALL)
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}
_ESCAPE = re.compile(r"\\(?:U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{1,3}|N\{[^}]+\}|[\\'\"abfnrtv])")
_TOKEN_OR_EQUALS = re.compile(r"\\.|\{\{|\}\}|\{%|%\}|\{\#|\#\}|=", re.DOTALL)
_SIMPLE = re.compile(r"[^\s=\"'\\{]*")


class ArgumentTextError(ValueError):
    """Quotes or Jinja marks that are opened and not closed; the message says which."""


def split(text: str) -> list[tuple[str, str]]:
    """Cut a text into pieces; each comes with the white space before it. Raises ``ArgumentTextError``."""
    pieces: list[tuple[str, str]] = []
    gap, word = "", ""
    quote, closing = "", ""
    for match in _TOKEN.finditer(text):
        token = match.group()
        if quote:
            quote = "" if token == quote else quote
        elif closing:
            quote = token if token in "\"'" and closing != "#}" else ""
            closing = "" if token == closing else closing
        elif token in _CLOSING:
            closing = _CLOSING[token]
        elif token in "\"'":
            quote = token
        elif token == "\\\n" and not word:
            continue  # a line continued in the next one
        elif token.isspace():
            if word:
                pieces.append((gap, word))
                word, gap = "", ""
            gap += token
            continue
        word += token
    if quote or closing:
        what = f"a {quote} quote is" if quote else f"a Jinja mark is opened that {closing} should close, and it is"
        raise ArgumentTextError(f"{what} not closed")
    if word:
        pieces.append((gap, word))
    return pieces


def parse(text: str, *, command: bool = False) -> dict[str, str]:
    """The arguments in a text; the free form, if any, stands under ``_raw_params``. Raises ``ArgumentTextError``.

    ``command``: the text is a command line, so that ``FOO=bar`` in it stays in the free form.
    """
    if _SIMPLE.fullmatch(text):
        return {RAW: text} if text else {}
    arguments: dict[str, str] = {}
    free: list[str] = []
    cut_gap: str | None = None
    for gap, piece in split(text):
        name, value = _pair(piece)
        if name and not (command and name not in COMMAND_OPTIONS):
            arguments[name] = _unquoted(_decoded(value))
            cut_gap = gap if cut_gap is None else cut_gap
            continue
        if cut_gap is not None:
            gap = cut_gap if free else ""  # an argument leaves the white space before it behind
            cut_gap = None
        free += [gap, piece.replace("\\=", "=")]
    if free:
        end = text[len(text.rstrip()) :] if cut_gap is None else ""
        arguments[RAW] = "".join(free) + end if command else "".join(free).strip()
    return arguments


def _pair(piece: str) -> tuple[str, str]:
    """``("name", "value")`` of ``name=value``; the name is empty where the piece is no such pair."""
    position = _equals(piece)
    return (piece[:position], piece[position + 1 :]) if position > 0 else ("", piece)


def _equals(piece: str) -> int:
    """Where the first ``=`` stands that is neither escaped nor inside Jinja marks; -1 without one."""
    closing = ""
    for match in _TOKEN_OR_EQUALS.finditer(piece):
        token = match.group()
        if closing:
            closing = "" if token == closing else closing
        elif token in _CLOSING:
            closing = _CLOSING[token]
        elif token == "=":
            return match.start()
    return -1


def _decoded(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: match.group().encode("ascii").decode("unicode-escape"), text)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and (len(text) < 3 or text[-2] != "\\"):
        return text[1:-1]
    return text


def action_and_rest(text: str) -> tuple[str, str]:
    """``action: copy src=a`` as ``("copy", "src=a")``; the name may be a template."""
    end = text.find("}}") + 2 if text.lstrip().startswith("{{") and "}}" in text else 0
    while end < len(text) and not text[end].isspace():
        end += 1
    name = text[:end].strip() if end else ""
    if not end:
        parts = text.split(None, 1)
        return (parts[0] if parts else ""), (parts[1] if len(parts) > 1 else "")
    return name, text[end:].strip()


def has_template(value: object) -> bool:
    """Whether a text, or one inside a list or mapping, holds Jinja marks."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value or "{#" in value
    if isinstance(value, dict):
        return any(has_template(key) or has_template(child) for key, child in value.items())
    if isinstance(value, (list, tuple)):
        return any(has_template(child) for child in value)
    return False
