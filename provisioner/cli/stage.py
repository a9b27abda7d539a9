"""A session as the command line opens it: with passwords asked for, options read, warnings shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner import config as settings
from provisioner.cli import failures
from provisioner.cli.options import Choices
from provisioner.cli.passwords import open_vault
from provisioner.cli.settings import engine_options
from provisioner.cli.variables import read_extra_vars
from provisioner.engine.options import Options
from provisioner.playbook.model import Playbook
from provisioner.ports import Mode
from provisioner.project.layout import is_playbook, project_folder
from provisioner.project.session import Session


@dataclass
class Stage:
    """A session and the choices of the operator."""

    session: Session
    choices: Choices

    @classmethod
    def open(cls, choices: Choices, inventories: Sequence[str]) -> Stage:
        """Read settings, vault passwords and inventories. Raises ``UsageError`` and ``InputError``."""
        config = settings.load()
        vault = open_vault(choices, config)
        given = [*inventories, *choices.more_inventories]
        sources = given or config.inventory
        return cls(Session.open(sources, extra_vars=read_extra_vars(choices.extra_vars, vault), vault=vault, config=config), choices)

    @classmethod
    def open_with(cls, choices: Choices, inventory: str | None, playbooks: Sequence[str]) -> tuple[Stage, tuple[str, ...]]:
        """A stage, and the playbooks that were named.

        As with ansible-playbook, the first argument may be a playbook where ``-i`` or the settings give the inventory.
        """
        if inventory is not None and is_playbook(Path(inventory)) and (choices.more_inventories or settings.load().inventory):
            return cls.open(choices, ()), (inventory, *playbooks)
        return cls.open(choices, (inventory,) if inventory else ()), tuple(playbooks)

    def options(self, mode: Mode, command: str) -> Options:
        """What the engine is told; asks for passwords where that was wanted."""
        return engine_options(self.choices, self.session.config, self.session.extra_vars, mode=mode, command=command)

    def load(self, named: Sequence[str], options: Options) -> list[Playbook]:
        """The playbooks to run, after the whole static pass; raises ``InputError`` with every problem found, shows warnings."""
        playbooks = self.session.read(named)
        self.check(playbooks, options)
        return playbooks

    def check(self, playbooks: Sequence[Playbook], options: Options) -> None:
        """The static pass over playbooks that are loaded already."""
        failures.raise_or_show(self.session.problems(playbooks, options))

    def load_for_reading(self, named: Sequence[str]) -> list[Playbook]:
        """Playbooks to look at; without any named, and no project, none. Problems in them are shown, not raised."""
        if not named and project_folder(self.session.sources) is None:
            return []
        playbooks = self.session.read(named)
        failures.show(self.session.loader.context.diagnostics)
        return playbooks
