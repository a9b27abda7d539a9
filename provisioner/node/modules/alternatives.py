"""Which of several programs a common name means."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class AlternativesParams(Params):
    """Parameters of ``alternatives``."""

    name: str = option("The common name, such as editor.")
    path: str | None = option("The program it means.", None, kind="path")
    link: str | None = option("The link that users call; needed when the name is new.", None, kind="path")
    priority: int | None = option("The weight that decides in automatic mode; 50 when it is new.", None)
    family: str | None = option("The family, which only Red Hat's tool knows; not used.", None)
    state: str = option("Listed, chosen, left to the priorities, or gone.", "selected", choices=("absent", "auto", "present", "selected"))
    subcommands: list[dict[str, Any]] | None = option("What goes along: name, path, link of each.", None, aliases=("slaves",))


def run(node: Node, p: AlternativesParams) -> dict[str, Any]:
    """List it where it is missing, then choose."""
    if node.commands.find("update-alternatives") is None:
        node.fail("update-alternatives is not installed")
    if p.path is None and p.state not in ("absent", "auto"):
        node.fail(f"path is needed with state: {p.state}", name=p.name)
    group = _group(node, p.name)
    if p.state == "absent":
        if group is not None:
            for path in [p.path] if p.path else sorted(group["alternatives"]):
                if path in group["alternatives"]:
                    _do(node, p, group, ["--remove", p.name, path], before=path, after=None)
        return {"name": p.name, "path": p.path}
    if p.path is not None:
        _list(node, p, group)
    if p.state == "selected" and (group is None or group["value"] != p.path or group["status"] != "manual"):
        if group is not None or p.path is not None:
            _do(node, p, group, ["--set", p.name, str(p.path)], before=group["value"] if group else None, after=p.path)
    elif p.state == "auto" and group is not None and group["status"] != "auto":
        _do(node, p, group, ["--auto", p.name], before=group["status"], after="auto")
    return {"name": p.name, "path": p.path}


def _list(node: Node, p: AlternativesParams, group: dict[str, Any] | None) -> None:
    """Make the program one of the choices, with the priority and companions that are asked for."""
    known = None if group is None else group["alternatives"].get(p.path)
    wanted = {str(each["name"]): str(each["path"]) for each in p.subcommands or ()}
    priority = p.priority if p.priority is not None else (50 if known is None else known["priority"])
    right = known is not None and known["priority"] == priority and (p.subcommands is None or known["slaves"] == wanted)
    if right:
        return
    if not node.files.exists(str(p.path)):
        node.fail(f"Specified path {p.path} does not exist", name=p.name)
    link = p.link or (group["link"] if group is not None else None)
    if link is None:
        node.fail(f"the name {p.name} is new, so link is needed: the path that users call", name=p.name)
    argv = ["--install", link, p.name, str(p.path), str(priority)]
    for each in p.subcommands or ():
        companion = each.get("link") or (group["slaves"].get(str(each["name"])) if group is not None else None)
        if companion is None:
            node.fail(f"link is needed for the subcommand {each['name']}", name=p.name)
        argv += ["--slave", str(companion), str(each["name"]), str(each["path"])]
    before = None if known is None else {"priority": known["priority"]}
    _do(node, p, group, argv, before=before, after={"path": p.path, "priority": priority})


def _do(node: Node, p: AlternativesParams, group: dict[str, Any] | None, words: list[str], *, before: Any, after: Any) -> None:
    link = p.link or (group["link"] if group is not None else f"/usr/bin/{p.name}")
    touches = [("path", link), ("path", f"/etc/alternatives/{p.name}"), ("path", f"/var/lib/dpkg/alternatives/{p.name}")]
    what = f"alternative {p.name}: {words[0].lstrip('-')}"
    node.commands.perform(["update-alternatives", "--quiet", *words], touches=touches, what=what, before=before, after=after)


def _group(node: Node, name: str) -> dict[str, Any] | None:
    """What is known of the name: link, status, value, companions' links, alternatives; None for a new one."""
    about = [("path", f"/etc/alternatives/{name}"), ("path", f"/var/lib/dpkg/alternatives/{name}")]
    answer = node.commands.query(["update-alternatives", "--query", name], about=about, ok=None)
    if answer.rc:
        return None
    group: dict[str, Any] = {"link": None, "status": "auto", "value": None, "slaves": {}, "alternatives": {}}
    place = group
    for line in answer.out.splitlines():
        key, _, value = line.partition(": ")
        if line.startswith(" "):
            companion, _, path = line.strip().partition(" ")
            place["slaves"][companion] = path
        elif key == "Alternative":
            place = group["alternatives"][value] = {"priority": 0, "slaves": {}}
        elif key == "Priority":
            place["priority"] = int(value)
        elif key in ("Link", "Status", "Value"):
            group[key.lower()] = value
    return group


MODULE = Module(
    name="alternatives",
    summary="Which of several programs a common name means.",
    params=AlternativesParams,
    run=run,
    collection="community.general",
    resource=(("path", "link"),),
    examples="- alternatives: {name: cuda, link: /usr/local/cuda, path: /usr/local/cuda-12.2, priority: 122}\n",
)
