"""The package's sources as data: files, syntax trees, imports."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import provisioner

ROOT = Path(provisioner.__file__).parent


@dataclass(frozen=True)
class Import:
    """An import in a file: the full name of what is imported; ``checking``: only type checkers see it."""

    file: str
    line: int
    name: str
    checking: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def files() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def package(path: Path) -> str:
    """The part of the product a file belongs to: the folder at the top, or the file itself."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


@functools.cache
def imports(path: Path) -> tuple[Import, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    own = ["provisioner", *path.relative_to(ROOT).with_suffix("").parts]

    checking = _checked_only(tree(path))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = own[: len(own) - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            below = [f"{module}.{alias.name}" for alias in node.names if _is_module(f"{module}.{alias.name}")]
            names = below if len(below) == len(node.names) else [module, *below]
        else:
            continue
        for name in names:
            yield Import(relative(path), node.lineno, name, node.lineno in checking)


def _checked_only(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            lines.update(range(node.lineno, (node.body[-1].end_lineno or node.lineno) + 1))
    return lines


def _is_module(name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "provisioner":
        return False
    place = ROOT.joinpath(*parts[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()
