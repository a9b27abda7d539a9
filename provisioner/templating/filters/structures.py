"""Filters of ``ansible.utils`` about nested data: paths into it, keys of it, differences."""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import pass_environment
from jinja2.environment import Environment

from provisioner.templating.filters.general import key_matcher

_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")
_STEP = re.compile(r"""\.?([A-Za-z_]\w*)|\[(-?\d+)\]|\[(["'])(.*?)\3\]""")


def _leaves(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            plain = isinstance(key, str) and _PLAIN_KEY.fullmatch(key) is not None
            step = (f".{key}" if path else str(key)) if plain else f"[{key!r}]"
            yield from _leaves(value, path + step)
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _leaves(value, f"{path}[{index}]")
    else:
        yield path, data


def to_paths(data: Any, prepend: str | None = None, wantlist: bool = False) -> Any:
    """Nested data as a flat mapping from paths to values."""
    flat = dict(_leaves(data, prepend or ""))
    return [flat] if wantlist else flat


@pass_environment
def get_path(environment: Environment, data: Any, path: str, wantlist: bool = False) -> Any:
    """The value at a path such as ``a.b[0]['c']``."""
    found, position = data, 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise ValueError(f"cannot read the path '{path}' from '{path[position:]}' on")
        key: Any = int(step[2]) if step[2] is not None else step[1] if step[1] is not None else step[4]
        found = environment.getitem(found, key)
        position = step.end()
    return [found] if wantlist else found


def index_of(data: Any, test: str, value: Any = None, key: Any = None, fail_on_missing: bool = False, wantlist: bool = False) -> Any:
    """The positions of elements (or of those whose ``key``) pass a comparison with a value."""
    tests: dict[str, Callable[[Any, Any], bool]] = {
        **dict.fromkeys(("eq", "==", "equalto"), operator.eq),
        **dict.fromkeys(("ne", "!="), operator.ne),
        **dict.fromkeys(("gt", ">", "greaterthan"), operator.gt),
        **dict.fromkeys(("ge", ">="), operator.ge),
        **dict.fromkeys(("lt", "<", "lessthan"), operator.lt),
        **dict.fromkeys(("le", "<="), operator.le),
        "in": lambda found, wanted: found in wanted,
        "contains": lambda found, wanted: wanted in found,
        "match": lambda found, wanted: re.match(wanted, str(found)) is not None,
        "search": lambda found, wanted: re.search(wanted, str(found)) is not None,
        "regex": lambda found, wanted: re.search(wanted, str(found)) is not None,
        "true": lambda found, _: found is True,
        "false": lambda found, _: found is False,
        "truthy": lambda found, _: bool(found),
        "falsy": lambda found, _: not found,
        "none": lambda found, _: found is None,
    }
    if test not in tests:
        raise ValueError(f"the test '{test}' is not known here; known are {', '.join(tests)}")
    positions = [index for index, item in enumerate(data) if _passes(tests[test], item, value, key, fail_on_missing)]
    return positions if wantlist or len(positions) != 1 else positions[0]


def _passes(test: Callable[[Any, Any], bool], item: Any, value: Any, key: Any, fail_on_missing: bool) -> bool:
    keys = [] if key is None else key if isinstance(key, list) else [key]
    for name in keys:
        if not isinstance(item, Mapping) or name not in item:
            if fail_on_missing:
                raise KeyError(f"an element has no key '{name}'")
            return False
        item = item[name]
    return bool(test(item, value))


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=4, sort_keys=True) + "\n"
    return text.splitlines(keepends=True)


def fact_diff(before: Any, after: Any, plugin: Mapping[str, Any] | None = None, common: bool = True) -> str:
    """The difference of two values as a unified diff, its lines written as a list in one text.

    ``plugin.vars.skip_lines`` are patterns of lines to leave out; without ``common`` only differing lines are shown.
    """
    patterns = [re.compile(pattern) for pattern in ((plugin or {}).get("vars") or {}).get("skip_lines") or []]
    old, new = ([line for line in _lines(side) if not any(pattern.match(line) for pattern in patterns)] for side in (before, after))
    found = list(difflib.unified_diff(old, new, "before", "after"))
    if not found:
        return "[]"
    lines: list[str] = []
    for line in found:
        lines.append(line.rstrip("\n"))
        if not line.endswith("\n"):
            lines.append("\\ No newline at end of file")
    shown = lines if common else [line for line in lines if not line.startswith(" ")]
    return str([*shown, ""])


def _rebuilt(data: Any, change: Callable[[Mapping[Any, Any]], dict[Any, Any]]) -> Any:
    """Nested data with every mapping changed, inner ones first."""
    if isinstance(data, Mapping):
        return change({key: _rebuilt(value, change) for key, value in data.items()})
    return [_rebuilt(item, change) for item in data] if isinstance(data, list) else data


def remove_keys(data: Any, target: Any, matching_parameter: str = "equality") -> Any:
    """Nested data without certain keys."""
    fits = key_matcher(target, "equal" if matching_parameter == "equality" else matching_parameter)
    return _rebuilt(data, lambda mapping: {key: value for key, value in mapping.items() if not fits(key)})


def keep_keys(data: Any, target: Any, matching_parameter: str = "equality") -> Any:
    """Nested data with certain keys, and what leads to them, only."""
    fits = key_matcher(target, "equal" if matching_parameter == "equality" else matching_parameter)

    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            parts = {key: child if fits(key) else kept(child) for key, child in value.items()}
            return {key: child for key, child in parts.items() if fits(key) or child} or None
        if isinstance(value, list):
            return [found for found in map(kept, value) if found] or None
        return None

    result = kept(data)
    return result if result is not None else type(data)()


def replace_keys(data: Any, target: Any, matching_parameter: str = "equality") -> Any:
    """Nested data with keys renamed: ``target`` is a list of mappings with ``before`` and ``after``."""
    kind = "equal" if matching_parameter == "equality" else matching_parameter
    rules = [(key_matcher(rule["before"], kind), rule["after"]) for rule in ([target] if isinstance(target, Mapping) else target)]
    return _rebuilt(
        data, lambda mapping: {next((after for fits, after in rules if fits(key)), key): value for key, value in mapping.items()}
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fact_diff": fact_diff,
    "get_path": get_path,
    "index_of": index_of,
    "keep_keys": keep_keys,
    "remove_keys": remove_keys,
    "replace_keys": replace_keys,
    "to_paths": to_paths,
}

COLLECTIONS = {"ansible.utils": FUNCTIONS}
