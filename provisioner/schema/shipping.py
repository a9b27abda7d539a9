"""Which sources a module needs on a node, beyond what every agent has: itself, what it imports, its value providers and package managers.

The agent's core is sent to every node; ``modules``, ``facts``, ``providers`` and ``managers`` only where a step needs them. Imports are
followed; providers and managers are looked up by name at run time on a node, so here the names in a module's texts decide; what is behind
a face of ``Node`` comes with whoever looks at that face.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import provisioner
from provisioner.node import APART, FACES
from provisioner.schema.registry import BUILTIN_PACKAGE, ModuleInfo

NODE = Path(provisioner.__file__).parent / "node"
PACKAGE = "provisioner.node"
NAMED = ("managers", "providers")
SHIPPED = "shipped"
"""The package on a node in which modules from users' folders live; see ``node.session``."""
_FOREIGN = f"from {PACKAGE}.foreign import declared\n\nMODULE = declared({{name!r}})\n"
"""What stands there for a module of another kind, whose own code travels as data."""


def sources_of(info: ModuleInfo) -> dict[str, str]:
    """Full module name → source text of all that a step of this module needs. Raises ``OSError`` and ``TypeError`` like ``info.source``."""
    if info.origin == "builtin":
        return dict(_closure(f"{BUILTIN_PACKAGE}.{info.name}"))
    if info.declared:
        found = {f"{SHIPPED}.{info.name}": info.source()}
    else:
        found = {f"{SHIPPED}.{info.sent_as}": _FOREIGN.format(name=info.sent_as)}
    if info.declared and info.path is not None:
        found.update(_siblings(info.path, {info.path}))
    for full, source in list(found.items()):
        for name in _needs(source, full):
            found.update(_closure(name))
    return found


def _siblings(path: Path, seen: set[Path]) -> Iterator[tuple[str, str]]:
    """The files beside a user's module that it imports by ``from . import`` or ``from .name import``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names]
            for sibling in (path.with_name(f"{name}.py") for name in names):
                if sibling not in seen and sibling.is_file():
                    seen.add(sibling)
                    yield f"{SHIPPED}.{sibling.stem}", sibling.read_text("utf-8")
                    yield from _siblings(sibling, seen)


@functools.cache
def _closure(start: str) -> tuple[tuple[str, str], ...]:
    """Name and source of a module of ours and of all it needs, directly or not, outside the core."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in found or path is None:
            continue
        source = path.read_text("utf-8")
        found[name] = source
        waiting += _needs(source, name)
    return tuple(found.items())


def _file(name: str) -> Path | None:
    relative = Path(*name.split(".")[2:])
    for candidate in (NODE / relative / "__init__.py", (NODE / relative).with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def _needs(source: str, name: str) -> list[str]:
    """The modules outside the core that this source imports or names; core files it imports are looked through for names."""
    tree = ast.parse(source)
    needed = []
    for imported in _imports(tree, name):
        part = imported.split(".")[2] if imported.startswith(PACKAGE + ".") else ""
        if part in APART:
            needed += [imported, *_folder(imported)]
        else:
            path = _file(imported) if part else None
            if path is not None:
                needed += _named(ast.parse(path.read_text("utf-8")))
    return [*needed, *_named(tree), *_faces(tree)]


def _folder(package: str) -> list[str]:
    """All files of a package that chooses among them at run time (the facts)."""
    path = NODE / Path(*package.split(".")[2:])
    if package != f"{PACKAGE}.facts" or not path.is_dir():
        return []
    return [f"{package}.{file.stem}" for file in sorted(path.glob("*.py")) if file.stem != "__init__"]


def _imports(tree: ast.Module, name: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names if _file(f"{module}.{alias.name}") is not None)


def _faces(tree: ast.Module) -> list[str]:
    """What is behind the faces of ``Node`` that this source looks at."""
    looked_at = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return [f"{PACKAGE}.{name}" for face, names in FACES.items() if face in looked_at for name in names]


def _named(tree: ast.Module) -> list[str]:
    """Providers, managers and modules handed over to, whose name is a text in the source."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    candidates = (f"{PACKAGE}.{folder}.{text}" for folder in NAMED for text in sorted(texts) if text.isidentifier())
    return [name for name in candidates if _file(name) is not None]
