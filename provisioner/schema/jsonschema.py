"""A JSON schema (draft 2020-12) of playbooks for editors: completion and help for keywords, modules and their options.

Anything may be a template, so every scalar type also allows text with ``{{``. The schema is made to help while typing; ``provision lint``
is what decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from provisioner.node.declare import Module
from provisioner.playbook import keywords
from provisioner.playbook.keywords import Keyword
from provisioner.schema.docs import full_name
from provisioner.schema.fields import Field, fields_of

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEMPLATE: Schema = {"type": "string", "pattern": r"\{\{|\{%"}
_WORDS: Schema = {"enum": ["yes", "no", "on", "off", "true", "false", "True", "False"]}


def playbook_schema(modules: Iterable[Module]) -> Schema:
    """The schema of a playbook file with these modules."""
    known = sorted(modules, key=lambda module: module.name)
    actions = {name: _action(module) for module in known for name in _names(module)}
    return {
        "$schema": DIALECT,
        "title": "playbook",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/play"}, {"$ref": "#/$defs/import"}]},
        "$defs": {
            "play": {
                "type": "object",
                "required": ["hosts"],
                "properties": _keywords(keywords.PLAY),
                "additionalProperties": False,
            },
            "import": {
                "type": "object",
                "required": ["import_playbook"],
                "properties": {"import_playbook": {"type": "string"}, **_keywords(keywords.IMPORT_PLAYBOOK)},
            },
            "entries": {"type": ["array", "null"], "items": {"anyOf": [{"$ref": "#/$defs/block"}, {"$ref": "#/$defs/task"}]}},
            "block": {
                "type": "object",
                "required": ["block"],
                "properties": _keywords(keywords.BLOCK),
                "additionalProperties": False,
            },
            "task": _task(keywords.TASK, actions),
            "handlers": {
                "type": ["array", "null"],
                "items": {"anyOf": [{"$ref": "#/$defs/block"}, _task(keywords.HANDLER, actions)]},
            },
            "role": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "object", "properties": {"role": {"type": "string"}, **_keywords(keywords.ROLE)}},
                ]
            },
        },
    }


def tasks_schema(modules: Iterable[Module]) -> Schema:
    """The schema of a file of tasks with these modules."""
    whole = playbook_schema(modules)
    return {"$schema": DIALECT, "title": "tasks", "$ref": "#/$defs/entries", "$defs": whole["$defs"]}


def _names(module: Module) -> list[str]:
    names = [module.name, *module.aliases]
    return [*names, *(f"{module.collection}.{name}" for name in names)] if module.collection else names


def _task(known: Mapping[str, Keyword], actions: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": {**actions, **_keywords(known)},
        "patternProperties": {r"^with_": {}, r"^[a-z0-9_]+(\.[a-z0-9_]+){2,}$": {}},
        "additionalProperties": False,
    }


def _keywords(known: Mapping[str, Keyword]) -> Schema:
    return {name: _keyword(keyword) | {"description": keyword.help} for name, keyword in known.items()}


def _keyword(keyword: Keyword) -> Schema:
    texts: Schema = {"type": ["string", "array", "null"]}
    kinds: dict[str, Schema] = {
        "bool": _scalar("boolean", keyword.static),
        "int": _scalar("integer", keyword.static),
        "number": _scalar("number", keyword.static),
        "percent": {"type": ["string", "number", "null"]},
        "text": {"type": ["string", "number", "boolean", "null"]},
        "texts": texts,
        "tags": texts,
        "name": {"type": ["string", "number", "null"]},
        "variable": {"type": "string"},
        "conditions": {"type": ["string", "boolean", "number", "array", "null"]},
        "mapping": {"type": ["object", "null"]},
        "environment": {"type": ["object", "array", "string", "null"]},
        "defaults": {"type": ["object", "array", "string", "null"]},
        "entries": {"$ref": "#/$defs/handlers" if keyword.name == "handlers" else "#/$defs/entries"},
        "roles": {"type": ["array", "null"], "items": {"$ref": "#/$defs/role"}},
        "serial": {"type": ["string", "integer", "array"]},
        "prompts": {"type": ["array", "object"]},
        "arguments": {"type": ["object", "string", "null"]},
        "action": {"type": ["object", "string"]},
        "loop": {"anyOf": [{"type": ["array", "null"]}, _TEMPLATE]},
        "any": {},
    }
    return dict(kinds[keyword.kind])


def _scalar(kind: str, static: bool) -> Schema:
    plain: list[Schema] = [{"type": [kind, "null"]}]
    if kind == "boolean":
        plain.append(_WORDS)
    else:
        plain.append({"type": "string", "pattern": r"^\s*[0-9.]+\s*$"})
    return {"anyOf": plain if static else [*plain, _TEMPLATE]}


def _action(module: Module) -> Schema:
    fields = fields_of(module.params)
    properties: Schema = {}
    for field in fields.values():
        if field.name == module.extra:
            continue
        for name in (field.name, *field.aliases):
            if not name.startswith("_"):
                properties[name] = _option(field)
    described: Schema = {"description": f"{full_name(module)}: {module.summary}"}
    mapping: Schema = {"type": ["object", "null"], "properties": properties, "additionalProperties": bool(module.extra)}
    return {**described, "anyOf": [mapping, {"type": "string"}]}


def _option(field: Field) -> Schema:
    schema: Schema = {"description": field.help}
    if not field.required and field.default is not None and isinstance(field.default, (str, bool, int, float)):
        schema["default"] = field.default
    kinds: dict[str, list[Schema]] = {
        "bool": [{"type": "boolean"}, _WORDS, {"enum": [0, 1, "0", "1"]}],
        "int": [{"type": "integer"}, {"type": "string", "pattern": r"^\s*-?[0-9]+\s*$"}],
        "float": [{"type": "number"}, {"type": "string", "pattern": r"^\s*-?[0-9.]+\s*$"}],
        "list": [{"type": ["array", "string", "number"]}],
        "dict": [{"type": ["object", "string"]}],
        "mode": [{"type": "string"}, {"type": "integer"}],
    }
    if field.choices and field.type != "list":
        allowed: list[Any] = [*field.choices, *(word for choice in field.choices for word in _boolean_twin(choice))]
        schema["anyOf"] = [{"enum": allowed}, _TEMPLATE, {"type": "null"}]
    elif field.type in kinds:
        schema["anyOf"] = [*kinds[field.type], _TEMPLATE, {"type": "null"}]
    return schema


def _boolean_twin(choice: Any) -> list[bool]:
    """What YAML makes of an unquoted ``yes`` or ``no`` that is a choice."""
    return [choice in ("yes", "on", "true")] if choice in ("yes", "on", "true", "no", "off", "false") else []
