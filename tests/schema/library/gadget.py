"""A module as people write one for a ``library/`` folder."""

from __future__ import annotations

from provisioner.node.declare import Module, Params, exclusive, option, required_by, required_if, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.node.api import Node


class Gadget(Params):
    """Parameters of ``gadget``."""

    name: str = option("What it is called.", aliases=("gadget", "title"))
    state: str = option("What it must be.", "present", choices=("present", "absent", "linked"))
    src: str | None = option("Where it links to.", None, kind="path")
    count: int | None = option("How many.", None)
    ratio: float = option("How much.", 0.5)
    force: bool = option("Whether to insist.", False)
    tags: list[str] = option("Words.", (), elements="str", aliases=("labels",))
    ports: list[int] = option("Numbers.", (), choices=(22, 80, 443))
    extra: dict[str, Any] = option("More.", None)
    mode: Any = option("Permissions.", None, kind="mode")
    size: int | None = option("Bytes.", None, kind="size")
    wait: int = option("Seconds.", 5, kind="duration")
    content: Any = option("Text or data.", None, kind="content")
    anything: Any = option("As it is.", None)
    answer: str = option("An answer.", "no", choices=("yes", "no", "maybe"))
    password: str | None = option("A secret.", None, secret=True)
    user: str | None = option("Login.", None)
    key: str | None = option("Key.", None)
    key_file: str | None = option("Key in a file.", None, kind="path")
    hint: str | None = option("Where the key is.", None)


def run(node: Node, p: Gadget) -> dict[str, Any]:
    """Change nothing."""
    return {"name": p.name}


MODULE = Module(
    name="gadget",
    summary="Keep a gadget.",
    params=Gadget,
    run=run,
    rules=(
        exclusive("key", "key_file"),
        together("user", "password"),
        required_if("state", "linked", "src"),
        required_by("key", "hint"),
    ),
    collection="ansible.builtin",
    aliases=("widget",),
    examples="""
    - gadget:
        name: x
    """,
    notes=("It is imaginary.",),
)
