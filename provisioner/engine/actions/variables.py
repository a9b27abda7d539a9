"""``set_fact`` and ``include_vars``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from provisioner.engine.actions.call import Call
from provisioner.engine.arguments import explain
from provisioner.engine.contents import find_file
from provisioner.engine.outcome import Outcome
from provisioner.engine.truth import as_bool, as_number
from provisioner.errors import InputError
from provisioner.playbook.normalization import is_variable
from provisioner.values import Unknown, UnsafeText, map_texts

_EXTENSIONS = ("yaml", "yml", "json")
_OPTIONS = {
    "_raw_params", "depth", "dir", "extensions", "file", "files_matching", "hash_behaviour", "ignore_files", "name",
    "ignore_unknown_extensions",
}  # fmt: skip


def set_fact(call: Call) -> Outcome:
    """Set variables of the host; ``cacheable`` makes them facts, too."""
    values = {}
    cacheable = as_bool(call.given("cacheable"), "cacheable")
    for written, value in call.written.items():
        if written == "cacheable":
            continue
        name = call.scope.render(written)
        if not is_variable(name):
            help_ = "use letters, digits and underscores, no digit first, and no word of Python's"
            kind = "" if isinstance(name, str) else f" of type '{type(name).__name__}'"
            raise InputError.of(f"set_fact: Invalid variable name '{name}'{kind}", call.task.span_of("args", written), help=help_)
        values[name] = value
    if not values:
        raise InputError.of("set_fact sets nothing", call.task.span_of("args"), help="give at least one name and value")
    call.set(values)
    if cacheable:
        call.learn(values)
    outcome = Outcome.ok(ansible_facts=values)
    outcome.facts_applied = True
    return outcome


def include_vars(call: Call) -> Outcome:
    """Load variables from a file or a folder of files; as in Ansible the result of a failure has its reason as ``message``."""
    try:
        return _included(call)
    except InputError as error:
        reason = explain(error, call.item.job, call.walk.host)
        return Outcome.failure(reason, message=reason, ansible_included_var_files=[], ansible_facts={})


def _included(call: Call) -> Outcome:
    unknown = set(call.written) - _OPTIONS
    if unknown:
        raise InputError.of(f"include_vars: unsupported option {', '.join(map(repr, sorted(unknown)))}", call.task.span_of("args"))
    directory, name = call.given("dir"), call.given("name")
    files = list(_files_in(call, str(directory))) if directory is not None else [_file(call)]
    values: dict[str, Any] = {}
    for path in files:
        read, _ = call.run.loader.files.variables(path)
        values = {**values, **read}
    if name is not None:
        values = {str(name): values}
    if call.given("hash_behaviour") == "merge":
        # What is there already is rendered: marks of templates in it are data.
        values = {key: _merged(map_texts(call.scope.lookup(key, {}), UnsafeText), value) for key, value in values.items()}
    call.include(values)
    outcome = Outcome.ok(ansible_facts=values, ansible_included_var_files=[str(path) for path in files])
    outcome.facts_applied = True
    return outcome


def _file(call: Call) -> Path:
    name = call.given("file", "_raw_params")
    if isinstance(name, Unknown) or not name:
        raise InputError.of("Could not find file to load: include_vars needs a file or a dir", call.task.span_of("args"))
    return find_file(call.scope.paths, "vars", str(name), call.task.span_of("args"), call.task.span.file)


def _files_in(call: Call, name: str) -> Iterator[Path]:
    """The variables files of a folder, one folder after the other, each before those inside it."""
    # As in Ansible: a folder is looked for in the vars of a role, and beside the playbook otherwise.
    within = "vars" if call.item.job.inherited.role is not None else ""
    base = find_file(call.scope.paths, within, name, call.task.span_of("args", "dir"), call.task.span.file, folders=True)
    depth = int(as_number(call.given("depth", default=0), "depth"))
    extensions = call.given("extensions", default=_EXTENSIONS)
    wanted = re.compile(str(call.given("files_matching", default="")))
    ignored = [re.compile(f"(?:{pattern})$") for pattern in _listed(call.given("ignore_files", default=[]))]
    lenient = as_bool(call.given("ignore_unknown_extensions"), "ignore_unknown_extensions")
    found = (Path(folder, name) for folder, _, names in os.walk(base, followlinks=True) for name in names)
    for path in sorted(found, key=lambda file: (str(file.parent), file.name)):
        level = len(path.relative_to(base).parts)
        if path.name.startswith(".") or (depth and level > depth):
            continue
        if any(pattern.search(path.name) for pattern in ignored) or not wanted.search(path.name):
            continue
        if path.suffix.lstrip(".") not in _listed(extensions):
            if lenient:
                continue
            raise InputError.of(
                f"{path} does not have a valid extension: {', '.join(_listed(extensions))}", call.task.span_of("args", "dir")
            )
        yield path


def _listed(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [part.strip() for part in str(value).split(",")]


def _merged(under: Any, over: Any) -> Any:
    if not isinstance(under, Mapping) or not isinstance(over, Mapping):
        return over
    merged = dict(under)
    for key, value in over.items():
        merged[key] = _merged(merged[key], value) if key in merged else value
    return merged
