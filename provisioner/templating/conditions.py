"""Deciding conditions, with the leniency of ansible-core up to 2.18: the truth of any value is taken, braces are tolerated."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Span
from provisioner.errors import InputError
from provisioner.templating.lazy import has_marks
from provisioner.templating.natural import describe, join_native, join_plain
from provisioner.values import Unknown, UnknownValueError, UnsafeText

if TYPE_CHECKING:
    from provisioner.templating.evaluation import Evaluation

Warn = Callable[[str, str, bool], None]
"""Called with what is accepted though it should be written otherwise, how to write it, and whether a strict setting refuses it."""

_ONE_TEMPLATE = re.compile(r"\{\{(?P<inner>(?:(?!\{\{|\}\}).)*)\}\}", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_WORDS = {"true": True, "false": False, "none": False, "null": False, "": False, "1": True, "0": False}
_MOST_NESTED = 10


def decide(condition: Any, evaluation: Evaluation, span: Span | None, warn: Warn, depth: int = 0) -> bool | Unknown:
    """Whether one condition holds. Raises ``InputError``."""
    if isinstance(condition, (bool, Unknown)):
        return condition
    if condition is None:
        return True
    if isinstance(condition, UnsafeText):
        return _of_text(condition, "", evaluation, span, warn, depth)
    if not isinstance(condition, str):
        return _truth(condition, repr(condition), warn)
    text = condition.strip()
    if not text:
        warn("an empty condition always holds", "remove it, or say what has to hold", True)
        return True
    try:
        if has_marks(text):
            return _with_braces(text, evaluation, span, warn, depth)
        return _truth(evaluation.expression(text, lambda: span, join_native), text, warn)
    except UnknownValueError as error:
        return error.unknown


def conditions_of(text: str, evaluation: Evaluation, span: Span | None) -> list[Any] | None:
    """The list of conditions that ``that: "{{ checks }}"`` stands for; None where the template gives no list.

    Texts of a list that is no variable a person wrote are data, and come as ``UnsafeText``.
    """
    whole = _ONE_TEMPLATE.fullmatch(text.strip())
    if whole is None:
        return None
    inner = whole["inner"].strip()
    found = evaluation.scope.find(inner) if _NAME.fullmatch(inner) else None
    if found is not None and found.layer.trusted:
        if isinstance(found.value, str) and has_marks(found.value) and found.value.strip() != text.strip():
            return conditions_of(found.value, evaluation, span)
        if isinstance(found.value, (list, tuple)):
            return list(found.value)
    value = evaluation.value(text, lambda: span, join_plain)
    return [UnsafeText(item) if isinstance(item, str) else item for item in value] if isinstance(value, list) else None


def _truth(value: Any, text: str, warn: Warn) -> bool | Unknown:
    if isinstance(value, (bool, Unknown)):
        return value
    warn(
        f"the condition '{text}' is {describe(value)}, not true or false: its truth is taken ({bool(value)})",
        f"write '{text} | bool', '{text} | length > 0' or a comparison, whichever is meant",
        True,
    )
    return bool(value)


def _with_braces(text: str, evaluation: Evaluation, span: Span | None, warn: Warn, depth: int) -> bool | Unknown:
    """A condition that contains templates, although it is an expression already."""
    bare = without_braces(text)
    if bare != text:
        warn(f"a condition is an expression already: '{text}'", f"leave out the braces: {bare}", False)
    whole = _ONE_TEMPLATE.fullmatch(text)
    if whole is None and "{%" not in bare and "{#" not in bare:
        return _truth(evaluation.expression(bare, lambda: span, join_native), bare, warn)
    inner = whole["inner"].strip() if whole else ""
    value = evaluation.expression(inner, lambda: span, join_native) if whole else evaluation.value(text, lambda: span)
    if isinstance(value, str):
        return _of_text(value, inner, evaluation, span, warn, depth)
    return _truth(value, inner or text, warn)


def _of_text(value: str, inner: str, evaluation: Evaluation, span: Span | None, warn: Warn, depth: int) -> bool | Unknown:
    """``when: "{{ x }}"`` where x is a text: a condition itself if a person wrote it, else only the words for true and false."""
    known = _WORDS.get(value.strip().lower())
    if known is not None:
        return known
    found = evaluation.scope.find(inner) if _NAME.fullmatch(inner) else None
    if found is None or not found.layer.trusted or isinstance(found.value, UnsafeText) or depth >= _MOST_NESTED:
        raise InputError.of(
            f"the condition gives the text '{value}', which is neither true nor false",
            span,
            why="an untrusted template or expression, which any data is, is never evaluated",
            help=f"compare it with something: {inner or '…'} == '…'",
        )
    # The text as a person wrote it: what it gives may be data from a node, which must not be taken for an expression.
    return decide(found.value, evaluation, found.layer.place((inner,)) or span, warn, depth + 1)


def without_braces(text: str) -> str:
    """The expression with ``{{ x }}`` outside of quotes replaced by ``(x)``; a whole ``{{ x }}`` by ``x``."""
    whole = _ONE_TEMPLATE.fullmatch(text)
    if whole is not None:
        return whole["inner"].strip()
    pieces: list[str] = []
    position, quote = 0, ""
    while position < len(text):
        char = text[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif text.startswith("{{", position):
            found = _ONE_TEMPLATE.match(text, position)
            if found is not None:
                pieces.append(f"({found['inner'].strip()})")
                position = found.end()
                continue
        pieces.append(char)
        position += 1
    return "".join(pieces)
