"""``Session``: settings, inventory, vault, modules and playbooks, read and checked; it makes runs, and prints and asks nothing.

session = Session.open(["inventory/prod.yml"])
outcome = session.apply(limit="gpu01", listener=print)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner import config as settings
from provisioner.bridge.bridge import Bridge
from provisioner.bridge.core import find_core
from provisioner.config import Config
from provisioner.diagnostics import Diagnostics
from provisioner.engine.options import Options
from provisioner.errors import InputError, UsageError
from provisioner.inventory import Inventory
from provisioner.inventory import Options as InventoryOptions
from provisioner.inventory import load as load_inventory
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Playbook
from provisioner.playbook.rejects import rejected_modules
from provisioner.playbook.scope import LoadContext
from provisioner.ports import Connect
from provisioner.project import preflight
from provisioner.project.expressions import inventory_renderer
from provisioner.project.layout import check_inventories, find_playbooks, project_folder
from provisioner.schema.registry import Registry
from provisioner.templating.collected import CollectionPlugins
from provisioner.templating.environment import Environment
from provisioner.templating.plugins import load_folder, load_plugins
from provisioner.vault import Vault

if TYPE_CHECKING:
    from provisioner.engine.run import Outcome, Run
    from provisioner.events import Event, Listener, StepFinished
    from provisioner.templating.templar import Templar
    from provisioner.templating.variables import Scope

LIBRARIES = tuple(Path(folder).expanduser() for folder in ("~/.ansible/plugins/modules", "/usr/share/ansible/plugins/modules"))
"""Where Ansible looks for modules that are on the machine rather than in a project; and for what they import."""
MODULE_UTILS = tuple(folder.with_name("module_utils") for folder in LIBRARIES)
NOT_GIVEN = {"mode", "command", "extra_vars", "secrets"}
"""Settings of a run that a session gives by itself."""


@dataclass
class Session:
    """What is needed to look at playbooks and inventories and to run them. Nothing is connected before a run.

    extra_vars  variables that win over all others
    warnings    what settings and inventory gave cause to warn of; those of playbooks come with the run that loads them
    """

    config: Config
    sources: tuple[str, ...]
    vault: Vault
    extra_vars: Mapping[str, Any]
    inventory: Inventory
    loader: Loader
    environment: Environment
    bridge: Bridge
    warnings: Diagnostics = field(default_factory=Diagnostics)

    @classmethod
    def open(
        cls,
        inventories: Sequence[str | Path] = (),
        *,
        extra_vars: Mapping[str, Any] | None = None,
        vault: Vault | None = None,
        config: Config | None = None,
    ) -> Session:
        """Read settings and inventories (by default the one of the settings). Raises ``UsageError`` and ``InputError``."""
        config = config if config is not None else settings.load()
        sources = tuple(dict.fromkeys(map(str, inventories or config.inventory)))
        if not sources:
            raise UsageError("no inventory is named", help="name a file, a folder, or hosts between commas: provision COMMAND INVENTORY")
        check_inventories(sources)
        vault = vault if vault is not None else Vault()
        extra = dict(extra_vars or {})
        folder = project_folder(sources)
        inventory = load_inventory(
            sources,
            options=InventoryOptions.of(config),
            vault=vault,
            render=inventory_renderer(),
            extra_vars=extra,
            playbook_folders=[folder / "playbooks"] if folder else [],
        )
        environment = Environment(read_bytes=vault.read, settings=settings.by_ansible_name(config))
        bridge = _bridge(config)
        session = cls(config, sources, vault, extra, inventory, _loader(config, vault, extra, environment, bridge), environment, bridge)
        for warning in (*config.notes, *inventory.warnings):
            session.warnings.add(warning)
        return session

    # Playbooks

    def read(self, named: Sequence[str | Path] = ()) -> list[Playbook]:
        """The playbooks named, else ``playbooks/site.yml`` of the project; problems are in ``loader.context.diagnostics``."""
        return [self.loader.load_playbook(path) for path in find_playbooks(named, self.sources)]

    def problems(self, playbooks: Sequence[Playbook], options: Options) -> Diagnostics:
        """Everything that is wrong or doubtful with settings, inventory, playbooks and options, before any connection."""
        found = Diagnostics()
        for source in (self.warnings, self.loader.context.diagnostics, preflight.check(playbooks, self.inventory, options)):
            for item in source:
                found.add(item)
        return found

    def templar(self, scope: Scope) -> Templar:
        """Renders in a scope without making anything."""
        from provisioner.templating.templar import Templar

        return Templar(self.environment, scope, search_paths=[Path.cwd()], read_only=True)

    # Runs

    def connector(self) -> Connect:
        """What starts agents over real connections."""
        from provisioner.project.sources import ModuleSources
        from provisioner.transport.connect import Connector

        return Connector(ModuleSources(self.loader.context.registry))

    def run(
        self,
        playbooks: Sequence[Playbook],
        options: Options,
        *,
        expect: Callable[[StepFinished], None] | None = None,
        connect: Connect | None = None,
    ) -> Run:
        """A run that is ready to be executed; ``expect`` sees every step and may raise ``PlanMismatch``."""
        from provisioner.engine.run import Run

        return Run(
            playbooks,
            self.inventory,
            connect or self.connector(),
            self.loader,
            options,
            environment=self.environment,
            bridge=self.bridge,
            expect=expect,
            merge_hashes=self.config.hash_behaviour == "merge",
        )

    def apply(self, playbooks: Sequence[str | Path] = (), *, listener: Listener | None = None, **choices: Any) -> Outcome:
        """Bring the hosts to what the playbooks say.

        ``choices`` are fields of ``engine.options.Options``: ``limit``, ``tags``, ``forks``, ``become_password``… Raises ``InputError``
        with every problem found before any connection; what goes wrong on hosts is in the outcome.
        """
        return self._run(playbooks, listener, Options(mode="apply", command="apply", **self._common(choices)))

    def plan(self, playbooks: Sequence[str | Path] = (), *, listener: Listener | None = None, **choices: Any) -> Outcome:
        """Find what ``apply`` would change, and change nothing; the plan is the outcome's document."""
        return self._run(playbooks, listener, Options(mode="plan", command="plan", **self._common(choices)))

    def _common(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        known = {each.name for each in fields(Options)} - NOT_GIVEN
        unknown = set(choices) - known
        if unknown:
            raise TypeError(f"no such setting of a run: {', '.join(sorted(unknown))}")
        tags = {name: frozenset(choices[name]) for name in ("tags", "skip_tags") if name in choices}
        return {**choices, **tags, "extra_vars": self.extra_vars, "secrets": self.vault.secrets}

    def _run(self, named: Sequence[str | Path], listener: Listener | None, options: Options) -> Outcome:
        playbooks = self.read(named)
        found = self.problems(playbooks, options)
        if found.errors:
            raise InputError(found)
        return self.run(playbooks, options).execute(listener or _ignore)


def _ignore(_event: Event) -> None:
    """Nobody listens."""


FILTERS = "/etc/ansible/plugin_filters.yml"


def _bridge(config: Config) -> Bridge:
    """The bridge to modules of Ansible's kind, over the ansible-core that is installed or named."""
    core = find_core(config.ansible_path)
    registry = Registry([*map(Path, config.library), *LIBRARIES])
    filters = Path(config.plugin_filters_cfg or FILTERS)
    registry.reject(rejected_modules(filters), f"it is rejected by {filters}")
    bridge = Bridge(core, registry, (*map(Path, config.module_utils), *MODULE_UTILS))
    registry.use_core(core.modules if core else None, lambda collection: bridge.routing.redirects(collection, "modules"))
    return bridge


def _loader(config: Config, vault: Vault, extra: Mapping[str, Any], environment: Environment, bridge: Bridge) -> Loader:
    context = LoadContext(
        registry=bridge.registry,
        bridge=bridge,
        vault=vault,
        hide=vault.secrets.add_data,
        render=inventory_renderer(),
        check_template=lambda text, expression: environment.expression_check(text) if expression else environment.parse_check(text),
        check_file=environment.file_check,
        lookups=environment.lookups,
        extra_vars=extra,
        private_role_vars=config.private_role_vars if "private_role_vars" in config.origins else None,
    )
    context.entered = lambda folder: load_plugins(environment, folder, context.diagnostics)
    _plugins_of(config, environment, context.diagnostics)
    roots, moved = (lambda: bridge.registry.collections), bridge.routing.redirects
    CollectionPlugins(environment, roots, moved, lambda: context.diagnostics, context.own_collections)
    if config.roles_path:
        context.roles_path = tuple(map(Path, config.roles_path))
    if config.collections_path:
        context.collections_path = tuple(map(Path, config.collections_path))
    if bridge.core is not None:
        context.collections_path += bridge.core.collections
    return Loader(context)


def _plugins_of(config: Config, environment: Environment, diagnostics: Diagnostics) -> None:
    """The plugins in the folders that the settings name."""
    for kind, folders in (
        ("FilterModule", config.filter_plugins),
        ("TestModule", config.test_plugins),
        ("LookupModule", config.lookup_plugins),
    ):
        for folder in folders:
            load_folder(environment, Path(folder), kind, diagnostics)


def adopt(session: Session, folder: Path) -> None:
    """Also follow the settings of another folder, as far as they say where things are: of a tree that is only looked at."""
    config = settings.load({}, folder)
    if config.file is None or config.file.parent != folder.absolute():
        return
    context = session.loader.context
    context.roles_path = (*map(Path, config.roles_path), *context.roles_path)
    context.collections_path = (*map(Path, config.collections_path), *context.collections_path)
    context.registry.add_collections(map(Path, config.collections_path))
    for library in config.library:
        context.registry.add_library(Path(library))
    _plugins_of(config, session.environment, context.diagnostics)


def load(*inventories: str | Path, **details: Any) -> Session:
    """A session on these inventories; ``details`` are those of ``Session.open``: ``extra_vars``, ``vault``, ``config``."""
    return Session.open(inventories, **details)
