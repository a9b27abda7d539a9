"""Argument specifications of roles (``meta/argument_specs.yml``) and of ``validate_argument_spec``: values checked against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from provisioner.diagnostics import did_you_mean
from provisioner.schema.conversion import CONVERT, ConversionError
from provisioner.values import Unknown

_TYPES = {**{name: name for name in CONVERT}, "jsonarg": "json", "json": "json", "bytes": "size", "bits": "size"}


def check(options: Mapping[str, Any], values: Mapping[str, Any], rules: Mapping[str, Any] | None = None) -> list[str]:
    """What is wrong with the values of a role's arguments, one sentence each.

    ``options`` is the ``options:`` mapping of a specification, ``rules`` may hold ``mutually_exclusive``, ``required_one_of``,
    ``required_together`` and ``required_if``. Values that are unknown before the apply are taken as right; names that the
    specification does not have are ignored, since they are other variables.
    """
    return list(_check(options, values, "", rules or {}, strict=False))


def _check(options: Mapping[str, Any], values: Mapping[str, Any], path: str, rules: Mapping[str, Any], *, strict: bool) -> Iterator[str]:
    names = {alias: name for name, spec in options.items() if isinstance(spec, Mapping) for alias in spec.get("aliases") or ()}
    given = {names.get(name, name): value for name, value in values.items() if value is not None}
    if strict:
        for name in given:
            if name not in options:
                yield f"unsupported option {path}{name!r}. {did_you_mean(str(name), options)}".rstrip(". ")
    missing = [path + name for name, spec in options.items() if _is(spec, "required") and name not in given and spec.get("default") is None]
    if missing:
        yield f"missing required arguments: {', '.join(sorted(missing))}"
    for name, value in given.items():
        spec = options.get(name)
        if isinstance(spec, Mapping) and not isinstance(value, Unknown):
            yield from _value(f"{path}{name}", spec, value)
    yield from _rules({**_defaults(options), **given}, given, path, rules)


def _value(name: str, spec: Mapping[str, Any], value: Any) -> Iterator[str]:
    kind = _TYPES.get(str(spec.get("type") or "str"), "raw")
    try:
        converted = CONVERT[kind](value)
    except ConversionError as error:
        yield f"{name} {error}"
        return
    items = converted if kind == "list" else [converted]
    element = _TYPES.get(str(spec.get("elements") or "raw"), "raw") if kind == "list" else kind
    for index, item in enumerate(items):
        label = f"{name}[{index}]" if kind == "list" else name
        if isinstance(item, Unknown):
            continue
        try:
            item = CONVERT[element](item)
        except ConversionError as error:
            yield f"{label} {error}"
            continue
        choices = spec.get("choices")
        if choices and item not in choices:
            yield f"value of {label} must be one of: {', '.join(map(str, choices))}, got: {item}"
        inner = spec.get("options")
        if isinstance(inner, Mapping) and isinstance(item, Mapping):
            yield from _check(inner, item, f"{label}.", spec, strict=True)


def _rules(complete: Mapping[str, Any], given: Mapping[str, Any], path: str, rules: Mapping[str, Any]) -> Iterator[str]:
    for names in rules.get("mutually_exclusive") or ():
        present = [name for name in names if name in given]
        if len(present) > 1:
            yield f"parameters are mutually exclusive: {' and '.join(path + name for name in present)}"
    for names in rules.get("required_one_of") or ():
        if not any(name in given for name in names):
            yield f"one of the following is required: {', '.join(path + name for name in names)}"
    for names in rules.get("required_together") or ():
        present = [name for name in names if name in given]
        if present and len(present) < len(names):
            yield f"parameters are required together: {', '.join(path + name for name in names)}"
    for rule in rules.get("required_if") or ():
        name, wanted, needed = rule[0], rule[1], rule[2]
        absent = [item for item in needed if complete.get(item) is None]
        any_of = len(rule) > 3 and bool(rule[3])
        value = complete.get(name)
        if not isinstance(value, Unknown) and value == wanted and absent and not (any_of and len(absent) < len(needed)):
            yield f"{path}{name} is {wanted} but {'any' if any_of else 'all'} of: {', '.join(path + item for item in absent)} are missing"


def _defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: spec["default"] for name, spec in options.items() if isinstance(spec, Mapping) and "default" in spec}


def _is(spec: Any, key: str) -> bool:
    try:
        return isinstance(spec, Mapping) and bool(CONVERT["bool"](spec.get(key, False)))
    except ConversionError:
        return False
