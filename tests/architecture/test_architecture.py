"""The layout's contracts: who imports whom, what runs on a node, what no module may know, and how big things may get."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import provisioner
from provisioner.node.api import Node
from provisioner.transport import packing
from tests.architecture import sources, table

FILES = sources.files()
PACKAGES = sorted({sources.package(path) for path in FILES} - {"__init__", "__main__", "cli"})
MODULES = [path for path in FILES if sources.relative(path).startswith("node/modules/")]
NODE_FILES = [path for path in FILES if sources.package(path) == "node"]


def of_package(name: str) -> Iterator[sources.Import]:
    for path in FILES:
        if sources.package(path) == name:
            yield from sources.imports(path)


def told(found: list[str]) -> None:
    assert not found, "\n" + "\n".join(found)


# -- who may import whom -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_the_table_allows(package: str) -> None:
    allowed = table.MAY_IMPORT[package]
    wrong = []
    for found in of_package(package):
        parts = found.name.split(".")
        if parts[0] != "provisioner" or len(parts) == 1 or parts[1] == package or parts[1] == "__version__":
            continue
        if not any(parts[1 : 1 + len(each.split("."))] == each.split(".") for each in allowed):
            wrong.append(f"{found.place} imports {found.name}")
    told(wrong)


@pytest.mark.parametrize("package", [*PACKAGES, "cli"])
def test_a_package_uses_only_its_libraries(package: str) -> None:
    allowed = table.LIBRARIES.get(package, set())
    told(
        [
            f"{found.place} imports {found.name}"
            for found in of_package(package)
            if (top := found.name.split(".")[0]) not in ("provisioner", "typing_extensions", *sys.stdlib_module_names)
            and top not in allowed
        ]
    )


@pytest.mark.parametrize(("library", "place"), table.ONLY_IN.items())
def test_a_library_is_known_in_one_place(library: str, place: str) -> None:
    told(
        [
            f"{found.place} imports {found.name}"
            for path in FILES
            for found in sources.imports(path)
            if found.name.split(".")[0] == library and not found.file.startswith(place)
        ]
    )


def test_the_table_has_no_package_that_is_gone() -> None:
    planned = {"doctor", "testing"}
    assert set(table.MAY_IMPORT) - planned <= set(PACKAGES)


# -- what runs on the node -----------------------------------------------------------------------------------------------------------------


def test_the_node_imports_only_the_standard_library_and_itself() -> None:
    told(
        [
            f"{found.place} imports {found.name}"
            for path in NODE_FILES
            for found in sources.imports(path)
            if not found.checking
            and found.name.split(".")[0] not in sys.stdlib_module_names
            and not found.name.startswith("provisioner.node")
        ]
    )


def test_an_agent_starts_with_few_imports() -> None:
    script = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "import provisioner.node.agent, provisioner.node.session;"
        "print(*sorted(name for name in set(sys.modules) - before if '.' not in name and name != 'provisioner'))"
    )
    folder = str(Path(provisioner.__file__).parent.parent)
    shown = subprocess.run([sys.executable, "-ISBc", script, folder], capture_output=True, text=True, check=True).stdout
    assert set(shown.split()) <= {*table.AGENT_START.split(), "__future__"}


@pytest.mark.parametrize("path", NODE_FILES, ids=sources.relative)
def test_node_files_are_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 9))
    assert not {"Match", "TryStar"} & {type(node).__name__ for node in ast.walk(tree)}
    body = [node for node in tree.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    if any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in body):
        first = body[0]
        assert isinstance(first, ast.ImportFrom), "annotations would be evaluated on the node"
        assert first.module == "__future__"


def test_the_streamed_agent_is_small() -> None:
    assert len(packing.payload().data) <= table.AGENT


# -- what no module may know ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODULES, ids=sources.relative)
def test_a_module_cannot_see_the_mode(path: Path) -> None:
    words = re.findall(r"[\w-]+", path.read_text("utf-8").lower())
    told([f"{sources.relative(path)} says {word}" for word in words if word in table.MODE_WORDS])
    forbidden = tuple(f"provisioner.node.{name}" for name in table.MODE_MODULES)
    told(
        [
            f"{found.place} imports {found.name}"
            for found in sources.imports(path)
            if found.name.startswith(forbidden) and not found.checking
        ]
    )


def test_the_facade_has_nothing_that_tells_the_mode() -> None:
    names = {name for cls in (Node,) for name in vars(cls)} | set(Node(None, None).__dict__)  # type: ignore[arg-type]
    assert not [name for name in names if re.search(r"plan|mode|dry|live|overlay|check", name)]


@pytest.mark.parametrize("path", MODULES, ids=sources.relative)
def test_a_module_never_writes_around_the_facade(path: Path) -> None:
    """Changes go through ``node``: a write, a process or a removal of a module's own would happen in a plan, too."""
    wrong = []
    for node in ast.walk(sources.tree(path)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in table.WRITES or called.startswith(("subprocess.", "shutil.rm", "shutil.move", "shutil.copy")):
            wrong.append(f"{sources.relative(path)}:{node.lineno} calls {called}")
        if called == "open" and len(node.args) > 1 and "r" not in ast.unparse(node.args[1]):
            wrong.append(f"{sources.relative(path)}:{node.lineno} opens for writing")
    told(wrong)


# -- how big things may get ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=sources.relative)
def test_files_and_functions_stay_small(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    limit = table.MODULE_FILE if path in MODULES else table.ANY_FILE
    assert lines <= limit, f"{sources.relative(path)} has {lines} lines, and {limit} are the limit"
    told(
        [
            f"{sources.relative(path)}:{node.lineno} {node.name} has {size} lines"
            for node in ast.walk(sources.tree(path))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and (size := (node.end_lineno or node.lineno) - node.lineno + 1) > table.FUNCTION
        ]
    )


# -- what is said where --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in FILES if sources.package(path) in PACKAGES], ids=sources.relative)
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    if sources.relative(path) in table.PROGRAMS or sources.relative(path).startswith("lab/simulator/node/"):
        pytest.skip("a program of its own")
    told(
        [
            f"{sources.relative(path)}:{node.lineno} calls {ast.unparse(node.func)}"
            for node in ast.walk(sources.tree(path))
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.exit", "exit", "quit")
        ]
    )


def test_the_public_names() -> None:
    names = getattr(provisioner, "__all__", ["__version__"])
    assert tuple(sorted(names)) == table.EXPORTED
    assert len(names) <= 10
    for name in names:
        assert hasattr(provisioner, name)


def test_every_package_is_shipped() -> None:
    """The list of packages in pyproject.toml is written by hand, since the top level holds other folders, too."""
    text = (Path(provisioner.__file__).parent.parent / "pyproject.toml").read_text("utf-8")
    listed = set(re.findall(r'^    "(provisioner[\w.]*)",$', text, re.MULTILINE))
    there = {".".join(("provisioner", *path.parent.relative_to(sources.ROOT).parts)) for path in FILES if path.name == "__init__.py"}
    assert there <= listed, f"pyproject.toml lacks {sorted(there - listed)}"
