"""What goes to a node means the same as what is in the repository, and is small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from provisioner.transport import packing


class _Bare(ast.NodeTransformer):
    """Without docstrings and annotations of functions, which do nothing on a node."""

    def _body(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        kept = [
            statement
            for statement in node.body
            if not (
                isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
            )
            and not (
                isinstance(node, ast.Module | ast.ClassDef)
                and isinstance(statement, ast.If)
                and ast.unparse(statement.test) == "TYPE_CHECKING"
                and not statement.orelse
            )
        ]
        zero = ast.Expr(ast.Constant(0))
        node.body = kept or ([] if isinstance(node, ast.Module) else [zero])
        return node

    visit_ClassDef = _body  # noqa: N815 - the names are ast's

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._body(node)
        if not any(isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING" for each in ast.walk(node)):
            node.body = [statement for statement in node.body if ast.unparse(statement) != "TYPE_CHECKING = False"]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        self._locals(node)
        return self._body(node)

    def _locals(self, node: ast.AST) -> None:
        """Variables of functions lose their annotations, fields of classes do not."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                bare = [
                    ast.Assign([each.target], each.value, lineno=each.lineno)
                    if isinstance(each, ast.AnnAssign) and each.value is not None and not isinstance(node, ast.ClassDef)
                    else each
                    for each in value
                ]
                setattr(node, name, bare)
        for child in ast.iter_child_nodes(node):
            self._locals(child)


def _lines(tree: ast.AST) -> list[tuple[str, int]]:
    return [(type(node).__name__, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.stmt)]


@pytest.mark.parametrize(("name", "file"), list(packing.core_files()), ids=lambda value: value if isinstance(value, str) else "")
def test_stripping_changes_nothing_that_runs(name: str, file: object) -> None:
    source = dict(packing.core_files())[name].read_text()
    wanted = _Bare().visit(ast.parse(source))
    made = ast.parse(packing.strip(source))
    assert ast.dump(made) == ast.dump(wanted)


def test_stripping_keeps_line_numbers() -> None:
    source = """'''Doc.'''


def work(
    first: dict[
        str, int
    ],
    *rest: int,
) -> list[
    int
]:
    '''Doc
    more.'''
    # why
    raise ValueError("x")
"""
    made = ast.parse(packing.strip(source))
    raised = [node for node in ast.walk(made) if isinstance(node, ast.Raise)]
    assert raised[0].lineno == source.splitlines().index('    raise ValueError("x")') + 1


def test_texts_over_several_lines_stay_as_they_are() -> None:
    source = 'def work() -> str:\n    return """\n        # not a comment\n    four\n"""\n'
    assert ast.dump(ast.parse(packing.strip(source))) == ast.dump(_Bare().visit(ast.parse(source)))


def test_the_agent_is_small() -> None:
    made = packing.payload()
    assert len(made.data) <= 40 * 1024


def test_a_kept_payload_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packing, "_payload", None)
    first = packing.payload()
    monkeypatch.setattr(packing, "_payload", None)
    monkeypatch.setattr(packing, "pack", lambda sources: pytest.fail("packed again"))
    assert packing.payload() == first
