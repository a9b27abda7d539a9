"""Roles: where they are, what they bring, what they depend on, and the block that stands for one use of a role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from provisioner.diagnostics import Span, did_you_mean
from provisioner.playbook.files import Files, find_main, missing
from provisioner.playbook.keywords import ROLE
from provisioner.playbook.model import Block, Directives, Entry, Role, RoleSource, Task
from provisioner.playbook.normalization import NOTHING, Reporter, directives
from provisioner.playbook.scope import LoadContext, Scope
from provisioner.playbook.tasks import TaskReader
from provisioner.playbook.yaml import Document
from provisioner.schema.conversion import ConversionError, kind_of, to_bool

MAIN = "main"


class Sources(NamedTuple):
    """Which files of a role are used, without ending; ``main`` unless said otherwise."""

    tasks: str = MAIN
    vars: str = MAIN
    defaults: str = MAIN
    handlers: str = MAIN

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> Sources:
        """From ``tasks_from`` and its like among the arguments of a task."""
        given = {kind: args.get(f"{kind}_from") for kind in cls._fields}
        return cls(**{kind: _without_ending(str(name)) for kind, name in given.items() if name is not None})

    def map(self, change: Callable[[str], str]) -> Sources:
        """With every name changed."""
        return Sources(*map(change, self))


def _without_ending(name: str) -> str:
    for ending in (".yml", ".yaml"):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


MAIN_SOURCES = Sources()


@dataclass(frozen=True)
class Use:
    """How a role is used at one place: from ``roles:``, a dependency, an import or an include.

    ``repeatable``: run even if the role ran before; None leaves that to the role's ``allow_duplicates``.
    """

    name: str
    span: Span
    params: Mapping[str, Any] = field(default_factory=dict)
    directives: Directives = NOTHING
    sources: Sources = MAIN_SOURCES
    repeatable: bool | None = None
    public: bool = True
    validate: bool = True

    def key(self) -> str:
        """What makes two uses of a role different for the purpose of running it once."""
        shared = self.directives
        variables = sorted(shared.vars.items(), key=str)
        return repr((sorted(self.params.items(), key=str), shared.when, shared.tags, variables, tuple(self.sources)))


@dataclass(frozen=True)
class _Meta:
    """meta/main.yml, and the argument specifications."""

    document: Document | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    specs: Mapping[str, Any] = field(default_factory=dict)


Once = Callable[[tuple[Any, ...], Callable[[], Any]], Any]


class RoleLoader:
    """Finds and loads roles; files are parsed once, each use is built anew, since its parameters differ."""

    def __init__(self, context: LoadContext, files: Files, tasks: TaskReader, once: Once) -> None:
        self._context = context
        self._files = files
        self._tasks = tasks
        self._once = once
        self._metas: dict[Path, _Meta] = {}
        self.missed = False
        """Whether a role of the current play was not found, so that not all handlers are known."""

    def find(self, name: str, scope: Scope) -> tuple[Path | None, str | None, list[Path]]:
        """The folder of a role, its collection if it belongs to one, and the places that were looked at."""
        tried: list[Path] = []
        collections = list(scope.collections)
        short = name
        if name.count(".") >= 2 and "/" not in name:
            namespace, collection, short = name.split(".", 2)
            collections = [f"{namespace}.{collection}"]
        for full in collections:
            for folder in self._context.collection_folders(full, scope.folder):
                tried.append(folder / "roles" / short.replace(".", "/"))
                if tried[-1].is_dir():
                    return tried[-1], full, tried
        for base in self._bases(scope):
            tried.append(base / name)
            if tried[-1].is_dir():
                return tried[-1], None, tried
        path = Path(name).expanduser()
        if path.is_absolute() and path.is_dir():
            return path, None, tried
        return None, None, tried

    def _bases(self, scope: Scope) -> Iterable[Path]:
        yield scope.folder / "roles"
        yield from self._context.roles_path
        if scope.role is not None:
            yield scope.role.path.parent
        yield scope.folder
        yield Path(scope.file).parent

    def names(self, scope: Scope) -> list[str]:
        """The roles that could be named here."""
        return sorted({path.name for base in self._bases(scope) if base.name == "roles" and base.is_dir() for path in base.iterdir()})

    def load(self, use: Use, scope: Scope, folder: Path | None = None) -> Role | None:
        """A role with its dependencies for one use; None after reporting that it does not exist. ``folder`` spares the search."""
        path, collection, tried = self.find(use.name, scope) if folder is None else (folder, None, [])
        if path is None:
            self._missing(use, scope, tried)
            return None
        marker = f"role {path}:{use.sources.tasks}"
        if marker in scope.chain:
            circle = " → ".join([item[5:] for item in scope.chain if item.startswith("role ")] + [str(path)])
            self._context.diagnostics.error(f"role {use.name!r} needs itself", use.span, why=circle, help="break the circle", code="circle")
            return None
        surroundings = (scope.folder, scope.sure, scope.tolerated, scope.collections, scope.defaults, id(scope.role), scope.notify)
        key = ("role", path, use.key(), use.repeatable, *surroundings)
        loaded: Role = self._once(tuple(map(str, key)), lambda: self._loaded(use, scope, path, collection, marker))
        return loaded

    def _loaded(self, use: Use, scope: Scope, path: Path, collection: str | None, marker: str) -> Role:
        self._context.enter(path)
        meta = self._meta(path)
        source = self._source(use, path, collection, meta, scope)
        inner = self._scope(source, use, meta, scope, marker)
        dependencies = tuple(self._dependencies(meta, replace(inner, role=source)))
        needs = tuple(needed for role in dependencies for needed in (*role.source.needs, role.source))
        source = replace(source, dependencies=tuple(role.source.name for role in dependencies), needs=needs)
        inner = replace(inner, role=source)
        own = self._entries(path / "tasks", use.sources.tasks, inner, use, "tasks")
        handlers = self._entries(path / "handlers", use.sources.handlers, replace(inner, handlers=True), use, "handlers")
        check = self._argument_check(meta, use, source)
        body = Block(
            tasks=(*(role.body for role in dependencies), *check, *own),
            name=use.name,
            directives=use.directives,
            span=use.span,
            role=source,
        )
        return Role(source, body, handlers, dependencies)

    def _missing(self, use: Use, scope: Scope, tried: list[Path]) -> None:
        self.missed = True
        help_ = did_you_mean(use.name, self.names(scope)) or "install it, or correct the name or roles_path"
        elsewhere = use.name in self._context.expected or use.name.count(".") >= 2
        report = self._context.diagnostics.warning if self._context.linting and elsewhere else self._context.diagnostics.error
        report(
            f"there is no role {use.name!r}",
            use.span,
            why="looked for " + ", ".join(dict.fromkeys(map(str, tried))),
            help=help_,
            code="missing-role",
        )

    def _scope(self, source: RoleSource, use: Use, meta: _Meta, scope: Scope, marker: str) -> Scope:
        collections = tuple(str(item) for item in meta.data.get("collections") or ())
        if source.collection:
            collections = (source.collection, *collections)
        variables = {**source.defaults, **scope.vars, **source.vars, **use.directives.vars, **source.params, **self._context.extra_vars}
        inside = scope.inside(
            doubtful=bool(use.directives.when) or "never" in use.directives.tags,
            tolerated=use.directives.ignore_errors is not None and use.directives.ignore_errors is not False,
            defaults=use.directives.module_defaults,
        )
        return replace(
            inside,
            role=source,
            handlers=False,
            vars={**variables, "role_path": str(source.path), "role_name": source.name},
            collections=collections or use.directives.collections or scope.collections,
            chain=(*scope.chain, marker),
        )

    def _source(self, use: Use, path: Path, collection: str | None, meta: _Meta, scope: Scope) -> RoleSource:
        defaults, default_places = self._variables(path, "defaults", use.sources.defaults, use)
        variables, places = self._variables(path, "vars", use.sources.vars, use)
        parents = (*scope.role.parents, scope.role.name) if scope.role is not None else ()
        repeatable = use.repeatable
        if repeatable is None:
            repeatable = self._flag(meta, "allow_duplicates")
        return RoleSource(
            name=path.name if collection is None else use.name.rpartition(".")[2],
            path=path,
            defaults=defaults,
            vars=variables,
            params=use.params,
            origins={f"defaults.{name}": place for name, place in default_places.items()} | default_places | places,
            collection=collection,
            parents=parents,
            allow_duplicates=repeatable,
            public=use.public,
            key=use.key(),
        )

    def _flag(self, meta: _Meta, name: str) -> bool:
        try:
            return to_bool(meta.data.get(name, False))
        except ConversionError as error:
            place = meta.document.span(name) if meta.document else None
            self._context.diagnostics.error(f"{name} {error}", place, help=error.help, code="keyword-value")
            return False

    def _variables(self, path: Path, kind: str, name: str, use: Use) -> tuple[dict[str, Any], dict[str, str]]:
        found = find_main(path / kind, name, folders=True)
        if found is None:
            if name != MAIN:
                tried = [path / kind / f"{name}.yml"]
                missing(f"file {kind}_from", name, tried, use.span, self._context.diagnostics)
            return {}, {}
        return self._files.variables(found)

    def _entries(self, folder: Path, name: str, scope: Scope, use: Use, what: str) -> tuple[Entry, ...]:
        found = find_main(folder, name)
        if found is None:
            if name != MAIN:
                missing(f"file {what}_from", name, [folder / f"{name}.yml"], use.span, self._context.diagnostics)
            return ()
        document = self._files.document(found)
        return self._tasks.entries(document.data, document.places, scope.entering(str(found)), what)

    def _meta(self, path: Path) -> _Meta:
        known = self._metas.get(path)
        if known is None:
            known = self._metas[path] = self._read_meta(path)
        return known

    def _read_meta(self, path: Path) -> _Meta:
        document, data = self._mapping(find_main(path / "meta", MAIN))
        _, specs = self._mapping(find_main(path / "meta", "argument_specs"))
        found = specs.get("argument_specs") or data.get("argument_specs") or {}
        return _Meta(document, data, found if isinstance(found, dict) else {})

    def _mapping(self, path: Path | None) -> tuple[Document | None, Mapping[str, Any]]:
        if path is None:
            return None, {}
        document = self._files.document(path)
        if document.data is None:
            return document, {}
        if not isinstance(document.data, dict):
            self._context.diagnostics.error(f"{path} must hold a mapping", document.span(), code="role-meta")
            return document, {}
        return document, document.data

    def _dependencies(self, meta: _Meta, scope: Scope) -> Iterable[Role]:
        entries = meta.data.get("dependencies")
        if not entries or meta.document is None:
            return
        inner = scope.entering(meta.document.file)
        report = Reporter(self._context.diagnostics, meta.document.file, meta.document.places).within("dependencies")
        if not isinstance(entries, list):
            report.error(f"dependencies must be a list, not {kind_of(entries)}", report.at(), code="role-meta")
            return
        for index, item in enumerate(entries):
            use = self.use(item, report.within(index), defaults=True)
            role = self.load(use, inner) if use is not None else None
            if role is not None:
                yield role

    def use(self, item: Any, report: Reporter, *, defaults: bool = False) -> Use | None:
        """An entry of ``roles:`` or of a role's dependencies; keys that are no keywords are parameters of the role."""
        if isinstance(item, str):
            return Use(self._short(item), report.at(), public=not self._context.private_role_vars)
        name = (item.get("role") or item.get("name") or item.get("src")) if isinstance(item, dict) else None
        if not isinstance(name, str):
            help_ = "write its name, or a mapping with 'role: NAME'"
            report.error("not a role", report.at(), help=help_, code="role")
            return None
        shared = directives(item, report, defaults=self._tasks.actions.defaults if defaults else None)
        reserved = {*ROLE, "role", "name", "src", "scm", "version"}
        params = {key: value for key, value in item.items() if key not in reserved}
        return Use(self._short(name), report.at(), params, shared, public=not self._context.private_role_vars)

    def _short(self, name: str) -> str:
        """``git+https://…/x.git,v1`` and ``src,version,name`` of galaxy dependencies → the installed name."""
        if "," in name:
            parts = name.split(",")
            name = parts[2] if len(parts) > 2 else parts[0]
        if "://" in name or name.startswith("git@"):
            name = name.rstrip("/").rpartition("/")[2].removesuffix(".git").removesuffix(".tar.gz")
        return name

    def _argument_check(self, meta: _Meta, use: Use, source: RoleSource) -> tuple[Task, ...]:
        """The task that checks the role's arguments, where the role says what they are."""
        entry = Path(use.sources.tasks).stem
        spec = meta.specs.get(entry)
        if not use.validate or not isinstance(spec, dict) or not spec.get("options"):
            return ()
        short = spec.get("short_description")
        return (
            Task(
                action="validate_argument_spec",
                written="validate_argument_spec",
                name=f"Validating arguments against arg spec '{entry}'" + (f" - {short}" if short else ""),
                args={
                    "argument_spec": spec["options"],
                    "provided_arguments": dict(source.params),
                    "validate_args_context": {
                        "type": "role",
                        "name": source.name,
                        "argument_spec_name": entry,
                        "path": str(source.path.absolute()),
                    },
                },
                span=use.span,
                directives=Directives(tags=("always",)),
                role=source,
                implicit=True,
            ),
        )
