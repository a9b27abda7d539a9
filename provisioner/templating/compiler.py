"""Jinja2 bent to our rules: native values, three-valued logic over ``Unknown``, names that come from a scope.

Everything that touches Jinja's internals is in this module. The code that Jinja generates is changed in these points:

- what ``{{ }}`` gives keeps its type, and a missing value is refused there, where its line is known;
- ``and``, ``or``, ``not``, ``in``, ``~`` and ``%`` go through functions that know ``Unknown``;
- in conditions, and in the arguments of ``lookup``, a constant text that is a template itself is rendered, as Ansible does.
"""

from __future__ import annotations

# ruff: noqa: N802, ARG002 -- names and signatures are Jinja's
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import TemplateModule
from jinja2.lexer import TOKEN_STRING, TOKEN_VARIABLE_BEGIN, TOKEN_VARIABLE_END, TokenStream
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.parser import Parser
from jinja2.runtime import Context, Undefined
from jinja2.utils import missing as nothing

from provisioner.templating.lazy import has_marks
from provisioner.templating.missing import Missing
from provisioner.templating.natural import join_block, text_of, trailing_newlines
from provisioner.values import Unknown, UnknownValueError, find_unknown

if TYPE_CHECKING:
    from provisioner.templating.evaluation import Evaluation

_MUTATING = re.compile(r"\.\s*(append|extend|insert|remove|pop|popitem|clear|update|setdefault|sort|reverse|__setitem__)\s*\(")
_LOOKUPS = ("lookup", "query", "q")


class Current(threading.local):
    """The evaluation that runs in this thread: what includes and imports have to ask, since Jinja passes them no context."""

    evaluation: Evaluation | None = None


CURRENT = Current()


class Generator(NativeCodeGenerator):
    """Writes the Python code of a template."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo) -> Any:
        if isinstance(node, nodes.TemplateData):
            return node.as_const(frame.eval_ctx)
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            return node.value
        raise nodes.Impossible

    def _call(self, name: str, frame: Frame, first: nodes.Node, second: nodes.Node | None = None, *, later: bool = False) -> None:
        self.write(f"environment.{name}(")
        self.visit(first, frame)
        if second is not None:
            self.write(", lambda: " if later else ", ")
            self.visit(second, frame)
        self.write(")")

    def visit_And(self, node: nodes.BinExpr, frame: Frame) -> None:
        """``a and b``."""
        self._call("both", frame, node.left, node.right, later=True)

    def visit_Or(self, node: nodes.BinExpr, frame: Frame) -> None:
        """``a or b``."""
        self._call("either", frame, node.left, node.right, later=True)

    def visit_Not(self, node: nodes.UnaryExpr, frame: Frame) -> None:
        """``not a``."""
        self._call("negated", frame, node.node)

    def visit_Mod(self, node: nodes.BinExpr, frame: Frame) -> None:
        """``a % b``, which may format a text."""
        self._call("modulo", frame, node.left, node.right)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """``a ~ b``."""
        self.write("environment.concatenated((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        """``a in b`` and ``a not in b``; other comparisons are Python's own."""
        if len(node.ops) == 1 and node.ops[0].op in ("in", "notin"):
            if node.ops[0].op == "notin":
                self.write("environment.negated(")
            self._call("contained", frame, node.expr, node.ops[0].expr)
            if node.ops[0].op == "notin":
                self.write(")")
            return
        super().visit_Compare(node, frame)


class Names:
    """The names a template sees: local ones of an including template on top of those of the evaluation, if there is one."""

    __slots__ = ("evaluation", "local")

    def __init__(self, evaluation: Evaluation | None, local: Mapping[str, Any] | None = None) -> None:
        self.evaluation = evaluation
        self.local = local or {}

    def plus(self, local: Mapping[str, Any] | None) -> Names:
        """These names with more local ones."""
        if not local:
            return self
        return Names(self.evaluation, {**self.local, **{name: value for name, value in local.items() if value is not nothing}})


