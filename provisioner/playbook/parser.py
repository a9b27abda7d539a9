"""Playbook files: plays with their roles and tasks, imported playbooks in place."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner.diagnostics import Span
from provisioner.playbook.arguments import ArgumentTextError, has_template, parse
from provisioner.playbook.files import first_file, missing, vars_file_candidates
from provisioner.playbook.keywords import IMPORT_PLAYBOOK, KEYWORDS, ON_IMPORTED_PLAYS, ORDERS, PLAY, PROMPT_KEYS, STRATEGIES
from provisioner.playbook.model import Directives, Play, Playbook, Role
from provisioner.playbook.normalization import NOTHING, Reporter, directives, keyword_value, texts, unknown
from provisioner.playbook.places import KeySpans
from provisioner.playbook.playchecks import check_play
from provisioner.playbook.scope import NOT_RENDERED, Scope
from provisioner.playbook.yaml import uncollected
from provisioner.schema.conversion import kind_of, shown

if TYPE_CHECKING:
    from provisioner.playbook.loader import Loader

_IMPORTS = ("import_playbook", "ansible.builtin.import_playbook", "ansible.legacy.import_playbook", "include")
_LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers")
_CHECKED = (
    "gather_facts", "gather_subset", "gather_timeout", "fact_path", "strategy", "order", "max_fail_percentage", "force_handlers",
)  # fmt: skip


@dataclass(frozen=True)
class _Around:
    """What an import_playbook lays over the plays it brings in."""

    when: tuple[Any, ...] = ()
    tags: tuple[str, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    chain: tuple[str, ...] = ()


class PlaybookReader:
    """Reads one playbook with all it imports."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._context = loader.context

    def playbook(self, path: Path) -> Playbook:
        """The plays of a file; problems go to the context."""
        with uncollected():
            plays = self._plays(path, _Around(chain=(str(path),)), required=True)
        return Playbook(path, tuple(plays), self._loader.files.read)

    def _plays(self, path: Path, around: _Around, *, required: bool = False) -> list[Play]:
        document = self._loader.files.document(path)
        report = Reporter(self._context.diagnostics, str(path), document.places)
        self._context.enter(path.parent)
        if document.data is None:
            if required and not self._context.diagnostics.errors:
                report.error("an empty playbook", Span(str(path)), help="write a list of plays", code="playbook")
            return []
        if not isinstance(document.data, list):
            why = "a playbook is a list of plays, each with 'hosts'"
            report.error(
                f"not a playbook: {kind_of(document.data)}", report.at(), why=why, help="put '- ' before the play", code="playbook"
            )
            return []
        if not document.data:
            report.error("a playbook without plays", report.at(), help="write a list of plays", code="playbook")
        plays: list[Play] = []
        for index, data in enumerate(document.data):
            inner = report.within(index)
            if not isinstance(data, dict):
                why = "a playbook holds plays and import_playbook"
                inner.error(f"not a play: {shown(data)}", inner.at(), why=why, code="playbook")
                continue
            key = next((name for name in _IMPORTS if name in data), None)
            if key is None:
                plays.append(self._play(data, inner, path.parent, around))
            else:
                plays += self._imported(data, key, inner, path, around)
        return plays

    # import_playbook -----------------------------------------------------------------------------------------------------------

    def _imported(self, data: dict[Any, Any], key: str, report: Reporter, path: Path, around: _Around) -> list[Play]:
        for name in data:
            if name in ON_IMPORTED_PLAYS:
                help_ = "say it in the plays of that file"
                report.warning(f"{name} does nothing at import_playbook", report.at(name), help=help_, code="import")
            elif name != key and name not in IMPORT_PLAYBOOK:
                unknown(str(name), IMPORT_PLAYBOOK, report, "import_playbook")
        if key == "include":
            why = "Ansible removed it; it is read as import_playbook"
            report.warning("include is gone", report.at(key), why=why, help="use import_playbook", code="removed")
        shared = directives(data, report)
        name, extra = self._import_target(data[key], key, report)
        if not name:
            return []
        variables = {**shared.vars, **extra}
        tags = shared.tags
        if "tags" in variables and "tags" in extra:
            tags = (*tags, *str(variables.pop("tags")).split(","))
        if has_template(name):
            try:
                known = {"playbook_dir": str(path.parent.absolute()), **around.vars, **variables}
                name = self._loader.rendered(name, known)
            except NOT_RENDERED as error:
                self._loader.not_known(name, report.value_at(key), error, "give its variables with -e")
                return []
        target = self._find_playbook(name, path, report.value_at(key))
        if target is None:
            return []
        if str(target) in around.chain:
            circle = " → ".join([*around.chain, str(target)])
            report.error(f"{target} imports itself", report.value_at(key), why=circle, help="break the circle", code="circle")
            return []
        inner = _Around(around.when + shared.when, around.tags + tags, {**variables, **around.vars}, (*around.chain, str(target)))
        return self._plays(target, inner)

    def _import_target(self, value: Any, key: str, report: Reporter) -> tuple[str, dict[str, Any]]:
        """The file and the k=v parameters of an import."""
        if isinstance(value, str):
            try:
                arguments = parse(value)
            except ArgumentTextError as error:
                report.error(f"{key}: {error}", report.value_at(key), code="arguments")
                return "", {}
            name = arguments.pop("_raw_params", arguments.pop("file", ""))
            if name:
                return name, dict(arguments)
        report.error(f"{key} takes the name of a playbook", report.value_at(key), code="import")
        return "", {}

    def _find_playbook(self, name: str, path: Path, place: Span) -> Path | None:
        target = Path(os.path.normpath(path.parent / name)) if not Path(name).is_absolute() else Path(name)
        candidates = [target]
        if not target.is_file() and name.count(".") >= 2 and "/" not in name:
            namespace, collection, short = name.split(".", 2)
            for base in self._context.collection_folders(f"{namespace}.{collection}", path.parent):
                candidates += [base / "playbooks" / f"{short.replace('.', '/')}{ending}" for ending in (".yml", ".yaml", "")]
        found = first_file(candidates)
        if found is None:
            certain = not (self._context.linting and len(candidates) > 1)
            missing("playbook", name, candidates, place, self._context.diagnostics, certain=certain)
        return found

    # plays ---------------------------------------------------------------------------------------------------------------------

    def _play(self, data: dict[Any, Any], report: Reporter, folder: Path, around: _Around) -> Play:
        self._loader.begin_play()
        data = dict(data)
        if "user" in data and "remote_user" not in data:
            data["remote_user"] = data["user"]
        for key in data:
            if key not in PLAY and key != "user":
                unknown(str(key), PLAY, report, "a play")
        shared = directives(data, report, defaults=self._loader.actions.defaults)
        shared = _laid_over(shared, around)
        scope = Scope(
            report.file,
            folder,
            sure=not around.when,
            tolerated=bool(shared.ignore_errors),
            collections=shared.collections,
            defaults=shared.module_defaults,
            vars=self._static_variables(data, shared, folder),
            chain=around.chain,
        )
        roles = self._roles(data.get("roles"), report, scope)
        lists = {}
        for key in _LISTS:
            inner = replace(scope, handlers=key == "handlers")
            lists[key] = self._loader.tasks.entries(data.get(key), report.within(key).place, inner, key)
        values = {key: keyword_value(KEYWORDS[key], data.get(key), report) for key in _CHECKED}
        play = Play(
            hosts=self._hosts(data, report),
            span=report.at(),
            name=keyword_value(KEYWORDS["name"], data.get("name"), report),
            directives=shared,
            serial=self._serial(data.get("serial"), report),
            vars_files=self._vars_files(data.get("vars_files"), report),
            vars_prompt=self._prompts(data.get("vars_prompt"), report),
            roles=roles,
            imported_roles=self._loader.imported_roles,
            folder=folder,
            spans=KeySpans(report.file, report.place),
            **lists,
            **values,
        )
        self._words(play, report)
        check_play(play, self._loader)
        return play

    def _hosts(self, data: dict[Any, Any], report: Reporter) -> Any:
        hosts = data.get("hosts")
        if hosts in (None, "", []):
            help_ = "write 'hosts: GROUP', a pattern, or all"
            report.error("a play without hosts", report.at("hosts"), help=help_, code="hosts")
            return "all" if hosts is None else hosts
        wrong = next((item for item in texts(hosts) if not isinstance(item, str)), None)
        if wrong is not None:
            report.error(f"hosts takes names, not {shown(wrong)}", report.value_at("hosts"), code="hosts")
        return hosts

    def _static_variables(self, data: dict[Any, Any], shared: Directives, folder: Path) -> Mapping[str, Any]:
        """What names of static imports may use: vars of the play, and its vars_files as far as their names are literal."""
        variables: dict[str, Any] = {}
        for item in texts(data.get("vars_files")):
            literal = [name for name in texts(item) if isinstance(name, str) and not has_template(name)]
            path = first_file(path for name in literal for path in vars_file_candidates(name, folder))
            if path is not None:
                variables.update(self._loader.files.variables(path)[0])
        base = {"playbook_dir": str(folder.absolute())}
        return ChainMap(variables, dict(shared.vars), base)

    def _roles(self, data: Any, report: Reporter, scope: Scope) -> tuple[Role, ...]:
        if data is None:
            return ()
        if not isinstance(data, list):
            report.error(
                f"roles must be a list, not {kind_of(data)}", report.value_at("roles"), help="put '- ' before each role", code="role"
            )
            return ()
        found = []
        for index, item in enumerate(data):
            inner = report.within("roles", index)
            use = self._loader.roles.use(item, inner, defaults=True)
            if use is None:
                continue
            if has_template(use.name):
                use = self._rendered_role(use, inner, scope)
            role = self._loader.roles.load(use, scope) if use is not None else None
            if role is not None:
                found.append(role)
        return tuple(found)

    def _rendered_role(self, use: Any, report: Reporter, scope: Scope) -> Any:
        try:
            return replace(use, name=self._loader.rendered(use.name, {**scope.vars, **use.directives.vars, **use.params}))
        except NOT_RENDERED as error:
            self._loader.not_known(use.name, report.at(), error, "use variables of the play or -e; or use include_role")
            return None

    def _serial(self, value: Any, report: Reporter) -> tuple[Any, ...]:
        found = []
        for item in texts(value):
            text = str(item).strip()
            if has_template(item) or text.removesuffix("%").strip().isdigit():
                found.append(item)
            elif item is not None:
                help_ = "write 5, '30%', or a list of them"
                report.error(
                    f"serial takes numbers or percentages, not {shown(item)}", report.value_at("serial"), help=help_, code="serial"
                )
        return tuple(found)

    def _vars_files(self, value: Any, report: Reporter) -> tuple[Any, ...]:
        found: list[Any] = []
        for index, item in enumerate(texts(value)):
            choices = texts(item)
            if any(not isinstance(name, str) for name in choices):
                report.error(f"vars_files takes file names, not {shown(item)}", report.value_at("vars_files", index), code="keyword-value")
            else:
                self._vars_file_exists(choices, report, index)
                found.append(tuple(choices) if isinstance(item, list) else item)
        return tuple(found)

    def _vars_file_exists(self, choices: tuple[str, ...], report: Reporter, index: int) -> None:
        """Literal names of which none exists; whoever lints a tree may not have its secrets."""
        if not choices or has_template(list(choices)):
            return
        tried = [path for name in choices for path in vars_file_candidates(name, Path(report.file).parent)]
        if first_file(tried) is None:
            place = report.value_at("vars_files", index)
            missing("file of variables", choices[0], tried, place, self._context.diagnostics, certain=not self._context.linting)

    def _prompts(self, value: Any, report: Reporter) -> tuple[Mapping[str, Any], ...]:
        found = []
        for index, item in enumerate(texts(value)):
            inner = report.within("vars_prompt", index) if isinstance(value, list) else report.within("vars_prompt")
            if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                help_ = "write '- name: VARIABLE' with 'prompt: TEXT'"
                inner.error("a prompt needs the name of its variable", inner.at(), help=help_, code="vars-prompt")
                continue
            for key in item:
                if key not in PROMPT_KEYS:
                    unknown_key = dict.fromkeys(PROMPT_KEYS, KEYWORDS["name"])
                    unknown(str(key), unknown_key, inner, "vars_prompt")
            found.append(item)
        return tuple(found)

    def _words(self, play: Play, report: Reporter) -> None:
        for key, value, known in (("order", play.order, ORDERS), ("strategy", play.strategy, STRATEGIES)):
            word = str(value).rpartition(".")[2]
            if value is not None and not has_template(value) and word not in known:
                help_ = f"one of: {', '.join(known)}"
                report.error(f"{key} knows no {shown(value)}", report.value_at(key), help=help_, code="keyword-value")


def _laid_over(shared: Directives, around: _Around) -> Directives:
    if around.when or around.tags or around.vars:
        return replace(shared, when=around.when + shared.when, tags=around.tags + shared.tags, vars={**shared.vars, **around.vars})
    return shared if shared is not NOTHING else NOTHING
