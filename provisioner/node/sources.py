"""apt's sources: entries of ``.list`` and ``.sources`` files, read and written. What apt_repository and deb822_repository share."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .api import Node

FOLDER = "/etc/apt/sources.list.d"
MAIN = "/etc/apt/sources.list"


class Entry:
    """One source: types, options, URI, suite, components."""

    __slots__ = ("components", "enabled", "options", "suite", "type", "uri")

    def __init__(self, type: str, uri: str, suite: str, components: tuple[str, ...], options: dict[str, str], enabled: bool = True) -> None:
        self.type = type
        self.uri = uri.rstrip("/")
        self.suite = suite
        self.components = components
        self.options = options
        self.enabled = enabled

    def same_place(self, other: Entry) -> bool:
        """Whether both name the same index, so that apt would want the same Signed-By for both."""
        if (self.type, self.suite.rstrip("/")) != (other.type, other.suite.rstrip("/")):
            return False
        return self.uri == other.uri or _filled(self.uri, other.uri) or _filled(other.uri, self.uri)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.same_place(other) and self.components == other.components and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.type, self.uri, self.suite))


def _filled(pattern: str, uri: str) -> bool:
    """Whether ``uri`` is ``pattern`` with apt's own ``$(ARCH)`` filled in."""
    before, variable, after = pattern.partition("$(ARCH)")
    middle = uri[len(before) : len(uri) - len(after)]
    return bool(variable) and uri.startswith(before) and uri.endswith(after) and bool(middle) and "/" not in middle


def parse_line(line: str) -> Entry | None:
    """A one-line entry (``deb [options] URI SUITE COMPONENTS…``), also a commented-out one; None for anything else."""
    text = line.strip()
    enabled = not text.startswith("#")
    text = text.lstrip("# ").split(" #")[0].strip()
    kind, _, rest = text.partition(" ")
    if kind not in ("deb", "deb-src"):
        return None
    rest = rest.strip()
    options: dict[str, str] = {}
    if rest.startswith("["):
        inside, bracket, rest = rest[1:].partition("]")
        if not bracket:
            return None
        for word in inside.split():
            key, _, value = word.partition("=")
            options[key.lower()] = value
    words = rest.split()
    if len(words) < 2 or (len(words) == 2 and not words[1].endswith("/") and words[1] != "/"):
        return None
    return Entry(kind, words[0], words[1], tuple(words[2:]), options, enabled)


def source_files(node: Node) -> list[str]:
    """All files apt reads sources from."""
    found = [MAIN] if node.files.exists(MAIN) else []
    if node.files.exists(FOLDER):
        found += [f"{FOLDER}/{name}" for name in node.files.names(FOLDER) if name.endswith((".list", ".sources"))]
    return found


def text_of(node: Node, path: str) -> str:
    """A file's text, "" when it does not exist."""
    return node.files.read(path).decode("utf-8", "surrogateescape") if node.files.exists(path) else ""


def paragraphs(text: str) -> list[dict[str, str]]:
    """The stanzas of a ``.sources`` file: field (lower case) → value; continuation lines joined by newlines."""
    found: list[dict[str, str]] = []
    current: dict[str, str] = {}
    last = ""
    for line in [*text.splitlines(), ""]:
        if not line.strip():
            if current:
                found.append(current)
            current, last = {}, ""
        elif line.startswith("#"):
            continue
        elif line[0] in " \t" and last:
            current[last] += "\n" + line.strip()
        else:
            key, _, value = line.partition(":")
            last = key.strip().lower()
            current[last] = value.strip()
    return found


def entries_of(path: str, text: str) -> list[Entry]:
    """The active entries of a file of either kind."""
    if not path.endswith(".sources"):
        return [entry for entry in map(parse_line, text.splitlines()) if entry is not None and entry.enabled]
    found = []
    for stanza in paragraphs(text):
        if stanza.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        options = {"signed-by": stanza["signed-by"]} if "signed-by" in stanza else {}
        components = tuple(stanza.get("components", "").split())
        found += [
            Entry(kind, uri, suite, components, options)
            for kind in stanza.get("types", "deb").split()
            for uri in stanza.get("uris", "").split()
            for suite in stanza.get("suites", "").split()
        ]
    return found


def conflicting(node: Node, entry: Entry, own: str) -> list[str]:
    """Files other than ``own`` whose active entries name the same index with another Signed-By: apt refuses to work at all with both."""
    found = []
    for path in source_files(node):
        if os.path.realpath(path) == os.path.realpath(own):
            continue
        for other in entries_of(path, text_of(node, path)):
            if other.same_place(entry) and other.options.get("signed-by") != entry.options.get("signed-by"):
                found.append(path)
                break
    return found


def stanza(fields: Iterable[tuple[str, Any]]) -> str:
    """A stanza of a ``.sources`` file; fields without a value are left out."""
    lines = []
    for name, value in fields:
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if value is not None:
            lines.append(f"{name}: {' '.join(map(str, value)) if isinstance(value, list) else value}")
    return "\n".join(lines) + "\n"


def take_over(node: Node, entry: Entry, own: str) -> list[str]:
    """Take the index that ``entry`` names out of every other file, each saved first beside itself; returns the files."""
    touched = []
    for path in source_files(node):
        if os.path.realpath(path) == os.path.realpath(own):
            continue
        text = text_of(node, path)
        if not any(other.same_place(entry) for other in entries_of(path, text)):
            continue
        touched.append(path)
        _save(node, path)
        rest = _stanzas_without(text, entry) if path.endswith(".sources") else _lines_without(text, entry)
        if path == MAIN or any(line.strip() and not line.startswith("#") for line in rest.splitlines()):
            node.files.write(path, rest)
        else:
            node.files.absent(path)
    return touched


def _save(node: Node, path: str) -> None:
    """A copy under a name that apt passes over in silence, and that is the same in a plan and its apply."""
    number = 1
    while node.files.exists(copy := f"{path}.{number}.save"):
        number += 1
    state = node.files.stat(path)
    node.files.write(copy, node.files.read(path), mode=state.mode if state is not None else None)


def _lines_without(text: str, entry: Entry) -> str:
    kept = []
    for line in text.splitlines(keepends=True):
        other = parse_line(line)
        if other is None or not other.enabled or not other.same_place(entry):
            kept.append(line)
    return "".join(kept)


def _stanzas_without(text: str, entry: Entry) -> str:
    """The stanzas of a ``.sources`` file; one that names other addresses as well keeps these."""
    kept = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        named = [other.uri for other in entries_of(".sources", stanza)]
        if not any(other.same_place(entry) for other in entries_of(".sources", stanza)):
            kept.append(stanza)
            continue
        rest = [uri for uri in dict.fromkeys(named) if not Entry(entry.type, uri, entry.suite, (), {}).same_place(entry)]
        if rest:
            kept.append(re.sub(r"(?im)^uris:(.*\n[ \t]+)*.*$", f"URIs: {' '.join(rest)}", stanza))
    return "\n\n".join(part.strip("\n") for part in kept) + "\n" if kept else ""


def refresh(node: Node, options: dict[str, Any]) -> None:
    """``apt-get update`` after a change of the sources."""
    node.packages.refresh("apt", options)