class TemplateContext(Context):
    """Resolves names in a scope instead of a dict."""

    def __init__(self, environment: jinja2.Environment, names: Names, name: str | None, blocks: Any, *, private: bool) -> None:
        super().__init__(environment, {}, name, blocks)
        self.names = names
        self.private = private

    def resolve_or_missing(self, key: str) -> Any:
        """The value of a name, or Jinja's marker for "there is none"."""
        if key in self.vars:
            return self.vars[key]
        if key in self.names.local:
            return self.names.local[key]
        evaluation = self.names.evaluation
        value = nothing if evaluation is None else evaluation.resolve(key, private=self.private)
        if value is nothing:
            return self.environment.globals.get(key, nothing)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.resolve_or_missing(name) is not nothing

    def get_all(self) -> Any:
        """What an included or imported template gets."""
        return self.names.plus(self.vars)

    def derived(self, locals: dict[str, Any] | None = None) -> Context:
        """The same names and more, for a scoped block."""
        context = TemplateContext(self.environment, self.names.plus({**self.vars, **(locals or {})}), self.name, {}, private=self.private)
        context.eval_ctx = self.eval_ctx
        context.blocks.update((key, list(value)) for key, value in self.blocks.items())
        return context

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """A call in an expression; methods of plain values must not see what is not known."""
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (str, dict, list)):
            unknown = _hidden(owner, function.__name__, args, kwargs)
            if unknown is not None:
                return unknown
        try:
            return super().call(function, *args, **kwargs)
        except UnknownValueError as error:
            return error.unknown


_STORING = frozenset({"append", "extend", "insert", "update", "setdefault", "copy", "items", "values", "keys"})


