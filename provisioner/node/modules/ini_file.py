"""An option in a section of an INI file."""

from __future__ import annotations

import re

from ..declare import Module, exclusive
from ..declare import option as field
from ..ini import Ini
from ..text import EditParams, load, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class IniParams(EditParams):
    """Parameters of ``ini_file``."""

    path: str = field("The file to edit.", aliases=("dest",), kind="path")
    section: str | None = field("The section; none, or an empty one, is the part before the first.", None)
    section_has_values: list[dict[str, Any]] | None = field(
        "Of several sections with that name, the one with these options: each has option, and value or values.", None
    )
    option: str | None = field("The option; without it only the section is meant.", None)
    value: str | None = field("Its value.", None)
    values: list[str] | None = field("Its values, one a line.", None)
    state: str = field("Whether it shall be there.", "present", choices=("absent", "present"))
    exclusive: bool = field("Other values of the option go.", True)
    no_extra_spaces: bool = field("No spaces around the equals sign.", False)
    ignore_spaces: bool = field("A line that differs in spaces only is right as it is.", False)
    allow_no_value: bool = field("An option may have no value.", False)
    modify_inactive_option: bool = field("Take a commented-out line of the option for a new one.", True)
    create: bool = field("Make the file when it does not exist.", True)
    follow: bool = field("Follow a link at path.", False)


def run(node: Node, p: IniParams) -> dict[str, Any]:
    """Make the edit in memory, then store the text."""
    path = node.files.expand(p.path)
    old = load(node, path, p.create)
    data = (old or b"").decode(p.encoding, "surrogateescape")
    ini = Ini(data)
    values = list(p.values) if p.values is not None else ([] if p.value is None else [p.value])
    if p.state == "present" and p.option is not None and not values and not p.allow_no_value:
        node.fail(f"value is needed for {p.option} (or allow_no_value: true)", path=path)
    msg = _present(p, ini, values) if p.state == "present" else _absent(p, ini, values)
    new = ini.text.encode(p.encoding, "surrogateescape")
    if not p.follow and old != new:
        link = node.files.lstat(path)
        if link is not None and link.kind == "link":
            node.files.absent(path)
    result = store(node, p, path, old, new, msg)
    edited = {"msg": result["msg"] or "OK", "path": path}
    return {**edited, "backup_file": result["backup"]} if result["backup"] else edited


def _place(p: IniParams, ini: Ini) -> tuple[int, int] | None:
    if p.section_has_values and p.section:
        needed = [(str(each["option"]), _asked(each)) for each in p.section_has_values]
        return ini.sections_with(p.section, needed)
    return ini.section(p.section or "")


def _asked(each: dict[str, Any]) -> list[str]:
    values = each.get("values") or ([] if each.get("value") is None else [each["value"]])
    return [str(value) for value in values]


def _line(p: IniParams, value: str | None) -> str:
    if value is None:
        return str(p.option)
    return f"{p.option}={value}" if p.no_extra_spaces else f"{p.option} = {value}"


def _present(p: IniParams, ini: Ini, values: list[str]) -> str:
    place = _place(p, ini)
    if place is None:
        place = ini.add_section(p.section or "")
        for each in p.section_has_values or ():
            for value in _asked(each):
                ini.insert(place, _line(p.evolve(option=each["option"]), value))
                place = (place[0], place[1] + 1)
        added = "section and option added" if p.option is not None else "only section added"
    else:
        added = "option added"
    if p.option is None:
        return added
    wanted: list[str | None] = [*values] or [None]
    active = ini.find(place, p.option, inactive=False)
    right = {index for index in active for value in wanted if _is_right(p, ini.lines[index], _line(p, value))}
    missing = [value for value in wanted if not any(_is_right(p, ini.lines[index], _line(p, value)) for index in active)]
    free = [index for index in active if index not in right] if p.exclusive else []
    if not free and missing and p.modify_inactive_option:
        free = ini.find(place, p.option, inactive=True)[: len(missing)]
        spare: list[int] = []
    else:
        spare = free[len(missing) :]
    changed = bool(free and missing) or bool(spare)
    for index, line in zip(free, missing):
        ini.replace(index, _line(p, line))
    for line in missing[len(free) :]:
        ini.insert(place, _line(p, line))
        place = (place[0], place[1] + 1)
    for index in sorted(spare, reverse=True):
        del ini.lines[index]
    return "option changed" if changed and added == "option added" else added


def _is_right(p: IniParams, line: str, wanted: str) -> bool:
    text = line.rstrip("\r\n")
    if not p.ignore_spaces:
        return text == wanted
    return re.sub(r"\s*=\s*", "=", text.strip(), count=1) == re.sub(r"\s*=\s*", "=", wanted, count=1)


def _absent(p: IniParams, ini: Ini, values: list[str]) -> str:
    place = _place(p, ini)
    if place is None:
        return ""
    if p.option is None:
        ini.remove_section(p.section or "", place)
        return "section removed"
    gone = ini.find(place, p.option, inactive=False)
    if values and not p.exclusive:
        gone = [index for index in gone if ini.values((index, index + 1), p.option)[0] in values]
    for index in reversed(gone):
        del ini.lines[index]
    return "option changed" if gone else ""


MODULE = Module(
    name="ini_file",
    summary="An option in a section of an INI file.",
    params=IniParams,
    run=run,
    collection="community.general",
    rules=(exclusive("value", "values"),),
    resource=(("path", "path"),),
    examples="- ini_file: {path: /etc/containerd/app.ini, section: gpu, option: enabled, value: 'true', mode: '0644'}\n",
)
