"""What surrounds the entries being read: file, role, variables known before the run, and how sure it is that they run."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from provisioner.diagnostics import Diagnostic, Diagnostics, Span
from provisioner.errors import ProvisionError
from provisioner.playbook.model import RoleSource
from provisioner.schema.registry import ModuleInfo, Registry
from provisioner.values import UnknownValueError

NOT_RENDERED = (ProvisionError, UnknownValueError, LookupError)
"""What rendering a name raises that needs what is not known before the run."""
DEFAULT_ROLES_PATH = ("~/.ansible/roles", "/usr/share/ansible/roles", "/etc/ansible/roles")
DEFAULT_COLLECTIONS_PATH = ("~/.ansible/collections", "/usr/share/ansible/collections")


def _expanded(*folders: str) -> tuple[Path, ...]:
    return tuple(Path(folder).expanduser() for folder in folders)


class Bridge(Protocol):
    """What loading asks of the bridge to foreign modules; reasons are pairs: why, and what to do about it."""

    def refusal(self, info: ModuleInfo) -> tuple[str, str] | None:
        """Why a foreign module that was found cannot be run; None when it can."""
        ...

    def absence(self, name: str) -> tuple[str, str]:
        """Why a module of this name was not found."""
        ...

    def add_home(self, folder: Path) -> None:
        """Take in what a playbook's folder or a role brings along."""
        ...


@dataclass
class LoadContext:
    """What loading needs from outside.

    diagnostics       takes every problem found
    registry          finds modules; ``library/`` folders met on the way are added to it
    bridge            knows of modules of Ansible's kind whether they can be run; None: none can
    vault             decrypts vaulted files and ``!vault`` values: ``(ciphertext, span) -> value``
    hide              is told the values of variable files that were encrypted as a whole: secrets from then on
    render            renders a name of a static import from variables known before the run; raises ``ProvisionError``,
                      ``UnknownValueError`` or ``LookupError`` where it cannot. None: such names are errors
    check_template    looks at a text (a template, or an expression when the second argument is true) and says what is wrong with its
                      syntax or the plugins it names, or returns None
    check_file        the same for the text of a template file: ``(text, path) -> problem or None``
    entered           called once with each folder of a playbook or role before its tasks are read, so that plugins there become known
    lookups           names of known lookups, for ``with_X``; None does not check them
    extra_vars        ``-e``: they win over all others in names of imports
    own_collections   collections that are not installed but being worked on: full name → folder
    expected          roles that may be missing here because something else installs them (``requirements.yml``)
    linting           nothing will run: what only this machine lacks is a warning
    follow_includes   also read files and roles that literal ``include_tasks`` and ``include_role`` name, so that mistakes there are found
                      before the run
    private_role_vars  whether variables of roles end with them; None: those of included roles do, those of others stay for the play
    """

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    registry: Registry = field(default_factory=Registry)
    bridge: Bridge | None = None
    vault: Callable[[str, Span], Any] | None = None
    hide: Callable[[Any], None] | None = None
    render: Callable[[str, Mapping[str, Any]], Any] | None = None
    check_template: Callable[[str, bool], Diagnostic | None] | None = None
    check_file: Callable[[str, str], Diagnostic | None] | None = None
    entered: Callable[[Path], None] | None = None
    lookups: Collection[str] | None = None
    roles_path: tuple[Path, ...] = field(default_factory=lambda: _expanded(*DEFAULT_ROLES_PATH))
    collections_path: tuple[Path, ...] = field(default_factory=lambda: _expanded(*DEFAULT_COLLECTIONS_PATH))
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    own_collections: dict[str, Path] = field(default_factory=dict)
    expected: frozenset[str] = frozenset()
    linting: bool = False
    follow_includes: bool = True
    private_role_vars: bool | None = None

    def collection_folders(self, name: str, playbooks: Path) -> list[Path]:
        """Where the collection ``namespace.name`` may be, for a playbook in this folder."""
        namespace, _, rest = name.partition(".")
        roots = [playbooks / "collections", *self.collections_path]
        bases = [root if root.name == "ansible_collections" else root / "ansible_collections" for root in roots]
        own = self.own_collections.get(name)
        return [*([own] if own else []), *(base / namespace / rest for base in bases)]

    def enter(self, folder: Path) -> None:
        """Make known what a playbook's folder or a role brings: modules, collections, plugins."""
        if not self.registry.add_home(folder):
            return
        if self.bridge is not None:
            self.bridge.add_home(folder)
        if self.entered is not None:
            self.entered(folder)


@dataclass(frozen=True)
class Scope:
    """The surroundings of a list of entries.

    file        the file they stand in, as shown to people
    folder      that of the playbook
    sure        nothing around them makes it doubtful that they run
    tolerated   something around them copes with failure (``rescue``, ``ignore_errors``)
    notify      what blocks around them notify
    defaults    ``module_defaults`` around them, outermost first
    chain       files and roles being read, outermost first; finds circles
    """

    file: str
    folder: Path
    role: RoleSource | None = None
    handlers: bool = False
    sure: bool = True
    tolerated: bool = False
    collections: tuple[str, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    notify: tuple[Any, ...] = ()
    defaults: tuple[Any, ...] = ()
    chain: tuple[str, ...] = ()

    def inside(
        self,
        variables: Mapping[str, Any] | None = None,
        *,
        doubtful: bool = False,
        tolerated: bool = False,
        notify: tuple[Any, ...] = (),
        collections: tuple[str, ...] = (),
        defaults: tuple[Any, ...] = (),
    ) -> Scope:
        """The scope inside a block, import or role with these properties."""
        if not (variables or doubtful or tolerated or notify or collections or defaults):
            return self
        return replace(
            self,
            vars=ChainMap(dict(variables), dict(self.vars)) if variables else self.vars,
            sure=self.sure and not doubtful,
            tolerated=self.tolerated or tolerated,
            notify=self.notify + notify,
            collections=collections or self.collections,
            defaults=self.defaults + defaults,
        )

    def entering(self, file: str, role: RoleSource | None = None) -> Scope:
        """The scope inside another file."""
        return replace(self, file=file, role=role if role is not None else self.role, chain=(*self.chain, file))
