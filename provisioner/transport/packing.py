"""Packs what an agent is made of: the loader that the first stage runs, and the sources of everything that each agent gets.

Sources travel without docstrings, comments and annotations, but every statement stays on its line, so that tracebacks are right.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import marshal
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import provisioner
from provisioner.keeping import kept, signature
from provisioner.node import APART, WITH_FIELD

ROOT = Path(provisioner.__file__).parent
LOADER = "provisioner.node.loader"


@dataclass(frozen=True)
class Payload:
    """What follows the start command on stdin: the compressed loader, then the compressed sources; ``key`` names them in the cache."""

    loader: bytes
    sources: bytes
    key: str

    @property
    def data(self) -> bytes:
        """Both parts as they are sent."""
        return self.loader + self.sources


def core_files() -> Iterator[tuple[str, Path]]:
    """Name and file of every module that an agent always gets."""
    yield "provisioner", ROOT / "node" / "__init__.py"
    for file in sorted((ROOT / "node").rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[1] not in APART:
            yield ".".join(("provisioner", *parts)).removesuffix(".__init__"), file


@functools.cache
def field_files(field: str) -> Mapping[str, str]:
    """Name and source of what an agent needs for steps in which this field is set."""
    name = WITH_FIELD[field]
    return {f"provisioner.node.{name}": strip((ROOT / "node" / f"{name}.py").read_text("utf-8"))}


_payload: Payload | None = None
_packing = threading.Lock()


def payload() -> Payload:
    """What an agent is made of, packed once per process and kept between processes."""
    global _payload
    with _packing:
        if _payload is None:
            files = dict(core_files())
            data = kept("agent", signature([Path(__file__), *files.values()]), lambda: _joined(pack_files(files)))
            size = int.from_bytes(data[:4], "big")
            loader, packed = data[4 : 4 + size], data[4 + size :]
            _payload = Payload(loader, packed, hashlib.sha256(packed).hexdigest())
        return _payload


def _joined(made: Payload) -> bytes:
    return len(made.loader).to_bytes(4, "big") + made.data


def pack_files(files: Mapping[str, Path]) -> Payload:
    """Pack these files under their names; the packages above them have no code of their own on a node."""
    sources = {name: file.read_bytes() for name, file in files.items()}
    sources["provisioner"] = sources["provisioner.node"] = b""
    return pack(sources)


def pack(sources: Mapping[str, bytes]) -> Payload:
    """Compress sources: comments and docstrings go, line numbers stay."""
    lean = _neighbours({name: strip(source.decode()) for name, source in sorted(sources.items())})
    loader = zlib.compress(lean[LOADER].encode(), 9)
    squeezer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9)
    packed = squeezer.compress(marshal.dumps(lean, 2)) + squeezer.flush()
    return Payload(loader, packed, hashlib.sha256(packed).hexdigest())


def _neighbours(sources: Mapping[str, str]) -> dict[str, str]:
    """The same in an order in which each shares many words with the one before: the compressor sees back no further than 32 kB."""
    words = {name: set(re.findall(r"\w{4,}", source)) for name, source in sources.items()}
    order: list[str] = []
    while len(order) < len(words):
        last = words[order[-1]] if order else set()
        left = [name for name in sorted(words) if name not in order]
        order.append(max(left, key=lambda name: len(words[name] & last) / (len(words[name] | last) or 1)))
    return {name: sources[name] for name in order}


def strip(source: str) -> str:
    """The source without what only people and checkers read."""
    lines = source.encode().split(b"\n")
    tree = ast.parse(source)
    texts = {number for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr) for number in _lines_after_first(node)}
    for number, line in enumerate(lines, 1):
        if number not in texts and line.lstrip().startswith(b"#"):
            lines[number - 1] = b""
    for first, start, last, stop, instead in sorted(_needless(tree, lines), reverse=True):
        head, tail = lines[first][:start] + instead, lines[last][stop:]
        lines[first : last + 1] = [head + tail] if first == last else [head, *[b""] * (last - first - 1), tail]
    return _narrow(b"\n".join(lines).decode())


def _lines_after_first(node: ast.Constant | ast.JoinedStr) -> range:
    return range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


Cut = tuple[int, int, int, int, bytes]
"""First line and column, last line and column (from 0), and what stands there instead."""


def _needless(tree: ast.Module, lines: list[bytes]) -> Iterator[Cut]:
    """Imports for type checkers, docstrings, and annotations of functions; those of class bodies are data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            for block in node.body:
                if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING" and not block.orelse:
                    yield *_from(block.lineno, block.col_offset), *_to(block), b""
                    block.body = []
    if not any(isinstance(node, ast.If) and node.body and ast.unparse(node.test) == "TYPE_CHECKING" for node in ast.walk(tree)):
        for block in tree.body:
            if isinstance(block, ast.Assign) and ast.unparse(block) == "TYPE_CHECKING = False":
                yield *_from(block.lineno, 0), *_to(block), b""
    yield from _local_annotations(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
                    alone = len(node.body) == 1 and not isinstance(node, ast.Module)
                    yield *_from(statement.lineno, statement.col_offset), *_to(statement), b"0" if alone else b""
        if isinstance(node, ast.FunctionDef):
            given = node.args
            for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if arg is not None and arg.annotation is not None:
                    yield *_from(arg.lineno, arg.col_offset + len(arg.arg.encode())), *_to(arg.annotation), b""
            if node.returns is not None and node.returns.lineno == node.returns.end_lineno:
                arrow = lines[node.returns.lineno - 1].rindex(b"->", 0, node.returns.col_offset)
                yield *_from(node.returns.lineno, arrow), *_to(node.returns), b""


def _local_annotations(tree: ast.Module) -> Iterator[Cut]:
    """Annotations of variables inside functions, which nothing ever evaluates."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node): node for function in functions for node in ast.walk(function) if isinstance(node, ast.AnnAssign)}
    kept = {id(statement) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for statement in node.body}
    for key, node in inside.items():
        if node.value is not None and key not in kept:
            yield (node.target.end_lineno or 1) - 1, node.target.end_col_offset or 0, *_to(node.annotation), b""


def _from(line: int, column: int) -> tuple[int, int]:
    return line - 1, column


def _to(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0


def _narrow(source: str) -> str:
    """One blank for each four that indent a line, outside of texts that span lines."""
    texts = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for number in _lines_after_first(node)
    }
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        depth, odd = divmod(len(line) - len(line.lstrip(" ")), 4)
        if number not in texts and not odd:
            lines[number - 1] = " " * depth + line[4 * depth :]
    return "\n".join(lines)
