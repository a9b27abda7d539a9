"""Reference pages of modules from their declarations: Markdown for the web, plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from provisioner.node.declare import Module, Rule
from provisioner.schema.fields import Field, fields_of

_WIDTH = 100


def markdown(module: Module) -> str:
    """The reference page of a module."""
    lines = [f"# {module.name}", "", module.summary, ""]
    lines += [f"Full name: `{full_name(module)}`" + _also(module, "`"), ""]
    rows = list(_rows(module))
    if rows:
        lines += ["## Options", "", "| option | type | default | what it does |", "|---|---|---|---|"]
        lines += [f"| {_cell(name)} | {kind} | {_cell(default)} | {_cell(text)} |" for name, kind, default, text in rows]
        lines.append("")
    rules = [rule_text(rule, "`") for rule in module.rules]
    if rules:
        lines += ["## Rules", "", *(f"- {rule}" for rule in rules), ""]
    if module.notes:
        lines += ["## Notes", "", *(f"- {note}" for note in module.notes), ""]
    if module.examples:
        lines += ["## Examples", "", "```yaml", textwrap.dedent(module.examples).strip("\n"), "```", ""]
    return "\n".join(lines)


def text(module: Module, width: int = _WIDTH) -> str:
    """The same for a terminal."""
    lines = [f"{full_name(module)}  {module.summary}"]
    if module.aliases:
        lines.append(f"also called {', '.join(module.aliases)}")
    fields = [field for field in fields_of(module.params).values() if field.name != module.extra]
    if fields:
        lines.append("")
    for field in fields:
        lines.append(f"  {_signature(field, module)}")
        lines += textwrap.wrap(_sentence(field), width, initial_indent="      ", subsequent_indent="      ")
    for title, items in (("Rules", [rule_text(rule) for rule in module.rules]), ("Notes", list(module.notes))):
        if items:
            lines += ["", title]
            for item in items:
                lines += textwrap.wrap(item, width, initial_indent="  - ", subsequent_indent="    ")
    if module.examples:
        lines += ["", "Examples", textwrap.indent(textwrap.dedent(module.examples).strip("\n"), "  ")]
    return "\n".join(lines) + "\n"


def index(modules: Iterable[Module]) -> str:
    """A Markdown table of modules with a line for each."""
    rows = [f"| [{module.name}]({module.name}.md) | {_cell(module.summary)} |" for module in sorted(modules, key=lambda item: item.name)]
    return "\n".join(["| module | what it does |", "|---|---|", *rows, ""])


def full_name(module: Module) -> str:
    """With the collection where Ansible keeps it."""
    return f"{module.collection}.{module.name}" if module.collection else module.name


def rule_text(rule: Rule, quote: str = "") -> str:
    """A relation between options in words."""
    names = [f"{quote}{name}{quote}" for name in rule.names]
    trigger = f"{quote}{rule.when[0]}{quote}"
    needed = f"{'one of ' if rule.any_of else ''}{', '.join(names)}"
    texts = {
        "exclusive": f"At most one of {', '.join(names)}.",
        "one_of": f"At least one of {', '.join(names)}.",
        "together": f"{', '.join(names)} only together.",
        "required_if": f"{trigger} = {rule.when[1]} needs {needed}.",
        "required_by": f"{trigger} needs {needed}.",
    }
    return texts[rule.kind]


def _also(module: Module, quote: str) -> str:
    return f"; also `{f'{quote}, {quote}'.join(module.aliases)}`" if module.aliases else ""


def _rows(module: Module) -> Iterator[tuple[str, str, str, str]]:
    for field in fields_of(module.params).values():
        if field.name == module.extra:
            yield "*any other*", "any", "", field.help
            continue
        name = f"`{field.name}`" + (" **required**" if field.required else "")
        yield (
            name,
            field.shown_type,
            "" if field.required or field.default is None else f"`{shown_default(field.default)}`",
            _sentence(field),
        )


def _signature(field: Field, module: Module) -> str:
    parts = [field.shown_type]
    if field.required:
        parts.append("required")
    elif field.default is not None:
        parts.append(f"default {shown_default(field.default)}")
    if field.name == module.free_form:
        parts.append("also as free-form text")
    return f"{field.name} ({', '.join(parts)})"


def _sentence(field: Field) -> str:
    parts = [field.help]
    if field.choices:
        parts.append(f"One of {', '.join(map(str, field.choices))}.")
    aliases = [alias for alias in field.aliases if not alias.startswith("_")]
    if aliases:
        parts.append(f"Also called {', '.join(aliases)}.")
    if field.examples:
        parts.append(f"For example {', '.join(map(str, field.examples))}.")
    if field.secret:
        parts.append("Never shown.")
    if field.since:
        parts.append(f"Since {field.since}.")
    return " ".join(part for part in parts if part)


def shown_default(value: Any) -> str:
    """A default as one would write it in YAML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown_default, value)) + "]"
    return str(value)


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")
