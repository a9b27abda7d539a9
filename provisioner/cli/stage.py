"""``Stage``: settings, inventory, vault, modules and playbooks as the command line asks for them, ready to be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provisioner import config as settings
from provisioner.cli import failures, preflight
from provisioner.cli.expressions import inventory_renderer
from provisioner.cli.options import Choices
from provisioner.cli.passwords import open_vault
from provisioner.cli.project import check_inventories, find_playbooks, project_folder
from provisioner.cli.settings import engine_options
from provisioner.cli.variables import read_extra_vars
from provisioner.config import Config
from provisioner.diagnostics import Diagnostics
from provisioner.errors import UsageError
from provisioner.inventory import Inventory, load
from provisioner.inventory import Options as InventoryOptions
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Playbook
from provisioner.playbook.scope import LoadContext
from provisioner.ports import Connect, Mode
from provisioner.schema.registry import Registry
from provisioner.templating.environment import Environment
from provisioner.vault import Vault

if TYPE_CHECKING:
    from provisioner.engine.options import Options
    from provisioner.engine.run import Run
    from provisioner.events import StepFinished
    from provisioner.templating.templar import Templar
    from provisioner.templating.variables import Scope


@dataclass
class Stage:
    """What commands that look at playbooks and inventories share. Nothing here opens a connection."""

    choices: Choices
    config: Config
    sources: tuple[str, ...]
    vault: Vault
    extra_vars: Mapping[str, Any]
    inventory: Inventory
    loader: Loader
    environment: Environment
    warnings: Diagnostics = field(default_factory=Diagnostics)

    @classmethod
    def open(cls, choices: Choices, inventories: Sequence[str]) -> Stage:
        """Read settings, vault passwords and inventories. Raises ``UsageError`` and ``InputError``."""
        config = settings.load()
        sources = tuple(dict.fromkeys([*(inventories or config.inventory), *choices.more_inventories]))
        if not sources:
            raise UsageError("no inventory is named", help="name a file, a folder, or hosts between commas: provision COMMAND INVENTORY")
        check_inventories(sources)
        vault = open_vault(choices, config)
        extra = read_extra_vars(choices.extra_vars, vault)
        folder = project_folder(sources)
        inventory = load(
            sources,
            options=InventoryOptions.of(config),
            vault=vault,
            render=inventory_renderer(),
            extra_vars=extra,
            playbook_folders=[folder / "playbooks"] if folder else [],
        )
        environment = Environment(read_bytes=vault.read)
        stage = cls(choices, config, sources, vault, extra, inventory, _loader(config, vault, extra, environment), environment)
        for warning in (*config.notes, *inventory.warnings):
            stage.warnings.add(warning)
        return stage

    @classmethod
    def for_lint(cls, choices: Choices, inventories: Sequence[str]) -> Stage:
        """The same for looking at playbooks only: an inventory is not needed."""
        config = settings.load()
        return cls.open(choices, inventories or config.inventory or ["localhost,"])

    def templar(self, scope: Scope) -> Templar:
        """Renders in a scope without making anything."""
        from provisioner.templating.templar import Templar

        return Templar(self.environment, scope, search_paths=[Path.cwd()], read_only=True)

    def load_for_reading(self, named: Sequence[str]) -> list[Playbook]:
        """Playbooks to look at; without any named, and no project, none. Problems in them are shown, not raised."""
        if not named and project_folder(self.sources) is None:
            return []
        playbooks = [self.loader.load_playbook(path) for path in find_playbooks(named, self.sources)]
        failures.show(self.loader.context.diagnostics)
        return playbooks

    def load(self, named: Sequence[str], options: Options) -> list[Playbook]:
        """The playbooks to run, after the whole static pass; raises ``InputError`` with every problem found, shows warnings."""
        playbooks = [self.loader.load_playbook(path) for path in find_playbooks(named, self.sources)]
        self.check(playbooks, options)
        return playbooks

    def check(self, playbooks: Sequence[Playbook], options: Options) -> None:
        """Raise ``InputError`` with every problem of settings, inventory, playbooks and options together, else show the warnings."""
        found = Diagnostics()
        for source in (self.warnings, self.loader.context.diagnostics, preflight.check(playbooks, self.inventory, options)):
            for item in source:
                found.add(item)
        failures.raise_or_show(found)

    def options(self, mode: Mode, command: str) -> Options:
        """What the engine is told; asks for passwords where that was wanted."""
        return engine_options(self.choices, self.config, self.extra_vars, mode=mode, command=command)

    def run(
        self,
        playbooks: Sequence[Playbook],
        options: Options,
        expect: Callable[[StepFinished], None] | None = None,
        connect: Connect | None = None,
    ) -> Run:
        """A run of these playbooks over real connections; ``expect`` sees every step and may raise ``PlanMismatch``."""
        from provisioner.engine.run import Run

        return Run(
            playbooks,
            self.inventory,
            connect or self.connector(),
            self.loader,
            options,
            environment=self.environment,
            expect=expect,
            merge_hashes=self.config.hash_behaviour == "merge",
        )

    def connector(self) -> Connect:
        """What starts agents; no connection is made before it is called."""
        from provisioner.cli.sources import ModuleSources
        from provisioner.transport.connect import Connector

        return Connector(ModuleSources(self.loader.context.registry))


def _loader(config: Config, vault: Vault, extra: Mapping[str, Any], environment: Environment) -> Loader:
    context = LoadContext(
        registry=Registry(map(Path, config.library)),
        vault=vault,
        render=inventory_renderer(),
        check_template=lambda text, expression: _template_problem(environment, text, expression),
        lookups=environment.lookups,
        extra_vars=extra,
    )
    if config.roles_path:
        context.roles_path = tuple(map(Path, config.roles_path))
    if config.collections_path:
        context.collections_path = tuple(map(Path, config.collections_path))
    return Loader(context)


def _template_problem(environment: Environment, text: str, expression: bool) -> str | None:
    problem = environment.expression_check(text) if expression else environment.parse_check(text)
    if problem is None:
        return None
    return f"{problem.message} ({problem.help})" if problem.help else problem.message
