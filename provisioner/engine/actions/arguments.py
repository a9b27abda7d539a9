"""``validate_argument_spec``: the arguments of a role against what the role says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.outcome import Outcome
from provisioner.errors import InputError
from provisioner.schema.conversion import CONVERT, ConversionError
from provisioner.values import Unknown


def validate(call: Call) -> Outcome:
    """Check every option of the specification: given where required, of its type, one of its choices."""
    spec = call.task.args.get("argument_spec")
    if not isinstance(spec, Mapping):
        spec = call.written.get("argument_spec")
    if not isinstance(spec, Mapping):
        raise InputError.of("validate_argument_spec needs 'argument_spec'", call.task.span_of("args"))
    provided = call.written.get("provided_arguments") or {}
    problems: list[str] = []
    for name, option in spec.items():
        value = provided[name] if name in provided else call.scope.lookup(str(name))
        problems += _check(str(name), option or {}, value)
    context = call.written.get("validate_args_context") or {}
    if problems:
        message = "Validation of arguments failed:\n" + "\n".join(problems)
        return Outcome.failure(message, argument_errors=problems, validate_args_context=context)
    return Outcome.ok(msg="The arg spec validation passed", validate_args_context=context)


def _check(path: str, option: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong with one value."""
    if value is None:
        missing = bool(option.get("required")) and option.get("default") is None
        return [f"missing required arguments: {path}"] if missing else []
    if isinstance(value, Unknown):
        return []
    kind = str(option.get("type", "str"))
    convert = CONVERT.get({"list": "list", "path": "path"}.get(kind, kind))
    if convert is not None:
        try:
            value = convert(value)
        except ConversionError as error:
            return [f"{path} {error}"]
    return [*_choices(path, option, value), *_inside(path, kind, option, value)]


def _choices(path: str, option: Mapping[str, Any], value: Any) -> list[str]:
    choices = option.get("choices")
    if not choices:
        return []
    wrong = [item for item in (value if isinstance(value, list) else [value]) if item not in choices]
    return [f"value of {path} must be one of: {', '.join(map(str, choices))}, got: {', '.join(map(str, wrong))}"] if wrong else []


def _inside(path: str, kind: str, option: Mapping[str, Any], value: Any) -> list[str]:
    """Elements of lists and entries of mappings."""
    found: list[str] = []
    below = option.get("options")
    if kind == "list" and isinstance(value, list):
        elements = {"type": option.get("elements", "raw"), "options": below}
        if elements["type"] != "raw":
            for index, item in enumerate(value):
                found += _check(f"{path}[{index}]", {key: item_ for key, item_ in elements.items() if item_ is not None}, item)
    elif isinstance(below, Mapping) and isinstance(value, Mapping):
        for name in value:
            if name not in below:
                found.append(f"{path}.{name} is not a supported argument; supported are: {', '.join(map(str, below))}")
        for name, inner in below.items():
            found += _check(f"{path}.{name}", inner or {}, value.get(name))
    return found
