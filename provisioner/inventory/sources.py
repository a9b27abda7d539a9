"""``load``: reads inventory sources, each with the parser that takes it, into one ``Inventory``.

A source is a file, a folder of sources, or hosts between commas. Parsers are asked in the order of the setting ``enable_plugins``; a source
that none takes is an error that says why each did not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from provisioner.config import Config
from provisioner.diagnostics import Diagnostic, Diagnostics, Span, did_you_mean
from provisioner.errors import InputError
from provisioner.inventory import ini, lists, plugins, script, toml, yaml
from provisioner.inventory.draft import Context, Draft, GroupNames, Refusal, Render, Source
from provisioner.inventory.model import Inventory
from provisioner.inventory.patterns import Mismatch
from provisioner.inventory.varsfiles import VarsFiles
from provisioner.playbook.yaml import uncollected
from provisioner.vault import Vault

IGNORED_EXTENSIONS = (".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry")
_IGNORED_ALWAYS = re.compile(r"\..*|host_vars|group_vars|vars_plugins")
_YAML = (".yml", ".yaml", ".json", "")


@dataclass(frozen=True)
class Options:
    """Settings of reading inventories; the defaults are Ansible's."""

    enabled: tuple[str, ...] = ("host_list", "script", "auto", "yaml", "ini", "toml")
    ignore_extensions: tuple[str, ...] = IGNORED_EXTENSIONS
    ignore_patterns: tuple[str, ...] = ()
    group_names: GroupNames = "never"
    merge_hashes: bool = False
    mismatch: Mismatch = "error"

    @classmethod
    def of(cls, config: Config) -> Options:
        """Those of ``ansible.cfg`` and the environment."""
        return cls(
            enabled=cls.enabled if config.enable_plugins is None else config.enable_plugins,
            ignore_extensions=IGNORED_EXTENSIONS if config.ignore_extensions is None else config.ignore_extensions,
            ignore_patterns=config.ignore_patterns,
            group_names=cast(GroupNames, config.force_valid_group_names),
            merge_hashes=config.hash_behaviour == "merge",
            mismatch=cast(Mismatch, config.host_pattern_mismatch or "error"),
        )


@dataclass(frozen=True)
class _Parser:
    """A parser and the extensions of files it looks at (None: any; hosts between commas are no file)."""

    parse: Callable[[Source, Draft], None]
    extensions: tuple[str, ...] | None = None
    wants: Callable[[Source], bool] = field(default=lambda source: True)
    files: bool = True


PARSERS: Mapping[str, _Parser] = {
    "host_list": _Parser(lists.parse, files=False),
    "advanced_host_list": _Parser(lists.parse, files=False),
    "script": _Parser(script.parse, wants=script.wants),
    "auto": _Parser(plugins.parse, (".yml", ".yaml")),
    "constructed": _Parser(plugins.parse, (".config", ".yml", ".yaml")),
    "generator": _Parser(plugins.parse, (".config", ".yml", ".yaml")),
    "yaml": _Parser(yaml.parse, _YAML),
    "ini": _Parser(ini.parse),
    "toml": _Parser(toml.parse, (".toml",)),
}


def load(
    sources: Iterable[str | Path],
    *,
    options: Options = Options(),
    vault: Vault | None = None,
    render: Render | None = None,
    extra_vars: Mapping[str, Any] | None = None,
    playbook_folders: Sequence[Path] = (),
) -> Inventory:
    """Read all sources in order; later ones add to earlier ones and override their variables.

    ``render`` evaluates the expressions of constructed inventories; ``playbook_folders`` are where ``group_vars`` and ``host_vars`` of the
    playbook are looked for unless ``Inventory.variables`` is told another. Raises ``InputError`` with the problems of all sources.
    """
    names = tuple(str(source) for source in sources)
    vault = vault if vault is not None else Vault()
    context = Context(vault, render, extra_vars or {}, options.group_names, options.merge_hashes)

    def read() -> Inventory:
        return _Loading(names, options, context, playbook_folders).run()

    inventory = read()
    inventory.on_refresh(read)
    return inventory


