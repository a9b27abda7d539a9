"""Entries of the system's databases, as facts."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

COLONS = ("passwd", "shadow", "group", "gshadow")
WORDS = {1: "Missing arguments, or database unknown.", 3: "Enumeration not supported on this database."}


class GetentParams(Params):
    """Parameters of ``getent``."""

    database: str = option("The database: passwd, group, hosts, services…")
    key: str | None = option("Only this entry.", None)
    service: str | None = option("Ask this name service only.", None)
    split: str | None = option("What parts the fields; a colon for accounts, blanks for others.", None)
    fail_key: bool = option("A missing key is a failure.", True)


def run(node: Node, p: GetentParams) -> dict[str, Any]:
    """Ask getent; returns ``getent_DATABASE``: key → fields."""
    kind = {"passwd": "user", "shadow": "user", "group": "group", "gshadow": "group"}.get(p.database)
    about = [(kind, p.key or "")] if kind else [("path", f"/etc/{p.database}")]
    argv = ["getent", *(["-s", p.service] if p.service else []), p.database, *([p.key] if p.key is not None else [])]
    answer = node.commands.query(argv, about=about, ok=None)
    name = f"getent_{p.database}"
    if answer.rc == 0:
        return {"ansible_facts": {name: _entries(answer.out, p.split or (":" if p.database in COLONS else None))}}
    if answer.rc == 2:
        if p.fail_key:
            node.fail("One or more supplied key could not be found in the database.", rc=2)
        return {"ansible_facts": {name: {p.key: None}}, "msg": "One or more supplied key could not be found in the database."}
    node.fail(WORDS.get(answer.rc, f"getent failed: {answer.err.strip()}"), rc=answer.rc)


def _entries(text: str, split: str | None) -> dict[str, Any]:
    """Key → fields; a key that comes again (services, hosts) has a list of lists."""
    found: dict[str, Any] = {}
    again: set[str] = set()
    for line in text.splitlines():
        key, *fields = line.split(split)
        if key not in found:
            found[key] = fields
        elif key in again:
            found[key].append(fields)
        else:
            again.add(key)
            found[key] = [found[key], fields]
    return found


MODULE = Module(
    name="getent",
    summary="Entries of the system's databases, as facts.",
    params=GetentParams,
    run=run,
    reads_only=True,
    examples="- getent: {database: passwd, key: root}\n",
)
