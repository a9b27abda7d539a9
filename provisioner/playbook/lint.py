"""The whole static pass over files and folders: playbooks, roles, files of tasks and variables; no node is touched.

What Ansible would only say during a run, or never, is said here too: names registered again by a task that may be skipped, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from provisioner.diagnostics import Diagnostics, Span
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Block, Entry, Play, Playbook, Task, walk
from provisioner.playbook.playchecks import check_notify, followed, handler_names
from provisioner.playbook.roles import Use
from provisioner.playbook.scope import LoadContext, Scope
from provisioner.playbook.survey import SKIPPED, is_role, survey

Kind = Literal["playbook", "tasks", "variables", "other"]

_VARIABLE_FOLDERS = frozenset({"group_vars", "host_vars", "vars", "defaults"})
_PLAY = re.compile(r"^(?:- |  )(?:hosts|(?:ansible\.builtin\.)?import_playbook):", re.MULTILINE)
_SKIPPED_TEST = r"\b%s\s*(?:\|\s*default|is\s+(?:not\s+)?(?:skipped|defined|undefined|succeeded|failed|changed)\b|\.skipped\b)"


def lint(paths: Iterable[Path | str], context: LoadContext) -> Diagnostics:
    """Everything that is wrong, or likely wrong, with these playbooks, roles, files of tasks, or folders of them.

    The problems are in the context's diagnostics too. Folders are walked; ``molecule`` and installed collections are left out.
    """
    examine(paths, Loader(context))
    return context.diagnostics


def examine(paths: Iterable[Path | str], loader: Loader) -> list[Playbook]:
    """The same with a loader that is there already; returns the playbooks that were met, once each."""
    context = loader.context
    context.linting = True
    walk_ = _Walk(loader)
    for path in map(Path, paths):
        if not path.exists():
            context.diagnostics.error(f"there is no {path}", Span(str(path)), help="correct the name", code="missing-file")
        elif path.is_dir():
            survey(path, context)
            walk_.folder(path)
        else:
            walk_.file(path, explicit=True)
    return walk_.playbooks


def kind_of_file(data: Any) -> Kind:
    """What a parsed file is."""
    if isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        first = data[0]
        if any(key in item for item in data for key in ("hosts", "import_playbook", "ansible.builtin.import_playbook")):
            return "playbook"
        return "tasks" if first else "other"
    return "variables" if isinstance(data, dict) else "other"


def _like_a_playbook(path: Path) -> bool:
    """Whether the text of a file looks like one of ours: trees hold much other YAML."""
    return _PLAY.search(path.read_text("utf-8", "replace")) is not None


class _Walk:
    """Goes through files and folders and looks at each once."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.playbooks: list[Playbook] = []
        self._seen: set[Path] = set()

    def folder(self, folder: Path) -> None:
        """Everything below a folder that is ours."""
        if self._known(folder):
            return
        self.loader.context.enter(folder)
        if is_role(folder):
            _role(folder, self.loader)
            return
        for child in sorted(folder.iterdir()):
            if child.name in SKIPPED or child.name.startswith("."):
                continue
            if child.is_dir():
                self.folder(child)
            elif child.suffix in (".yml", ".yaml") and (folder.name in _VARIABLE_FOLDERS or _like_a_playbook(child)):
                self.file(child, explicit=False)

    def _known(self, path: Path) -> bool:
        real = path.resolve()
        if real in self._seen:
            return True
        self._seen.add(real)
        return False

    def file(self, path: Path, *, explicit: bool) -> None:
        """A file on its own: in a walk over a folder only playbooks and variables are looked at, tasks are reached through them."""
        if self._known(path):
            return
        loader = self.loader
        document = loader.files.document(path)
        kind = kind_of_file(document.data)
        if kind == "playbook" or (explicit and kind == "other" and document.data is not None):
            loaded = loader.load_playbook(path)
            self.playbooks.append(loaded)
            playbook(loaded, loader.context)
        elif kind == "tasks" and explicit:
            _tasks(path, loader)


def _tasks(path: Path, loader: Loader) -> None:
    """A file of tasks, as part of the role it belongs to."""
    document = loader.files.document(path)
    role = _role_of(path)
    loader.begin_play()
    scope = Scope(str(path), path.parent, handlers=path.parent.name == "handlers", sure=False)
    if role is not None:
        loaded = loader.roles.load(Use(role.name, Span(str(path))), scope, role)
        scope = replace(scope, role=loaded.source if loaded else None)
    _entries(loader.tasks.entries(document.data, document.places, scope), loader.context)