class _Loading:
    """One reading of all sources."""

    def __init__(self, names: Sequence[str], options: Options, context: Context, playbook_folders: Sequence[Path]) -> None:
        self._names = names
        self._options = options
        self._context = context
        self._problems = Diagnostics()
        self._parsers = self._enabled()
        try:
            self._ignored = [re.compile(pattern) for pattern in options.ignore_patterns]
        except re.error as error:
            raise InputError.of(f"inventory ignore_patterns hold what is no regular expression: {error}") from None
        folders = dict.fromkeys(folder for name in reversed(names) if (folder := _folder(name)) is not None)
        files = VarsFiles(reversed(tuple(folders)), playbook_folders, context.vault)
        self._inventory = Inventory(files)
        self._inventory.sources = tuple(names)
        self._inventory.mismatch = options.mismatch

    def run(self) -> Inventory:
        """Everything; raises ``InputError`` when a source has a problem."""
        with uncollected(), self._inventory.loading():
            for name in self._names:
                self._source(name)
        if self._problems.errors:
            raise InputError(self._problems)
        for name in self._inventory.hosts.keys() & self._inventory.groups.keys():
            help_ = "rename one; patterns mean the host, and a reader cannot tell"
            self._problems.warning(f"a host and a group are both called {name!r}", help=help_)
        for item in self._problems.warnings:
            self._inventory.warnings.add(item)
        return self._inventory

    def _enabled(self) -> dict[str, _Parser]:
        chosen: dict[str, _Parser] = {}
        for name in self._options.enabled:
            short = name.removeprefix("ansible.builtin.")
            if short in PARSERS:
                chosen[short] = PARSERS[short]
            else:
                hint = did_you_mean(short, PARSERS) or f"there are {', '.join(PARSERS)}"
                self._problems.warning(f"inventory plugin {name!r} of enable_plugins is not here", help=hint)
        return chosen

    def _source(self, name: str) -> None:
        path = Path(name).expanduser()
        if not _exists(path):
            if "," in name:
                self._parse(Source(name, None, self._context))
            else:
                self._missing(name, path)
        elif path.is_dir():
            self._folder(path)
        else:
            self._parse(Source(name, path, self._context))

    def _missing(self, name: str, path: Path) -> None:
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        near = did_you_mean(path.name, siblings)
        self._problems.error(
            f"inventory {name!r} does not exist",
            why=f"there is no file or folder {path.absolute()}",
            help=near or f"name a file or folder, or hosts with a comma: '{name},'",
        )

    def _folder(self, folder: Path) -> None:
        try:
            entries = sorted(os.listdir(folder))
        except OSError as error:
            self._problems.error(f"cannot list inventory folder {folder}: {error.strerror}", Span(str(folder)))
            return
        for entry in entries:
            path = folder / entry
            if self._is_ignored(entry, path):
                continue
            if path.is_dir():
                self._folder(path)
            else:
                self._parse(Source(str(path), path, self._context))

    def _is_ignored(self, entry: str, path: Path) -> bool:
        if _IGNORED_ALWAYS.fullmatch(entry) or any(pattern.search(entry) for pattern in self._ignored):
            return True
        return not path.is_dir() and entry.endswith(self._options.ignore_extensions)

    def _parse(self, source: Source) -> None:
        """Let the first parser that takes the source have it."""
        refusals: list[tuple[str, Refusal]] = []
        for name, parser in self._parsers.items():
            if not _is_for(parser, source):
                continue
            draft = Draft(self._inventory, source)
            try:
                parser.parse(source, draft)
            except Refusal as refusal:
                refusals.append((name, refusal))
                continue
            self._take(source, draft)
            return
        self._problems.add(_refused(source, refusals, self._parsers, named=source.name in self._names))

    def _take(self, source: Source, draft: Draft) -> None:
        try:
            draft.commit()
        except InputError as error:
            for item in error.diagnostics:
                self._problems.add(item)
        for item in source.warnings:
            self._problems.add(item)


def _is_for(parser: _Parser, source: Source) -> bool:
    if source.path is None or not parser.files:
        return source.path is None and not parser.files
    return (parser.extensions is None or source.path.suffix in parser.extensions) and parser.wants(source)


def _refused(source: Source, refusals: Sequence[tuple[str, Refusal]], parsers: Iterable[str], *, named: bool) -> Diagnostic:
    """One diagnostic for a source that no parser took; the refusal of the likeliest one gives the place."""
    if not refusals:
        kinds = ", ".join(parsers)
        return Diagnostic(
            f"no parser is for inventory {source.name}",
            source.span(),
            why=f"those enabled are {kinds}",
            help="see enable_plugins in ansible.cfg",
        )
    likely = _likeliest(source, refusals)
    others = [f"as {name}{_place(refusal)}: {refusal.reason}" for name, refusal in _others(refusals, likely)]
    read_as = next(name for name, refusal in refusals if refusal is likely)
    why = f"inventory {source.name} cannot be read as {read_as}"
    if others:
        why += "; nor " + "; nor ".join(others)
    return Diagnostic(likely.reason, likely.span or source.span(), why=why, help=_advice(source, named), code="inventory")


def _likeliest(source: Source, refusals: Sequence[tuple[str, Refusal]]) -> Refusal:
    by_name = dict(refusals)
    if "script" in by_name:
        return by_name["script"]
    order: tuple[str, ...]
    is_plugin = "yaml" in by_name and by_name["yaml"].reason == "it configures an inventory plugin"
    if source.path is not None and source.path.suffix in (".yml", ".yaml", ".json"):
        order = ("auto", "yaml") if is_plugin else ("yaml", "auto")
    elif source.path is not None and source.path.suffix == ".toml":
        order = ("toml",)
    else:
        order = ("ini", "yaml")
    return next((by_name[name] for name in order if name in by_name), refusals[0][1])


def _others(refusals: Sequence[tuple[str, Refusal]], likely: Refusal) -> Iterator[tuple[str, Refusal]]:
    """All but the likeliest; one reason is not told twice."""
    seen = {likely.reason}
    for name, refusal in refusals:
        if refusal.reason not in seen:
            seen.add(refusal.reason)
            yield name, refusal


def _place(refusal: Refusal) -> str:
    return f" (line {refusal.span.line})" if refusal.span is not None and refusal.span.line else ""


def _advice(source: Source, named: bool) -> str:
    if source.path is None:
        return "write host names between commas, as in 'gpu01,gpu02'"
    if named:
        return "correct the file, or name another"
    return "correct it; a file in an inventory folder that is no inventory can be named in ignore_patterns of ansible.cfg"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a list of hosts can be longer than a file's name may be
        return False


def _folder(name: str) -> Path | None:
    """Where ``group_vars`` and ``host_vars`` of a source are."""
    path = Path(name).expanduser()
    if not _exists(path):
        return None
    return path if path.is_dir() else path.parent
