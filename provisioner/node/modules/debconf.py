"""An answer to a question that a package asks when it is configured."""

from __future__ import annotations

from ..declare import Module, Params, option, together
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

TYPES = ("boolean", "error", "multiselect", "note", "password", "select", "seen", "string", "text", "title")


class DebconfParams(Params):
    """Parameters of ``debconf``."""

    name: str = option("The package.", aliases=("pkg",))
    question: str | None = option(
        "The question; without it only the package's answers are returned.", None, aliases=("selection", "setting")
    )
    vtype: str | None = option("The type of the answer.", None, choices=TYPES)
    value: Any = option("The answer.", None, aliases=("answer",), kind="raw")
    unseen: bool = option("Ask again when a person sits there.", False)


def run(node: Node, p: DebconfParams) -> dict[str, Any]:
    """Set the answer where it is another one."""
    if p.question is None:
        return {"msg": "no question was given", "current": {}, "changed": False}
    if p.vtype is None or (p.value is None and p.vtype != "seen"):
        node.fail("when supplying a question you must supply a valid vtype and value")
    value = _text(p)
    hidden = p.vtype == "password"
    key = f"{p.name} {p.question}"
    try:
        previous = node.values.get("debconf", key)
    except UnknownReading:
        previous = None
    options = {"vtype": p.vtype, "unseen": p.unseen}
    node.values.ensure("debconf", key, value, target=f"answer to {p.question}", options=options, secret=hidden)
    shown = {p.question: "********" if hidden else value}
    return {"msg": "", "current": shown, "previous": {p.question: "********" if hidden and previous else previous or ""}}


def _text(p: DebconfParams) -> str:
    """The answer as debconf keeps it."""
    value = p.value
    if p.vtype == "boolean":
        return "true" if str(value).lower() in ("true", "yes", "1", "on") else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in value)
    return "" if value is None else str(value)


MODULE = Module(
    name="debconf",
    summary="An answer to a question that a package asks when it is configured.",
    params=DebconfParams,
    run=run,
    rules=(together("question", "vtype", "value"),),
    resource=(("value", "name"),),
    examples="- debconf: {name: locales, question: locales/default_environment_locale, value: C.UTF-8, vtype: select}\n",
)
