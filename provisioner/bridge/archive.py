"""The archive of a Python module: itself and everything it imports from Ansible and collections, under the names it imports them by.

Imports are followed in the texts, those inside functions and conditions included; what is not found is left out, since modules often try
one import after another. The same files always make the same archive.
"""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from provisioner.bridge.core import Core

UTILS = "ansible.module_utils"
COLLECTIONS = "ansible_collections"
_PROFILES = "_internal/_json/_profiles"
"""Since ansible-core 2.19: how arguments and results are encoded. These are imported by names that no text has."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_STAND_IN = "import importlib\nimport sys\n\nsys.modules[__name__] = importlib.import_module({new!r})\n"

Routes = Callable[[str], Mapping[str, str]]
"""Collection → where its ``module_utils`` of these names have gone."""


@dataclass
class Library:
    """Where imported names are found. ``overrides``: folders that stand before ansible-core's own ``module_utils``."""

    core: Core
    overrides: tuple[Path, ...] = ()
    collections: tuple[Path, ...] = ()
    routes: Routes = field(default=lambda collection: {})

    def always(self) -> Iterator[str]:
        """What is needed to hand a module its arguments."""
        yield f"{UTILS}.basic"
        for path in sorted((self.core.module_utils / _PROFILES).glob("_module_*.py")):
            yield f"{UTILS}.{_PROFILES.replace('/', '.')}.{path.stem}"

    def source(self, name: str) -> tuple[str, bytes] | None:
        """The path inside an archive and the text of the module or package of this full name; None when there is none."""
        parts = name.split(".")
        if name in ("ansible", "ansible.legacy", "ansible.modules"):
            version = f"__version__ = {self.core.version!r}\n" if name == "ansible" else ""
            return f"{'/'.join(parts)}/__init__.py", version.encode()
        for folder in self._folders(parts):
            for path, ending in ((folder.with_suffix(".py"), ".py"), (folder / "__init__.py", "/__init__.py")):
                if path.is_file():
                    return "/".join(parts) + ending, path.read_bytes()
            if folder.is_dir():
                return f"{'/'.join(parts)}/__init__.py", b""
        return self._moved(parts)

    def _folders(self, parts: list[str]) -> Iterator[Path]:
        """The paths, without ending, that a name may stand for."""
        if parts[:2] == ["ansible", "module_utils"]:
            rest = parts[2:]
            if rest:
                yield from (folder.joinpath(*rest) for folder in self.overrides)
            yield self.core.module_utils.joinpath(*rest)
        elif parts[0] == COLLECTIONS:
            bases = (root if root.name == COLLECTIONS else root / COLLECTIONS for root in self.collections)
            yield from (base.joinpath(*parts[1:]) for base in bases)

    def _moved(self, parts: list[str]) -> tuple[str, bytes] | None:
        """A stand-in for a name that a collection, or ansible-core, says has gone elsewhere."""
        if parts[0] == COLLECTIONS and parts[3:5] == ["plugins", "module_utils"]:
            collection, short = ".".join(parts[1:3]), ".".join(parts[5:])
        elif parts[:2] == ["ansible", "module_utils"]:
            collection, short = "ansible.builtin", ".".join(parts[2:])
        else:
            return None
        new = self.routes(collection).get(short)
        if new is None:
            return None
        if not new.startswith(("ansible.", f"{COLLECTIONS}.")):
            namespace, head, rest = new.split(".", 2)
            new = f"{COLLECTIONS}.{namespace}.{head}.plugins.module_utils.{rest}"
        return f"{'/'.join(parts)}.py", _STAND_IN.format(new=new).encode()


def pack(library: Library, main: str, text: bytes) -> bytes:
    """The archive of the module ``main`` with this text. Raises ``SyntaxError`` when the module cannot be read."""
    files = {f"{main.replace('.', '/')}.py": text}
    seen: set[str] = {main}
    waiting = [*_parents(main), *library.always(), *_imports(ast.parse(text), main, False)]
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith(("ansible", COLLECTIONS)):
            continue
        seen.add(name)
        found = library.source(name)
        if found is None:
            continue
        path, source = found
        files[path] = source
        waiting += [*_parents(name), *_imports(_parsed(source), name, path.endswith("/__init__.py"))]
    return _zipped(files)


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _parsed(source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])  # meant for another Python; whoever imports it there will see


def _imports(tree: ast.Module, name: str, package: bool) -> Iterator[str]:
    """Every name that may be a module, imported anywhere in a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: len(name.split(".")) - node.level + package] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith((f"{UTILS}.", f"{COLLECTIONS}.")):
            yield node.value  # a name for importlib, as stand-ins of names that have moved use it


def _zipped(files: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), files[path], zipfile.ZIP_DEFLATED)
    return data.getvalue()
