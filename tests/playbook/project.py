"""Small projects on disk, and what loading them gives."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2

from provisioner.diagnostics import Diagnostic
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Block, Entry, Playbook, Task
from provisioner.playbook.scope import LoadContext
from provisioner.schema.registry import Registry

LIBRARY = Path(__file__).parent.parent / "schema" / "library"


def render(text: str, variables: Mapping[str, Any]) -> str:
    """Templates of names, strictly."""
    try:
        return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(variables)
    except jinja2.UndefinedError as error:
        raise LookupError(str(error)) from error


def check_template(text: str, expression: bool) -> Diagnostic | None:
    """Syntax only."""
    try:
        jinja2.Environment().parse("{{" + text + "}}" if expression else text)
    except jinja2.TemplateSyntaxError as error:
        return Diagnostic(f"syntax error in {'expression' if expression else 'template'}: {error.message}")
    return None


class Project:
    """Files in a folder; names of files are relative to it."""

    def __init__(self, folder: Path, files: Mapping[str, str], **options: Any) -> None:
        self.folder = folder
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        options.setdefault("roles_path", ())
        options.setdefault("collections_path", ())
        options.setdefault("render", render)
        options.setdefault("check_template", check_template)
        self.context = LoadContext(registry=Registry([LIBRARY]), **options)
        self.loader = Loader(self.context)

    def load(self, name: str = "site.yml") -> Playbook:
        """A playbook of the project."""
        return self.loader.load_playbook(self.folder / name)

    @property
    def problems(self) -> list[str]:
        """``line: message`` of each problem, errors marked; the file is named when it is not site.yml."""
        found = []
        for item in self.context.diagnostics:
            span = item.span
            file = str(span.file).replace(f"{self.folder}/", "") if span else ""
            place = f"{'' if file == 'site.yml' else file + ':'}{span.line if span else ''}"
            found.append(f"{place}: {'' if item.severity == 'error' else 'warning: '}{item.message}".replace(f"{self.folder}/", ""))
        return found


def outline(entries: tuple[Entry, ...]) -> list[Any]:
    """Tasks as ``action argument``, blocks as lists."""
    return [list(_lines(entry)) if isinstance(entry, Block) else _line(entry) for entry in entries]


def _lines(block: Block) -> Iterator[Any]:
    yield from outline(block.tasks)
    for label, part in (("rescue", block.rescue), ("always", block.always)):
        if part:
            yield {label: outline(part)}


def _line(task: Task) -> str:
    value = task.args.get("_raw_params", task.args.get("msg", task.args.get("name", "")))
    return f"{task.action} {value}".strip()