def _role_of(path: Path) -> Path | None:
    """The role a file of tasks belongs to."""
    for folder in path.parents:
        if folder.name in ("tasks", "handlers") and (folder.parent / "tasks").is_dir():
            return folder.parent
    return None


def _role(folder: Path, loader: Loader) -> None:
    """Every file of tasks and handlers of a role, whether main uses it or not."""
    loader.begin_play()
    home = folder.parent.parent if folder.parent.name == "roles" else folder.parent
    scope = Scope(str(folder / "meta"), home, sure=False)
    role = loader.roles.load(Use(folder.absolute().name, Span(str(folder))), scope, folder)
    if role is None:
        return
    entries: list[Entry] = [role.body]
    handlers: list[Entry] = []
    for kind, found in (("tasks", entries), ("handlers", handlers)):
        for path in sorted((folder / kind).rglob("*.y*ml")) if (folder / kind).is_dir() else ():
            document = loader.files.document(path)
            if kind_of_file(document.data) == "tasks":
                inner = Scope(str(path), home, role.source, handlers=kind == "handlers", sure=False)
                found += loader.tasks.entries(document.data, document.places, inner, kind)
    reached = followed(loader)
    roles = [*role.with_dependencies(), *reached.roles, *loader.imported_roles]
    names = handler_names(roles, [*handlers, *reached.handlers], open=reached.open)
    check_notify(walk((*entries, *handlers, *reached.entries)), names, loader, certain=False)
    _entries(tuple(entries), loader.context)


def playbook(loaded: Playbook, context: LoadContext) -> None:
    """The checks of ``lint`` that go beyond what loading reports."""
    for play in loaded.plays:
        _entries(tuple(_all_entries(play)), context)


def _all_entries(play: Play) -> Iterator[Entry]:
    yield from play.pre_tasks
    for role in play.roles:
        yield role.body
    yield from play.tasks
    yield from play.post_tasks


# names registered by tasks that may be skipped -----------------------------------------------------------------------------------


def _entries(entries: Sequence[Entry], context: LoadContext) -> None:
    """Warn where a result is used that a later task, which may be skipped, has replaced."""
    registered: dict[str, Task] = {}
    replaced: dict[str, Task] = {}
    for task, guarded in _walk(entries, ()):
        for name, setter in list(replaced.items()):
            if _uses(task, name) and not _guards(name, (*guarded, *task.directives.when), setter):
                context.diagnostics.warning(
                    f"{name!r} may hold the result of a skipped task",
                    task.span_of("args"),
                    why=f"it was set last by {setter.label!r} at {setter.span}, which runs only under a condition",
                    help=f"register the two results under different names, or test '{name} is not skipped'",
                    code="registered-on-skipped",
                )
                del replaced[name]
        if task.register:
            before = registered.get(task.register)
            replaced.pop(task.register, None)
            if before is not None and task.directives.when and not _alternatives(before, task):
                replaced[task.register] = task
            registered[task.register] = task


def _alternatives(before: Task, task: Task) -> bool:
    """Whether the two tasks look like a pair of which one runs: ``when: a``, then ``when: not a``."""
    return bool(before.directives.when) and bool(task.directives.when)


def _walk(entries: Iterable[Entry], conditions: tuple[Any, ...]) -> Iterator[tuple[Task, tuple[Any, ...]]]:
    for entry in entries:
        if isinstance(entry, Block):
            inner = conditions + entry.directives.when
            for part in (entry.tasks, entry.rescue, entry.always):
                yield from _walk(part, inner)
        else:
            yield entry, conditions


def _uses(task: Task, name: str) -> bool:
    """Whether arguments or conditions of a task read a field of the name."""
    pattern = re.compile(rf"\b{re.escape(name)}\s*(?:\.|\[)")
    texts = [repr(task.args), repr(task.directives.when), repr(task.changed_when), repr(task.failed_when)]
    if task.loop is not None:
        texts.append(repr(task.loop.terms))
    return task.register != name and any(pattern.search(text) for text in texts)


def _guards(name: str, conditions: tuple[Any, ...], setter: Task) -> bool:
    """Whether conditions make sure that the result is a real one."""
    pattern = re.compile(_SKIPPED_TEST % re.escape(name))
    return any(pattern.search(str(item)) or item in setter.directives.when for item in conditions)
