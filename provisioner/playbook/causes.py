"""Why a YAML file does not parse: from what the parser says and the line it stumbled over, to the mistake people make there."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml
import yaml.reader

from provisioner.diagnostics import Diagnostic, Span

QUOTE_TEMPLATE = 'quote the whole value: "{{ ... }}"'


@dataclass(frozen=True)
class _Stumble:
    """What the parser reports: its texts, the line (from 0) it stopped at, and where the construct began."""

    problem: str
    context: str
    line: int
    column: int
    began: tuple[int, int]
    lines: list[str]

    def text(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def last_written(self, number: int) -> int:
        """The nearest line above that is neither blank nor a comment."""
        number = min(number, len(self.lines)) - 1
        while number > 0 and (not self.lines[number].strip() or self.lines[number].lstrip().startswith("#")):
            number -= 1
        return max(number, 0)


@dataclass(frozen=True)
class _Cause:
    message: str
    why: str
    help: str
    line: int
    column: int


_OPEN_TEMPLATE = re.compile(r"""(?:^|[:\-,\[])\s+(\{\{|\{%)""")
_NO_SPACE_AFTER_COLON = re.compile(r"^\s*(?:-\s+)?[A-Za-z_][\w.-]*:[^\s:/]")
_TEXT_AFTER_QUOTE = re.compile(r"""(?:^|[:\-])\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*[^\s#,\]}:]""")


def explain(error: yaml.YAMLError, text: str, file: str) -> Diagnostic:
    """A syntax error in our style, with the likely cause."""
    if isinstance(error, yaml.reader.ReaderError):
        return _bad_character(error, text, file)
    if not isinstance(error, yaml.MarkedYAMLError):
        return Diagnostic(f"not valid YAML: {error}", Span(file), code="yaml-syntax")
    mark = error.problem_mark or error.context_mark
    began = error.context_mark or mark
    stumble = _Stumble(
        (error.problem or "").strip(),
        (error.context or "").strip(),
        mark.line if mark else 0,
        mark.column if mark else 0,
        (began.line, began.column) if began else (0, 0),
        text.splitlines(),
    )
    for guess in _GUESSES:
        cause = guess(stumble)
        if cause is not None:
            break
    else:
        cause = _Cause(f"not valid YAML: {stumble.problem}", stumble.context, "", stumble.line, stumble.column)
    return Diagnostic(cause.message, Span(file, cause.line + 1, cause.column + 1), why=cause.why, help=cause.help, code="yaml-syntax")


def _bad_character(error: yaml.reader.ReaderError, text: str, file: str) -> Diagnostic:
    position = error.position if isinstance(error.position, int) else 0
    before = text[:position]
    place = Span(file, before.count("\n") + 1, position - before.rfind("\n"))
    character = chr(error.character) if isinstance(error.character, int) else error.character
    return Diagnostic(
        f"a character that YAML does not allow: {character!r}",
        place,
        why=str(error.reason),
        help="delete it, or write it as an escape inside double quotes",
        code="yaml-syntax",
    )


def _tab(at: _Stumble) -> _Cause | None:
    for number in (at.line, at.last_written(at.line)):
        text = at.text(number)
        margin = text[: len(text) - len(text.lstrip())]
        if "\t" in margin:
            return _Cause("a tab in the indentation", "YAML is indented with spaces only", "use spaces", number, margin.index("\t"))
    if at.text(at.line)[at.column : at.column + 1] == "\t":
        return _Cause("a tab between values", "YAML separates with spaces only", "use spaces", at.line, at.column)
    return None


def _template(at: _Stumble) -> _Cause | None:
    for number in dict.fromkeys((at.line, at.began[0], at.last_written(at.line))):
        found = _OPEN_TEMPLATE.search(at.text(number))
        if found:
            mark = found.group(1)
            why = f"{mark} at the start of a value opens a YAML mapping, not a template"
            return _Cause(f"a value starts with {mark} and is not quoted", why, QUOTE_TEMPLATE, number, found.start(1))
    return None


def _open_quote(at: _Stumble) -> _Cause | None:
    if "quoted scalar" not in at.context or not at.problem.startswith("found unexpected"):
        return None
    line, column = at.began
    return _Cause("a quote is opened here and never closed", at.problem, "close it, or remove it", line, column)


def _text_after_quote(at: _Stumble) -> _Cause | None:
    if "expected" not in at.problem and "scalar" not in at.problem:
        return None
    for number in dict.fromkeys((at.line, at.last_written(at.line))):
        found = _TEXT_AFTER_QUOTE.search(at.text(number))
        if found:
            why = "a value that starts with a quote ends at the next quote; nothing may follow it"
            help_ = "quote the whole value; use the other kind of quotes outside"
            return _Cause("text after a closing quote", why, help_, number, found.end() - 1)
    return None


def _escape(at: _Stumble) -> _Cause | None:
    if "escape" not in at.problem:
        return None
    why = "in double quotes a backslash starts an escape such as \\n"
    return _Cause("an unknown escape in a double-quoted text", why, "use single quotes, or double the backslash", at.line, at.column)


def _colon_inside(at: _Stumble) -> _Cause | None:
    if "mapping values are not allowed" not in at.problem:
        return None
    number = at.last_written(at.line)
    if not at.text(at.line)[: at.column].strip(" -").count(":") and _NO_SPACE_AFTER_COLON.match(at.text(number)):
        return _missing_space(at, number)
    why = "a colon followed by a space starts a new value"
    help_ = "quote the value if the colon belongs to it; else check the indentation of this line and of the one above"
    return _Cause("a second colon in one line, or a wrong indentation", why, help_, at.line, at.column)


def _missing_colon(at: _Stumble) -> _Cause | None:
    if "expected ':'" not in at.problem:
        return None
    number = at.began[0] if _NO_SPACE_AFTER_COLON.match(at.text(at.began[0])) else at.last_written(at.line)
    if _NO_SPACE_AFTER_COLON.match(at.text(number)):
        return _missing_space(at, number)
    line, column = at.began
    why = "this line stands among 'key: value' lines and is none"
    return _Cause("a key without a colon", why, "write 'key: value', or quote and indent the text", line, column)


def _missing_space(at: _Stumble, number: int) -> _Cause:
    column = at.text(number).index(":")
    return _Cause("no space after the colon", "'key:value' is a text; 'key: value' is a key with a value", "add a space", number, column)


def _indicator(at: _Stumble) -> _Cause | None:
    character = at.text(at.line)[at.column : at.column + 1]
    if "cannot start any token" not in at.problem or character not in "%@`":
        return None
    why = f"{character} has a meaning of its own in YAML"
    return _Cause(f"a value starts with {character} and is not quoted", why, "quote the value", at.line, at.column)


def _alias(at: _Stumble) -> _Cause | None:
    if "undefined alias" not in at.problem:
        return None
    why = "* at the start of a value refers to an anchor (&name), and there is no such anchor above"
    return _Cause("a value starts with * and is not quoted", why, "quote the value, or define the anchor", at.line, at.column)


def _indentation(at: _Stumble) -> _Cause | None:
    if not at.problem.startswith(("did not find expected", "expected <block end>")):
        return None
    if "flow" in at.context or "',' or" in at.problem:
        line, column = at.began
        return _Cause("a [ or { is opened here and not closed", at.problem, "close it, or quote the value", line, column)
    why = "it fits neither the block it stands in nor one around it"
    help_ = f"that block starts in line {at.began[0] + 1}: align this line with its entries, or close what is open above"
    return _Cause("wrong indentation, or something open above", why, help_, at.line, at.column)


def _documents(at: _Stumble) -> _Cause | None:
    if "another document" not in at.problem:
        return None
    why = "'---' in the middle starts a second document, and a file may hold one only"
    return _Cause("a second document in one file", why, "remove the '---', or split the file", at.line, at.column)


_GUESSES = (
    _documents,
    _tab,
    _escape,
    _open_quote,
    _template,
    _alias,
    _indicator,
    _text_after_quote,
    _missing_colon,
    _colon_inside,
    _indentation,
)
