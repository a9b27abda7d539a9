"""From files to the model: playbooks before a run, files of tasks and roles during it.

All problems of a load are in ``LoadContext.diagnostics``; loads during a run raise ``InputError`` instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError, ProvisionError
from provisioner.playbook.actions import ActionReader
from provisioner.playbook.arguments import RAW, has_template
from provisioner.playbook.checks import TaskChecks
from provisioner.playbook.files import Files, first_file, missing, task_file_candidates
from provisioner.playbook.model import Block, Entry, Playbook, Role, RoleSource, Task
from provisioner.playbook.normalization import Reporter
from provisioner.playbook.roles import MAIN_SOURCES, RoleLoader, Sources, Use
from provisioner.playbook.scope import NOT_RENDERED, LoadContext, Scope
from provisioner.playbook.tasks import TaskReader
from provisioner.schema.conversion import FALSE


class Loader:
    """Loads playbooks, files of tasks and roles of one project; parsed files are kept. Safe to use from several threads."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        context.registry.add_collections(context.collections_path)
        self.files = Files(context)
        self.actions = ActionReader(context)
        self.checks = TaskChecks(context, self.actions)
        self.tasks = TaskReader(context, self.actions, self.checks, self)
        self.roles = RoleLoader(context, self.files, self.tasks, self.once)
        self._imported: list[Role] = []
        self._lock = threading.RLock()
        self._loaded: dict[tuple[Any, ...], Any] = {}
        self._remembered: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...], tuple[Role, ...]]] = {}

    def load_playbook(self, path: Path | str) -> Playbook:
        """A playbook with everything it imports. Problems go to the context; what could be read is returned in any case."""
        from provisioner.playbook.parser import PlaybookReader

        with self._lock:
            return PlaybookReader(self).playbook(Path(path))

    def load_tasks(
        self,
        name: str,
        *,
        near: str,
        folder: Path,
        role: RoleSource | None = None,
        handlers: bool = False,
        collections: tuple[str, ...] = (),
        notify: tuple[Any, ...] = (),
        span: Span | None = None,
    ) -> tuple[Entry, ...]:
        """The entries of a file of tasks, for ``include_tasks`` during a run.

        ``name`` is rendered; it is looked for beside ``near`` (the file that names it: ``task.span.file``), in the role and in
        ``folder`` (of the playbook). Raises ``InputError`` with all problems of the file, or naming the places that were looked at.
        """
        candidates = task_file_candidates(name, near, folder, role.path if role else None)
        path = first_file(candidates)
        place = span or Span(near)
        if path is None:
            found = Diagnostics()
            missing("file of tasks", name, candidates, place, found)
            raise InputError(found)
        key = ("tasks", path, folder, id(role), handlers, collections, notify)
        scope = Scope(str(path), folder, role, handlers, sure=False, tolerated=True, collections=collections, notify=notify, chain=(near,))
        return tuple(self._during_run(key, lambda: self._file_entries(path, scope), keep=role))

    def load_role(
        self,
        name: str,
        *,
        near: str,
        folder: Path,
        role: RoleSource | None = None,
        sources: Sources = MAIN_SOURCES,
        public: bool = False,
        allow_duplicates: bool = True,
        validate: bool = True,
        collections: tuple[str, ...] = (),
        notify: tuple[Any, ...] = (),
        span: Span | None = None,
    ) -> Role:
        """A role, for ``include_role`` during a run; ``role`` is the one whose task includes it. Raises ``InputError``."""
        use = Use(name, span or Span(near), sources=sources, repeatable=allow_duplicates, public=public, validate=validate)
        scope = Scope(near, folder, role, sure=False, tolerated=True, collections=collections, notify=notify)
        key = ("role", name, near, folder, id(role), use.key(), public, allow_duplicates, validate, collections, notify)
        loaded: Role = self._during_run(key, lambda: self.roles.load(use, scope), keep=role)
        return loaded

    def _during_run(self, key: tuple[Any, ...], load: Any, keep: object) -> Any:
        """Load once; errors found on the way are raised, warnings go to the context.

        Files that were read before the run reported their problems then; reading them again would not.
        """
        with self._lock:
            if key not in self._loaded:
                before, mine = self.context.diagnostics, Diagnostics()
                self.context.diagnostics = mine
                try:
                    result = load()
                finally:
                    self.context.diagnostics = before
                if mine.errors:
                    raise InputError(mine)
                for item in mine:
                    before.add(item)
                self._loaded[key] = (result, keep)
            return self._loaded[key][0]

    def _file_entries(self, path: Path, scope: Scope) -> tuple[Entry, ...]:
        document = self.files.document(path)
        what = "handlers" if scope.handlers else "tasks"
        return self.tasks.entries(document.data, document.places, scope, what)

    # what a play gathers -------------------------------------------------------------------------------------------------------

    def begin_play(self) -> None:
        """Forget the roles and includes of the play before."""
        self._imported.clear()
        self.roles.missed = False
        self.tasks.includes.clear()

    def once(self, key: tuple[Any, ...], load: Callable[[], Any]) -> Any:
        """In a lint, where many plays use the same roles: load only the first time, and gather for the play what was gathered then."""
        if not self.context.linting:
            return load()
        if key in self._remembered:
            result, includes, roles = self._remembered[key]
            self.tasks.includes += includes
            self._imported += roles
            return result
        first_include, first_role = len(self.tasks.includes), len(self._imported)
        result = load()
        self._remembered[key] = (result, tuple(self.tasks.includes[first_include:]), tuple(self._imported[first_role:]))
        return result

    @property
    def imported_roles(self) -> tuple[Role, ...]:
        """The roles that ``import_role`` brought in since ``begin_play``."""
        return tuple(self._imported)

    # static imports ------------------------------------------------------------------------------------------------------------

    def imported(self, task: Task, scope: Scope, report: Reporter) -> Entry | None:
        """The block that stands for ``import_tasks`` or ``import_role``."""
        shared = task.directives
        inner = scope.inside(
            shared.vars,
            doubtful=bool(shared.when) or "never" in shared.tags,
            tolerated=bool(shared.ignore_errors),
            notify=task.notify[len(scope.notify) :],
            collections=shared.collections,
            defaults=shared.module_defaults,
        )
        if task.action == "import_role":
            return self._imported_role(task, inner, report)
        return self._imported_tasks(task, inner, report)

    def _imported_tasks(self, task: Task, scope: Scope, report: Reporter) -> Entry | None:
        name = self.static_name(task, task.args.get(RAW, task.args.get("file")), scope, report, "include_tasks")
        if name is None:
            return None
        candidates = task_file_candidates(name, scope.file, scope.folder, scope.role.path if scope.role else None)
        path = first_file(candidates)
        if path is None:
            missing("file of tasks", name, candidates, task.span_of("args"), self.context.diagnostics)
            return None
        if str(path) in scope.chain or str(path) == scope.file:
            circle = " → ".join([*scope.chain, str(path)])
            report.error(
                f"{path} imports itself", task.span_of("args"), why=circle, help="use include_tasks with a condition", code="circle"
            )
            return None
        entries = self._file_entries(path, scope.entering(str(path)))
        return Block(entries, name=task.name, directives=task.directives, span=task.span)

    def _imported_role(self, task: Task, scope: Scope, report: Reporter) -> Entry | None:
        name = self.static_name(task, task.args.get("name", task.args.get("role")), scope, report, "include_role")
        if name is None:
            return None
        use = self._use(task, name, scope, report)
        role = self.roles.load(use, scope) if use is not None else None
        if role is None:
            return None
        self._imported.append(role)
        return replace(role.body, name=task.name or role.body.name, span=task.span, imported=role)

    def _use(self, task: Task, name: str, scope: Scope, report: Reporter) -> Use | None:
        rendered = [self.static_name(task, name, scope, report, "include_role") for name in Sources.of(task.args)]
        names = [name for name in rendered if name is not None]
        if len(names) < len(rendered):
            return None
        return Use(
            name,
            task.span,
            directives=task.directives,
            sources=Sources(*names),
            repeatable=_flag(task.args.get("allow_duplicates"), True),
            public=_flag(task.args.get("public"), not self.context.private_role_vars),
            validate=_flag(task.args.get("rolespec_validate"), True),
        )

    def static_name(self, task: Task, value: Any, scope: Scope, report: Reporter, dynamic: str) -> str | None:
        """The name of a static import, rendered from what is known before the run; None after reporting why that cannot be."""
        if not isinstance(value, str) or not value.strip():
            if value is not None:
                report.error(f"{task.written} takes a name", task.span_of("args"), code="import")
            return None
        if not has_template(value):
            return value.strip()
        try:
            return self.rendered(value, scope.vars)
        except NOT_RENDERED as error:
            self.not_known(value, task.span_of("args"), error, f"use variables of the play, its vars_files or -e; or use {dynamic}")
            return None

    def not_known(self, name: str, place: Span, error: Exception, help: str) -> None:
        """Report a name that cannot be rendered before the run; a lint has not all variables of one."""
        why = error.message if isinstance(error, ProvisionError) else f"it needs {error}"
        report = self.context.diagnostics.warning if self.context.linting else self.context.diagnostics.error
        report(f"the name {name!r} is not known before the run", place, why=why, help=help, code="static-name")

    def rendered(self, text: str, variables: Mapping[str, Any]) -> str:
        """A template rendered from variables known before the run. Raises what ``LoadContext.render`` raises."""
        if self.context.render is None:
            raise LookupError("variables, and there are none here")
        return str(self.context.render(text, {**variables, **self.context.extra_vars}))


def _flag(value: Any, default: bool) -> bool:
    if value is None:
        return default
    return value if isinstance(value, bool) else str(value).lower() not in FALSE


def load_playbook(path: Path | str, *, context: LoadContext) -> Playbook:
    """A playbook with everything it imports; all problems go to ``context.diagnostics``, which the caller must look at."""
    return Loader(context).load_playbook(path)
