"""Plugin files beside playbooks and in roles: ``filter_plugins/``, ``test_plugins/``, ``lookup_plugins/``.

Filters and tests are functions, so they need nothing of Ansible; what little such files import from it is stood in for while they are
loaded, unless ansible-core is installed.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from provisioner.diagnostics import Diagnostics, Span
from provisioner.errors import InputError
from provisioner.templating.collected import PACKAGE
from provisioner.templating.environment import Environment
from provisioner.templating.lookups.context import Lookup, LookupContext
from provisioner.templating.standins import FileSearch, standing_in
from provisioner.templating.views import Vars

FOLDERS = {"filter_plugins": "FilterModule", "test_plugins": "TestModule", "lookup_plugins": "LookupModule"}
"""The folders, and the class that a file in each of them has to define."""
KINDS = {"FilterModule": "filter", "TestModule": "test", "LookupModule": "lookup"}
"""The kind of plugin that a class stands for."""


def load_plugins(environment: Environment, base: Path, diagnostics: Diagnostics, *, collection: str | None = None) -> None:
    """Add the plugins in the folders below ``base`` (a playbook's folder or a role). Files that cannot be loaded become warnings.

    Plugins of a collection are known by their full name only.
    """
    for folder, kind in FOLDERS.items():
        for path in sorted((base / folder).glob("*.py")):
            if not path.name.startswith("_"):
                load_file(environment, path, kind, diagnostics, collection)
    unused = next((base / "vars_plugins").glob("[!_]*.py"), None)
    if unused is not None:
        help_ = "put the variables into group_vars/, or let an inventory script give them"
        why = "they are written against the objects of Ansible's inventory"
        diagnostics.warning("vars plugins are not run", Span(str(unused)), why=why, help=help_, code="plugin")


def load_folder(environment: Environment, folder: Path, kind: str, diagnostics: Diagnostics) -> None:
    """Add the plugins of one kind (a class in ``FOLDERS``) in a folder that a setting names."""
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("_"):
            load_file(environment, path, kind, diagnostics)


def load_file(environment: Environment, path: Path, kind: str, diagnostics: Diagnostics, collection: str | None = None) -> None:
    """Add the plugins that a file defines."""
    try:
        module = _imported(path, kind, collection)
        found = getattr(module, kind, None)
        if found is None:
            raise AttributeError(f"it defines no class {kind}")
        _add(environment, kind, found, path.stem, collection)
    except Exception as error:  # foreign code: whatever is wrong with it must not stop those who never use it
        _unloaded(environment, path, kind, diagnostics, collection, error)


def _unloaded(environment: Environment, path: Path, kind: str, diagnostics: Diagnostics, collection: str | None, error: Exception) -> None:
    """A file that cannot be loaded is a warning: the plugins in it may never be used. Using one is an error that says why."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        missing = str(error.name)
        needs_ansible = missing.split(".")[0] in ("ansible", "ansible_collections")
        reason = f"no module named '{missing}'"
        help = "install ansible-core beside provision, or rewrite the plugin without it" if needs_ansible else f"install {missing}"
    else:
        help = "mend the file; until then what it defines is unknown"
    diagnostics.warning(f"cannot load the plugin file: {reason}", Span(str(path), _line_in(error, path)), help=help, code="plugin")
    environment.unloaded[KINDS[kind]][path] = f"{path} (cannot be loaded: {reason})"
    if kind == "LookupModule":
        name = f"{collection}.{path.stem}" if collection else path.stem
        environment.add_lookups({name: _refusing(path.stem, f"{error} ({path})")})


def _refusing(name: str, reason: str) -> Lookup:
    def lookup(_context: LookupContext, _terms: list[Any], **_options: Any) -> list[Any]:
        raise InputError.of(f"lookup plugin '{name}' failed to load: {reason}")

    return lookup


def _imported(path: Path, kind: str, collection: str | None) -> ModuleType:
    """Import a file under the name that it would have with Ansible: relative imports, and a few plugins, depend on it."""
    if collection is not None:
        name = f"{PACKAGE}.{collection}.plugins.{KINDS[kind]}.{path.stem}"
    elif kind == "LookupModule":
        name = f"ansible.plugins.lookup.{path.stem}"
    else:
        name = f"ansible.plugins.{KINDS[kind]}.{path.stem}_{abs(hash(str(path.resolve())))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with standing_in():
        spec.loader.exec_module(module)
    return module


def _add(environment: Environment, kind: str, found: type[Any], stem: str, collection: str | None) -> None:
    prefix = f"{collection}." if collection else ""
    if kind == "LookupModule":
        environment.add_lookups({prefix + stem: _adapted(found)})
        return
    functions: Mapping[str, Callable[..., Any]] = found().filters() if kind == "FilterModule" else found().tests()
    named = {prefix + name: function for name, function in functions.items()}
    if kind == "FilterModule":
        environment.add_filters(named)
    else:
        environment.add_tests(named)


def _adapted(found: type[Any]) -> Lookup:
    """A lookup class of Ansible's kind as a function."""

    def lookup(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
        plugin = found()
        if isinstance(plugin, FileSearch):
            plugin.context = context
        variables = Vars(context.evaluation)
        accepted = inspect.signature(plugin.run).parameters
        arguments = {"variables": variables} if "variables" in accepted or "kwargs" in accepted else {}
        return list(plugin.run(terms, **arguments, **options) or [])

    return lookup


def _line_in(error: BaseException, path: Path) -> int:
    """The line of the file where an exception came from; 0 when it is not known."""
    if isinstance(error, SyntaxError) and os.path.abspath(error.filename or "") == os.path.abspath(path):
        return error.lineno or 0
    line, traceback = 0, error.__traceback__
    while traceback is not None:
        if os.path.abspath(traceback.tb_frame.f_code.co_filename) == os.path.abspath(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
