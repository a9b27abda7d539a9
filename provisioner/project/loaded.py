"""Variables that a play or its tasks bring while it runs: ``vars_files``, ``include_vars``, ``set_fact``, ``register``.

``explain`` names them beside the definitions that always hold. A file whose name is a template is looked for by the parts of the name that
are known, so that every file it may turn out to be is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Span
from provisioner.errors import ProvisionError
from provisioner.playbook.model import Play, RoleSource, Task
from provisioner.project.definitions import span_of_text
from provisioner.project.preflight import tasks_of
from provisioner.templating.variables import Layer, Level

Read = Callable[[Path], tuple[dict[str, Any], dict[str, str]]]
Render = Callable[[str], Any]

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_RUN = "known when the play has run that far"


@dataclass(frozen=True)
class Possible:
    """A definition that only a run can confirm: ``because`` says what it depends on. The value is None where the run makes it."""

    level: Level
    value: Any
    origin: str
    span: Span | None
    because: str


def file_layers(plays: Iterable[Play], render: Render, read: Read) -> list[Layer]:
    """The ``vars_files`` whose names are known: they hold in the whole play, as its ``vars`` do."""
    layers = []
    for play in plays:
        for entry in play.vars_files:
            path, open_ = _choice(play, entry, render)
            if path is not None and not open_:
                values, places = read(path)
                spans = {name: span_of_text(place) for name, place in places.items()}
                layers.append(Layer(Level.PLAY_FILES, values, f"play {play.label} (vars_files)", spans=spans))
    return layers


def possible_definitions(plays: Iterable[Play], name: str, render: Render, read: Read) -> list[Possible]:
    """Everything the run may still set the variable to, strongest first; files that cannot be read raise ``InputError``."""
    found: list[Possible] = []
    for play in plays:
        for entry in play.vars_files:
            for text in _choice(play, entry, render)[1]:
                files, because = _files(text, (play.folder / "vars", play.folder), render)
                found += _from_files(name, Level.PLAY_FILES, f"play {play.label} (vars_files)", "", files, because, read)
        for task, role, _tags in tasks_of(play):
            found += _from_task(task, role, play, name, render, read)
    weakest_first = sorted(dict.fromkeys(found), key=lambda one: one.level.rank)
    return weakest_first[::-1]


def _choice(play: Play, entry: Any, render: Render) -> tuple[Path | None, list[str]]:
    """Of an entry of ``vars_files``, which may be a list of which the first file that is there counts: that file, and names before it
    that only the run can tell.
    """
    open_: list[str] = []
    for text in entry if isinstance(entry, (list, tuple)) else [entry]:
        files, because = _files(str(text), (play.folder / "vars", play.folder), render)
        if because:
            open_.append(str(text))
        elif files:
            return files[0], [*open_, str(text)] if open_ else []
    return None, open_


def _from_task(task: Task, role: RoleSource | None, play: Play, name: str, render: Render, read: Read) -> Iterator[Possible]:
    where = f"{'role ' + role.name + ', ' if role else ''}task {task.label}"
    when = "where its condition holds" if task.directives.when else "once it has run"
    if task.register == name:
        yield Possible(Level.SET_FACT, None, f"{where} (register)", task.span, _RUN)
    if task.action == "set_fact" and name in task.args:
        yield Possible(Level.SET_FACT, task.args[name], f"{where} (set_fact)", task.span_of("args", name), when)
    if task.action != "include_vars":
        return
    if task.args.get("name") == name:
        yield Possible(Level.INCLUDE_VARS, None, f"{where} (include_vars)", task.span, _RUN)
    if "name" in task.args:
        return
    text = str(task.args.get("file") or task.args.get("_raw_params") or task.args.get("dir") or "")
    near = [folder for base in ([role.path] if role else []) + [play.folder] for folder in (base / "vars", base)]
    yield from _from_files(name, Level.INCLUDE_VARS, f"{where} (include_vars)", when, *_files(text, near, render), read)


def _files(text: str, folders: Iterable[Path], render: Render) -> tuple[list[Path], str]:
    """The files a name may stand for, and what that depends on: nothing where the name is known."""
    try:
        paths = [folder / str(render(text)) for folder in folders]
        found = next((path for path in paths if path.exists()), None)
        return ([found] if found is not None else []), ""
    except ProvisionError:
        pattern = _TEMPLATE.sub("*", text)
        # A name that is a template as a whole may stand for anything: only folders that hold nothing but variables are looked through.
        wanted = [folder for folder in folders if pattern.strip("*") or folder.name == "vars"]
        listed = (sorted(folder.glob(pattern)) for folder in wanted if folder.is_dir() and not Path(pattern).is_absolute())
        return [path for paths in listed for path in paths if path.is_file()], f"if {text} comes to that file"


def _from_files(name: str, level: Level, origin: str, when: str, files: Iterable[Path], because: str, read: Read) -> Iterator[Possible]:
    for path in files:
        values, places = read(path)
        if name in values:
            place = span_of_text(places[name])
            yield Possible(
                level, values[name], origin, place, ", ".join(filter(None, (because, when))) or "unless an earlier name is there"
            )