def _hidden(owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Unknown | None:
    """The unknown argument of a method that would treat it as any other value, e.g. ``d.get(x)`` or ``'{}'.format([x])``."""
    if isinstance(owner, str):
        return find_unknown((*args, kwargs)) if args or kwargs else None
    if name in _STORING or not args:
        return None
    return args[0] if isinstance(args[0], Unknown) else None


class Template(jinja2.Template):
    """A compiled template and what its errors need: the source text and, for files, the path."""

    source: str = ""
    path: str | None = None
    private: bool = False
    """True when it calls methods that change containers: it gets copies of the variables then."""
    newlines: int = 0
    expression: bool = False
    """True for a bare expression, as in ``when``."""
    shift: int = 0
    """Lines of the file that stand before the source."""

    def new_context(self, vars: Any = None, shared: bool = False, locals: Mapping[str, Any] | None = None) -> Context:
        """A context over ``Names``, or over local names only for a module that is imported without context."""
        names = vars if isinstance(vars, Names) else Names(None, vars)
        return TemplateContext(self.environment, names.plus(locals), self.name, self.blocks, private=self.private)

    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:
        """Never the same module twice: what lookups in it gave for one host must not reach another."""
        return self.make_module()

    def pieces(self, names: Names) -> Iterator[Any]:
        """The values of the pieces of the template, one after the other."""
        context = TemplateContext(self.environment, names, self.name, self.blocks, private=self.private)
        return self.root_render_func(context)


class Engine(jinja2.Environment):
    """The environment of Jinja: syntax options, and the operators of the generated code."""

    code_generator_class = Generator
    context_class = TemplateContext
    template_class = Template
    concat = staticmethod(join_block)

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_blocks=True, optimized=False, cache_size=0, finalize=finalized, undefined=Missing, **options)
        self.files: dict[tuple[str, int], Template] = {}

    def build(self, source: str, *, path: str | None = None) -> Template:
        """Compile a template; raises Jinja's ``TemplateSyntaxError``."""
        return self._built(self._parsed(source, path), source, path)

    def build_expression(self, source: str) -> Template:
        """Compile an expression, as in conditions; raises Jinja's ``TemplateSyntaxError``."""
        parser = Parser(self, source, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            found = parser.stream.current
            raise jinja2.TemplateSyntaxError(f"unexpected {str(found.value)!r} after the expression", found.lineno)
        body = nodes.Template([nodes.Output([expression], lineno=1)], lineno=1)
        body.set_environment(self)
        _nest(body)
        template = self._built(body, source, None)
        template.expression = True
        return template

    def variant(self, options: dict[str, Any]) -> Engine:
        """The same plugins with other syntax options."""
        engine: Engine = self.overlay(**options)
        engine.files = {}
        return engine

    def _tokenize(self, source: str, name: str | None, filename: str | None = None, state: str | None = None) -> TokenStream:
        """In ``{{ }}`` of a YAML file a backslash is just a character, since YAML has its own; elsewhere it escapes."""
        if "\\" not in source:
            return super()._tokenize(source, name, filename, state)
        found = self.lexer.tokeniter(self.preprocess(source, name, filename), name, filename, state)
        tokens = _with_backslashes(found, plain=name is None and state is None)
        return TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def _parsed(self, source: str, path: str | None) -> nodes.Template:
        tree = self._parse(source, path, path)
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in _LOOKUPS:
                call.args = [_rendering(argument) for argument in call.args]
                for argument in call.args:
                    _nest(argument)
        return tree

    def _built(self, tree: nodes.Template, source: str, path: str | None) -> Template:
        try:
            code = self._compile(self._generate(tree, path, path), "<template>")
        except SyntaxError as error:  # what Jinja's grammar lets pass and Python's does not
            raise jinja2.TemplateSyntaxError(error.msg, 1) from error
        template: Template = self.template_class.from_code(self, code, {}, None)  # type: ignore[assignment]
        template.source = source
        template.path = path
        template.private = _MUTATING.search(source) is not None
        template.newlines = trailing_newlines(source)
        return template

    def _load_template(self, name: Any, globals: Any) -> Template:
        evaluation = CURRENT.evaluation
        if isinstance(name, Unknown):
            raise UnknownValueError(name)
        if evaluation is None:
            raise jinja2.TemplateNotFound(str(name))
        path = evaluation.find_template(str(name))
        key = (str(path), path.stat().st_mtime_ns)
        found = self.files.get(key)
        if found is None:
            found = self.files[key] = self.build(evaluation.read(path), path=str(path))
        return found

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``obj.attribute``: the attribute of a Python value, else the element. Private attributes do not exist."""
        if isinstance(obj, (Unknown, Undefined)):
            return obj
        if not attribute.startswith("_"):
            try:
                return getattr(obj, attribute)
            except AttributeError:
                pass
        try:
            return obj[attribute]
        except (TypeError, LookupError, AttributeError):
            return Missing(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """``obj[argument]``: the element, else the attribute."""
        if isinstance(obj, (Unknown, Undefined)):
            return obj
        if isinstance(argument, (Unknown, Undefined)):
            return argument
        try:
            return obj[argument]
        except (TypeError, LookupError, AttributeError):
            if isinstance(argument, str) and not argument.startswith("_"):
                try:
                    return getattr(obj, argument)
                except AttributeError:
                    pass
            return Missing(obj=obj, name=argument)

    @staticmethod
    def both(left: Any, right: Callable[[], Any]) -> Any:
        """``left and right``: false as soon as one is certainly false, even if the other is not known."""
        if isinstance(left, Unknown):
            value = _attempt(right, left)
            return value if not isinstance(value, Unknown) and not value else left
        return left and right()

    @staticmethod
    def either(left: Any, right: Callable[[], Any]) -> Any:
        """``left or right``: true as soon as one is certainly true."""
        if isinstance(left, Unknown):
            value = _attempt(right, left)
            return value if not isinstance(value, Unknown) and value else left
        return left or right()

    @staticmethod
    def negated(value: Any) -> Any:
        """``not value``."""
        return value if isinstance(value, Unknown) else not value

    @staticmethod
    def contained(element: Any, container: Any) -> Any:
        """``element in container``."""
        if isinstance(container, Unknown):
            return container
        if isinstance(element, Undefined):
            return element == container  # raises
        if isinstance(element, Unknown):
            return False if hasattr(container, "__len__") and not len(container) else element
        try:
            return element in container
        except UnknownValueError as error:
            return error.unknown

    @staticmethod
    def concatenated(parts: tuple[Any, ...]) -> Any:
        """``a ~ b``: the texts of all parts, where null is the text None as in Jinja."""
        try:
            return "".join("None" if part is None else text_of(part) for part in parts)
        except UnknownValueError as error:
            return error.unknown

    @staticmethod
    def modulo(left: Any, right: Any) -> Any:
        """``left % right`` of numbers, or a text with its place holders filled."""
        if isinstance(left, str):
            unknown = find_unknown(right)
            if unknown is not None:
                return unknown
        return left % right

    @staticmethod
    def nested(text: str) -> Any:
        """The value of a constant text that is a template itself."""
        evaluation = CURRENT.evaluation
        return text if evaluation is None else evaluation.open(text, ())


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = frozenset("\\'\"abfnrtvx01234567uUN\n")


def _with_backslashes(tokens: Iterable[tuple[int, str, str]], *, plain: bool) -> Iterator[tuple[int, str, str]]:
    """Tokens as the lexer finds them. What is no escape in a constant (``'\\d'``) stays; with ``plain`` nothing is one in ``{{ }}``."""
    inside = False
    for line, kind, text in tokens:
        if kind in (TOKEN_VARIABLE_BEGIN, TOKEN_VARIABLE_END):
            inside = kind == TOKEN_VARIABLE_BEGIN
        elif kind == TOKEN_STRING and "\\" in text:
            mark, constant = text[0], text[1:-1]
            if plain and inside:
                text = mark + constant.replace("\\", "\\\\").replace(mark, f"\\{mark}") + mark
            else:
                text = mark + _ESCAPE.sub(lambda found: found[0] if found[1] in _ESCAPED else f"\\{found[0]}", constant) + mark
        yield line, kind, text


def finalized(value: Any) -> Any:
    """What ``{{ }}`` gives on: everything but a missing value."""
    if isinstance(value, Undefined):
        if isinstance(value, Missing):
            value.refuse()
        return ""
    return value


def _attempt(right: Callable[[], Any], left: Unknown) -> Any:
    """The right side beside an unknown left one. It may only make sense if the left one is true, so its failure says nothing."""
    from provisioner.templating.variables import Carried, NeedsResult

    try:
        value = right()
        return value if isinstance(value, Unknown) else (value, bool(value))[0]
    except (NeedsResult, Carried):
        raise
    except Exception:
        return left


def _nest(tree: nodes.Node) -> None:
    """Replace constant texts that are templates by calls that render them."""
    for node in [tree, *tree.find_all((nodes.Expr, nodes.Helper, nodes.Output))]:
        for field, value in node.iter_fields():
            if isinstance(value, list):
                setattr(node, field, [_rendering(item) for item in value])
            else:
                setattr(node, field, _rendering(value))


def _is_template(text: str, environment: Any) -> bool:
    """Whether a text is a template; ``'{{' in x`` asks for two characters."""
    if not has_marks(text):
        return False
    try:
        environment.parse(text)
    except jinja2.TemplateSyntaxError:
        return False
    return True


def _rendering(node: Any) -> Any:
    if not isinstance(node, nodes.Const) or not isinstance(node.value, str) or not _is_template(node.value, node.environment):
        return node
    call = nodes.Call(nodes.EnvironmentAttribute("nested"), [node], [], None, None, lineno=node.lineno)
    call.set_environment(node.environment)  # type: ignore[arg-type]
    return call
