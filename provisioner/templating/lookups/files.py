"""Lookups that read files of the controller."""

from __future__ import annotations

import configparser
import csv
import glob
import io
import os.path
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from provisioner.templating.files import template_variables
from provisioner.templating.lookups.context import Lookup, LookupContext
from provisioner.templating.natural import join_plain, text_of, type_name
from provisioner.templating.syntax import Syntax

_NO_KEY = "Search key is required but was not found"
_NO_INI_KEY = "No key to look up was provided as first term within string inline options"
_FLAT_KINDS = ("files", "templates", "vars")


def file(context: LookupContext, terms: list[Any], *, lstrip: bool = False, rstrip: bool = True) -> list[Any]:
    """The text of files, by default without white space at the end."""
    texts: list[str] = []
    for term in terms:
        text = context.read(context.require("files", _name(term))).decode("utf-8", "surrogateescape")
        text = text.lstrip() if lstrip else text
        texts.append(text.rstrip() if rstrip else text)
    return texts


def unvault(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The text of files, decrypted, as it is."""
    return [context.read(context.require("files", _name(term))).decode("utf-8", "surrogateescape") for term in terms]


def _name(term: Any) -> str:
    if not isinstance(term, str):
        raise TypeError(f"the name of a file has to be a 'str', not '{type_name(term)}'")
    return term


def fileglob(context: LookupContext, terms: list[Any]) -> list[Any]:
    """The files (no folders) that match patterns, sorted by name."""
    found: list[str] = []
    for term in terms:
        folder, pattern = os.path.split(_name(term))
        start = Path(folder).expanduser()
        folders = [start] if start.is_absolute() else [base / start for base in context.folders("files")]
        for base in folders:
            paths = sorted(path for path in glob.glob(str(base / pattern)) if os.path.isfile(path))
            if paths:
                found += paths
                break
    return found


def first_found(context: LookupContext, terms: list[Any], *, files: Any = None, paths: Any = None, skip: bool = False) -> list[Any]:
    """The path of the first of several files that exists; with ``skip`` nothing instead of an error."""
    wanted: list[str] = []
    for name, skipping in _candidates(terms, files, paths):
        skip = skip or skipping
        wanted.append(name)
        found = _first(context, name)
        if found is not None:
            return [found]
    if skip or any(isinstance(term, Mapping) and _is_set(term.get("skip")) for term in terms):
        return []
    raise FileNotFoundError(f"No file was found when using first_found, looked for {', '.join(wanted) or 'nothing'}")


def _candidates(terms: list[Any], files: Any, paths: Any) -> Iterator[tuple[str, bool]]:
    if files is not None:
        yield from ((name, False) for name in _joined(files, paths))
    for term in terms:
        if isinstance(term, Mapping):
            skip = _is_set(term.get("skip"))
            yield from ((name, skip) for name in _joined(term.get("files", []), term.get("paths", [])))
        elif isinstance(term, list):
            yield from _candidates(term, None, paths)
        else:
            yield from ((name, False) for name in _joined([_name(term)], paths))


def _joined(files: Any, paths: Any) -> list[str]:
    names = [name for part in _listed(files) for name in re.split(r"[,;]", part) if name]
    folders = [name for part in _listed(paths) for name in re.split(r"[,:;]", part) if name]
    return [os.path.join(folder, name) for folder in folders for name in names] if folders else names


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]


def _is_set(value: Any) -> bool:
    return str(value).lower() in ("true", "yes", "1", "on")


def _first(context: LookupContext, name: str) -> str | None:
    for kind in _FLAT_KINDS:
        found = context.find(kind, name)
        if found is not None:
            return str(found)
    return None


def template(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """What template files give; ``template_vars`` are more variables, other options are those of the syntax."""
    more = options.pop("template_vars", {}) or {}
    options.pop("convert_data", None)
    options.pop("jinja2_native", None)
    syntax = Syntax(**options)
    values: list[Any] = []
    for term in terms:
        path = context.require("templates", _name(term))
        inner = context.evaluation.derived(template_variables(path, context.environment.settings), more)
        values.append(inner.file(context.evaluation.read(path), str(path), syntax, join_plain))
    return values


def csvfile(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """Cells of a table file: the term is the key of the row; ``file``, ``delimiter``, ``col``, ``keycol``, ``encoding``, ``default``."""
    defaults = {"file": "ansible.csv", "delimiter": "TAB", "col": 1, "keycol": 0, "encoding": "utf-8", "default": None}
    cells: list[Any] = []
    if not terms:
        raise ValueError(_NO_KEY)
    for term in terms:
        key, given = _key_and_options(term, defaults, options)
        delimiter = "\t" if str(given["delimiter"]) in ("TAB", "t", "\\t") else str(given["delimiter"])
        text = context.read(context.require("files", str(given["file"]))).decode(str(given["encoding"]))
        column, key_column = _number("col", given["col"]), _number("keycol", given["keycol"])
        found = given["default"]
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            if len(row) > max(column, key_column) and row[key_column] == key:
                found = row[column]
                break
        if found is not None:
            cells.extend(found if isinstance(found, list) else [found])
    return cells


def _number(name: str, value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name}={value} has an invalid value: it is no number") from None


def ini(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """Values of an INI or properties file: the term is the key; ``file``, ``section``, ``type``, ``re``, ``default``, ``encoding``…"""
    defaults = {
        "file": "ansible.ini", "section": "global", "type": "ini", "re": False, "default": "", "encoding": "utf-8",
        "case_sensitive": False, "allow_no_value": False, "allow_none": False, "interpolation": True,
    }  # fmt: skip
    values: list[Any] = []
    for term in terms:
        key, given = _key_and_options(term, defaults, options, _NO_INI_KEY)
        given["allow_no_value"] = given["allow_no_value"] or given["allow_none"]
        parser = configparser.ConfigParser(
            allow_no_value=_is_set(given["allow_no_value"]),
            interpolation=configparser.BasicInterpolation() if _is_set(given["interpolation"]) else None,
        )
        if _is_set(given["case_sensitive"]):
            parser.optionxform = str  # type: ignore[assignment,method-assign]
        text = context.read(context.require("files", str(given["file"]))).decode(str(given["encoding"]))
        section = str(given["section"])
        if given["type"] == "properties":
            text, section = f"[java_properties]\n{text}", "java_properties"
        try:
            parser.read_file(io.StringIO(text))
        except configparser.DuplicateOptionError as error:
            where = f"Duplicate option in '{given['file']}', line {error.lineno}"
            raise ValueError(f"{where}: '{error.option}' stands in section '{error.section}' already") from None
        values += _ini_values(parser, key, section, given)
    return values


def _ini_values(parser: configparser.ConfigParser, key: str, section: str, given: Mapping[str, Any]) -> list[Any]:
    if not parser.has_section(section) and section != "DEFAULT":
        raise KeyError(f"No section '{section}' in '{given['file']}'.")
    if _is_set(given["re"]):
        return [value for name, value in parser.items(section) if re.match(key, name)]
    value = parser.get(section, key, fallback=given["default"])
    return [] if value is None else [value]


_WORD = re.compile(r"""(?:\w+=(?:"[^"]*"|'[^']*')|\S+)""")


def _key_and_options(
    term: Any, defaults: Mapping[str, Any], options: Mapping[str, Any], refusal: str = _NO_KEY
) -> tuple[str, dict[str, Any]]:
    """``key file=x section=y`` or the key with options as arguments; ``refusal`` says that there is no key."""
    unknown = set(options) - set(defaults)
    if unknown:
        raise TypeError(f"'{min(unknown)}' is not a valid option; known are {', '.join(sorted(defaults))}")
    given = {**defaults, **options}
    words = _WORD.findall(_name(term))
    keys: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            if name not in defaults:
                raise ValueError(f"'{name}' is not a valid option; known are {', '.join(sorted(defaults))}")
            given[name] = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
        else:
            keys.append(word)
    if not keys:
        raise ValueError(refusal)
    return " ".join(keys), given


def filetree(context: LookupContext, terms: list[Any], *, exclude: str | None = None) -> list[Any]:
    """Every file, folder and link below folders with its attributes, the nearest definition of each path only."""
    seen: dict[str, dict[str, Any]] = {}
    pattern = re.compile(exclude) if exclude else None
    for term in terms:
        name = _name(term)
        folders = [Path(name)] if Path(name).is_absolute() else [folder / name for folder in context.folders("files")]
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if pattern is None or not pattern.search(path.name):
                    seen.setdefault(str(path.relative_to(folder)), _properties(folder, path))
    return list(seen.values())


def _properties(folder: Path, path: Path) -> dict[str, Any]:
    import grp
    import pwd
    import stat

    status = path.lstat()
    state = "link" if path.is_symlink() else "directory" if path.is_dir() else "file"
    properties: dict[str, Any] = {"root": f"{folder}{os.sep}", "path": str(path.relative_to(folder)), "state": state}
    if state == "link":
        properties["src"] = os.readlink(path)
    if state == "file":
        properties["src"] = str(path)
    names: dict[str, str | None] = {}
    for kind, find, number in (("owner", pwd.getpwuid, status.st_uid), ("group", grp.getgrgid, status.st_gid)):
        try:
            names[kind] = find(number)[0]
        except KeyError:
            names[kind] = None
    return {
        **properties, **names, "uid": status.st_uid, "gid": status.st_gid, "mode": f"0{stat.S_IMODE(status.st_mode):03o}",
        "size": status.st_size, "mtime": status.st_mtime, "ctime": status.st_ctime,
    }  # fmt: skip


LOOKUPS: dict[str, Lookup] = {
    "csvfile": csvfile,
    "file": file,
    "fileglob": fileglob,
    "first_found": first_found,
    "ini": ini,
    "template": template,
    "unvault": unvault,
}

GENERAL: dict[str, Lookup] = {"filetree": filetree}
