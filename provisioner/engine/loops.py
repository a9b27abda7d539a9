"""The rounds of a task: the items of its loop, with the variables that each round sees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from provisioner.engine.expressions import Expressions, Scope
from provisioner.engine.truth import as_bool
from provisioner.errors import InputError
from provisioner.events import plain
from provisioner.playbook.model import Loop, Task
from provisioner.values import Unknown

LABEL_LENGTH = 120


def loop_items(task: Task, loop: Loop, scope: Scope, expressions: Expressions) -> list[Any] | Unknown:
    """The items of a loop. Raises ``InputError`` when ``loop`` is no list."""
    span = task.span_of("loop")
    if loop.lookup is not None:
        items = scope.loop_over(loop.lookup, loop.terms, span)
    else:
        items = expressions.render(loop.terms, scope, span)
    if isinstance(items, Unknown):
        return items
    if isinstance(items, (list, tuple)):
        return list(items)
    if isinstance(items, (Mapping, str, bytes)) or not isinstance(items, Sequence):
        kind = "a mapping" if isinstance(items, Mapping) else "a text" if isinstance(items, str) else f"a {type(items).__name__}"
        help_ = "use the dict2items filter to loop over a mapping" if isinstance(items, Mapping) else "give a list"
        raise InputError.of(f"loop needs a list and got {kind}: {_short(items)}", span, help=help_)
    return list(items)


def round_variables(
    loop: Loop, items: Sequence[Any], index: int, scope: Scope, previous: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The variables of one round."""
    control = loop.control
    variables: dict[str, Any] = {control.loop_var: items[index], "ansible_loop_var": control.loop_var}
    if control.index_var:
        variables[control.index_var] = index
        variables["ansible_index_var"] = control.index_var
    if control.extended is not None and as_bool(scope.render(control.extended), "extended"):
        variables["ansible_loop"] = _extended(loop, items, index, scope)
    if previous:
        variables.update(previous)
    return variables


def label_of(loop: Loop, item: Any, scope: Scope) -> str:
    """What is shown for an item."""
    label = loop.control.label
    shown = scope.render(label) if label is not None else item
    if isinstance(shown, Unknown):
        return f"(unknown: {shown.because})"
    return _short(shown)


def item_extra(loop: Loop, item: Any, variables: Mapping[str, Any]) -> dict[str, Any]:
    """What the registered result of an item says of the loop."""
    extra = {loop.control.loop_var: item, "ansible_loop_var": loop.control.loop_var}
    for name in ("ansible_index_var", "ansible_loop"):
        if name in variables:
            extra[name] = variables[name]
    if loop.control.index_var:
        extra[loop.control.index_var] = variables[loop.control.index_var]
    return extra


def _extended(loop: Loop, items: Sequence[Any], index: int, scope: Scope) -> dict[str, Any]:
    count = len(items)
    extended: dict[str, Any] = {
        "index": index + 1,
        "index0": index,
        "first": index == 0,
        "last": index + 1 == count,
        "length": count,
        "revindex": count - index,
        "revindex0": count - index - 1,
    }
    allitems = loop.control.extended_allitems
    if allitems is None or as_bool(scope.render(allitems), "extended_allitems"):
        extended["allitems"] = list(items)
    if index + 1 < count:
        extended["nextitem"] = items[index + 1]
    if index > 0:
        extended["previtem"] = items[index - 1]
    return extended


def _short(value: Any) -> str:
    if isinstance(value, (str, bool, int, float)) or value is None:
        text = str(value)
    else:
        text = json.dumps(plain(value), ensure_ascii=False)
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= LABEL_LENGTH else text[: LABEL_LENGTH - 1] + "…"
