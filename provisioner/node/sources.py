"""apt's sources: entries of ``.list`` and ``.sources`` files, read and written. What apt_repository and deb822_repository share."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        return (self.type, self.uri, self.suite.rstrip("/")) == (other.type, other.uri, other.suite.rstrip("/"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.same_place(other) and self.components == other.components and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.type, self.uri, self.suite))


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


def refresh(node: Node, options: dict[str, Any]) -> None:
    """``apt-get update`` after a change of the sources."""
    node.packages.refresh("apt", options)
