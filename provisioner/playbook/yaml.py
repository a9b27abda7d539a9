"""YAML files as plain data plus places: YAML 1.1 read the way Ansible reads it, with every number's spelling kept.

``load`` returns a ``Document``: ``data`` holds plain dicts, lists and texts (numbers are ``WrittenInt`` and ``WrittenFloat``, ``!unsafe``
texts are ``UnsafeText``), ``places`` mirrors them. Dates stay texts, spelled as in the file. Duplicate keys (the last one counts, as in
Ansible) and base-60 numbers are warnings. Foreign exceptions end here: what PyYAML raises becomes a ``Diagnostic`` with a likely cause.
"""

from __future__ import annotations

import contextlib
import gc
import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.errors import InputError, ProvisionError
from provisioner.playbook import causes
from provisioner.playbook.places import NO_PLACE, Place, Places, below, key_of, pack, span
from provisioner.values import UnsafeText, WrittenFloat, WrittenInt, map_texts

VAULT_HEADER = "$ANSIBLE_VAULT;"


class Vault(Protocol):
    """Decrypts a vaulted text; raises ``ProvisionError`` (usually ``InputError``) when no key fits."""

    def __call__(self, ciphertext: str, span: Span) -> str: ...


@dataclass(frozen=True)
class Document:
    """A parsed file: plain data, and where each part of it stands."""

    file: str
    data: Any
    places: Place = NO_PLACE
    sealed: bool = False
    """Whether the file was encrypted as a whole."""

    def span(self, *path: Hashable) -> Span:
        """Where the value at this path of keys and indexes stands; the nearest enclosing one when the path leads nowhere."""
        return span(self.file, below(self.places, *path))

    def key_span(self, *path: Hashable) -> Span:
        """Where the key at the end of this path stands."""
        return span(self.file, key_of(below(self.places, *path[:-1]), path[-1]))


def load(
    source: Path | str, file: str = "", vault: Callable[[str, Span], str] | None = None, diagnostics: Diagnostics | None = None
) -> Document:
    """Read a file (``Path``) or a text (``str``, shown as ``file``).

    With ``diagnostics`` all problems are added there and a broken file gives a document whose data is None; without, errors raise
    ``InputError``. A file whose text is a vault is decrypted first.
    """
    found = Diagnostics()
    document = _load(source, file or str(source if isinstance(source, Path) else "<text>"), vault, found)
    if diagnostics is not None:
        for item in found:
            diagnostics.add(item)
    elif found.errors:
        raise InputError(found)
    return document


def _load(source: Path | str, file: str, vault: Callable[[str, Span], str] | None, diagnostics: Diagnostics) -> Document:
    nothing = Document(file, None)
    try:
        text = _read(source) if isinstance(source, Path) else source
        if text.startswith(VAULT_HEADER):
            text = _decrypt(text, Span(file), vault)
            return Document(file, _Builder(file, vault, diagnostics).document(text).data, sealed=True)
        return _Builder(file, vault, diagnostics).document(text)
    except yaml.YAMLError as error:
        diagnostics.add(causes.explain(error, text, file))
    except InputError as error:
        for item in error.diagnostics:
            diagnostics.add(item if item.code else replace(item, code="yaml"))
    except ProvisionError as error:
        diagnostics.add(error.diagnostic())
    except RecursionError:
        diagnostics.error("nested too deeply, or an anchor that contains itself", Span(file), code="yaml-syntax")
    return nothing


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError.of(f"cannot read {path}: {error.strerror or error}", Span(str(path))) from error
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise InputError.of(f"{path} is not UTF-8 text", Span(str(path)), why=why, help="convert it, e.g. with iconv") from error


def _decrypt(text: str, place: Span, vault: Callable[[str, Span], str] | None) -> str:
    if vault is None:
        help_ = "give --vault-password-file or --vault-id"
        raise InputError.of("this is vaulted, and there is no vault password", place, help=help_)
    return vault(text, place)


_LARGE = 100_000


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No cyclic garbage collection inside: building many objects at once triggers it again and again for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _PureComposer(Reader, Scanner, Parser, Composer, Resolver):
    """PyYAML's own parser, for installations without libyaml."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        Resolver.__init__(self)


_STR = "tag:yaml.org,2002:str"
_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_BOOL = "tag:yaml.org,2002:bool"
_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"
_SEQ = "tag:yaml.org,2002:seq"
_MAP = "tag:yaml.org,2002:map"
_WORDS: dict[str, tuple[str, Any]] = {"": (_NULL, None), "~": (_NULL, None), "<<": (_MERGE, "<<")}
for _word, _value in (("true", True), ("yes", True), ("on", True), ("false", False), ("no", False), ("off", False)):
    for _spelling in (_word, _word.capitalize(), _word.upper()):
        _WORDS[_spelling] = (_BOOL, _value)
for _spelling in ("null", "Null", "NULL"):
    _WORDS[_spelling] = (_NULL, None)
_VALUES = {spelling: value for spelling, (_, value) in _WORDS.items()}
_NUMERIC = frozenset("0123456789+-.")


def _resolve(self: Resolver, kind: type[Node], value: Any, implicit: Any) -> str:
    """The tag of a node without one; numbers go to PyYAML's patterns, all else is decided by look-up."""
    if kind is ScalarNode:
        if not implicit[0]:
            return _STR
        known = _WORDS.get(value)
        if known is not None:
            return known[0]
        if value[0] in _NUMERIC:
            return str(Resolver.resolve(self, kind, value, implicit))  # type: ignore[no-untyped-call]
        return _STR
    return _SEQ if kind is SequenceNode else _MAP


class _PureLoader(_PureComposer):
    resolve = _resolve


def _composer() -> type[Any]:
    try:
        from yaml._yaml import CParser
    except ImportError:
        return _PureLoader

    class Fast(CParser, Resolver):
        resolve = _resolve

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Resolver.__init__(self)

        def descend_resolver(self, _node: object, _index: object) -> None:
            """No path resolvers here."""

        def ascend_resolver(self) -> None:
            """No path resolvers here."""

    return Fast


_COMPOSER = _composer()
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]+")
_UNSAFE = "!unsafe"
_VAULTED = ("!vault", "!vault-encrypted")
_OTHER_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("binary", "set", "omap", "pairs", "python/tuple"))


class _Builder:
    """Turns composed nodes into data and places."""

    def __init__(self, file: str, vault: Callable[[str, Span], str] | None, diagnostics: Diagnostics) -> None:
        self._file = file
        self._vault = vault
        self._diagnostics = diagnostics
        self._shared: dict[int, tuple[Any, Place]] | None = None

    def document(self, text: str) -> Document:
        """The single document of a text; JSON is read as JSON, since YAML 1.1 does not contain all of it."""
        stripped = text.lstrip()
        if stripped[:1] in ("{", "[") and not stripped.startswith(("{{", "{%")):
            try:
                return Document(self._file, json.loads(text), NO_PLACE)
            except ValueError:
                pass  # flow style YAML, or an error that the YAML parser explains better
        if "*" in text and "&" in text:
            self._shared = {}
        if len(text) < _LARGE:
            return self._composed(text)
        with uncollected():
            return self._composed(text)

    def _composed(self, text: str) -> Document:
        node = _COMPOSER(text).get_single_node()
        if node is None:
            return Document(self._file, None)
        data, places = self._build(node)
        return Document(self._file, data, places)

    def _build(self, node: Node) -> tuple[Any, Place]:
        if node.tag == _STR:
            mark = node.start_mark
            return node.value, pack(mark.line, mark.column)
        if isinstance(node, ScalarNode):
            mark = node.start_mark
            return self._scalar(node), pack(mark.line, mark.column)
        if self._shared is None:
            return self._collection(node)
        known = self._shared.get(id(node))
        if known is None:
            self._shared[id(node)] = _BUILDING
            known = self._shared[id(node)] = self._collection(node)
        elif known is _BUILDING:
            raise InputError.of("an anchor contains itself", self._at(node), help="break the circle")
        return known

    def _at(self, node: Node) -> Span:
        return Span(self._file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _collection(self, node: Node) -> tuple[Any, Place]:
        data: Any
        places: Place
        if isinstance(node, SequenceNode) and node.tag in (_SEQ, _UNSAFE):
            data, places = self._sequence(node)
        elif isinstance(node, MappingNode) and node.tag in (_MAP, _UNSAFE):
            data, places = self._mapping(node)
        elif node.tag in _OTHER_TAGS:
            mark = node.start_mark
            return SafeConstructor().construct_object(node, deep=True), pack(mark.line, mark.column)
        else:
            raise self._unknown_tag(node)
        if node.tag == _UNSAFE:
            data = map_texts(data, UnsafeText)
        return data, places

    def _sequence(self, node: SequenceNode) -> tuple[list[Any], Places]:
        values: list[Any] = []
        places: list[Place] = []
        build = self._build
        for child in node.value:
            value, place = build(child)
            values.append(value)
            places.append(place)
        mark = node.start_mark
        return values, Places(pack(mark.line, mark.column), {}, places)

    def _mapping(self, node: MappingNode) -> tuple[dict[Any, Any], Places]:
        data: dict[Any, Any] = {}
        keys: dict[Hashable, int] = {}
        items: dict[Hashable, Place] = {}
        build = self._build
        merged: dict[Any, tuple[Any, int, Place]] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _STR:
                key = key_node.value
            elif key_node.tag == _MERGE:
                self._merge(value_node, merged)
                continue
            else:
                key = self._key(key_node)
            mark = key_node.start_mark
            if key in data:
                self._duplicate(key, keys[key], key_node)
            data[key], items[key] = build(value_node)
            keys[key] = pack(mark.line, mark.column)
        if merged:
            data, keys, items = _underlay(merged, data, keys, items)
        mark = node.start_mark
        return data, Places(pack(mark.line, mark.column), keys, items)

    def _key(self, node: Node) -> Hashable:
        if not isinstance(node, ScalarNode):
            if isinstance(node, MappingNode) and node.flow_style:
                outer = Span(self._file, node.start_mark.line + 1, max(node.start_mark.column, 1))
                why = "{{ at the start of a value opens a YAML mapping, not a template"
                raise InputError.of("a value starts with {{ and is not quoted", outer, why=why, help=causes.QUOTE_TEMPLATE)
            raise InputError.of("a list or mapping cannot be a key", self._at(node), help="quote it if it is meant as text")
        key = self._scalar(node)
        return key if isinstance(key, Hashable) else str(key)

    def _duplicate(self, key: Hashable, before: int, node: Node) -> None:
        first = span(self._file, before)
        self._diagnostics.warning(
            f"key {key!r} is given twice: first in line {first.line}, again in line {node.start_mark.line + 1}",
            self._at(node),
            why="the last one counts, the first is lost",
            help="remove or rename one",
            code="duplicate-key",
        )

    def _merge(self, node: Node, merged: dict[Any, tuple[Any, int, Place]]) -> None:
        """Collect what ``<<`` brings; of several the first mapping wins."""
        sources = node.value if isinstance(node, SequenceNode) else [node]
        for source in sources:
            value, place = self._build(source)
            if not isinstance(value, dict) or not isinstance(place, Places):
                raise InputError.of("'<<' takes a mapping or a list of mappings", self._at(source), help="refer to an anchored mapping")
            for key, child in value.items():
                if key not in merged:
                    merged[key] = (child, place.keys.get(key, place.at), place.below(key))

    def _scalar(self, node: Node) -> Any:
        tag, text = node.tag, node.value
        if tag == _STR or tag.endswith((":timestamp", ":value")):
            return text
        if tag == _INT:
            return self._integer(text, node)
        if tag == _FLOAT:
            return self._float(text, node)
        if tag in (_BOOL, _NULL, _MERGE):
            return _VALUES[text] if text in _VALUES else self._standard(node)
        if tag == _UNSAFE:
            return UnsafeText(text)
        if tag in _VAULTED:
            return _decrypt(text, self._at(node), self._vault)
        if tag in _OTHER_TAGS:
            return self._standard(node)
        raise self._unknown_tag(node)

    def _standard(self, node: Node) -> Any:
        return SafeConstructor().construct_object(node, deep=True)

    def _integer(self, text: str, node: Node) -> WrittenInt:
        try:
            value = int(text) if text[0] != "0" and text.isdigit() else int(self._standard(node))
        except ValueError as error:
            raise InputError.of(f"{text!r} is no whole number", self._at(node)) from error
        if ":" in text:
            self._base_60(text, str(value), node)
        return WrittenInt(value, text)

    def _float(self, text: str, node: Node) -> float:
        try:
            value = float(self._standard(node))
        except ValueError as error:
            raise InputError.of(f"{text!r} is no number", self._at(node)) from error
        if ":" in text:
            self._base_60(text, str(value), node)
        return WrittenFloat(value, text) if _DECIMAL.fullmatch(text) else value

    def _base_60(self, text: str, value: str, node: Node) -> None:
        self._diagnostics.warning(
            f"{text} is the base-60 number {value}",
            self._at(node),
            why="YAML 1.1 reads digits with colons as base 60, as in hours and minutes",
            help=f'quote it: "{text}"',
            code="base-60",
        )

    def _unknown_tag(self, node: Node) -> InputError:
        known = (_UNSAFE, *_VAULTED, "!!str", "!!int", "!!float", "!!bool", "!!binary", "!!set")
        shown = str(node.tag).replace("tag:yaml.org,2002:", "!!")
        help_ = did_you_mean(shown, known) or f"known tags: {', '.join(known)}"
        return InputError.of(f"unknown tag {shown}", self._at(node), help=help_)


_BUILDING: tuple[Any, Place] = (None, NO_PLACE)


def _underlay(
    merged: dict[Any, tuple[Any, int, Place]], data: dict[Any, Any], keys: dict[Hashable, int], items: dict[Hashable, Place]
) -> tuple[dict[Any, Any], dict[Hashable, int], dict[Hashable, Place]]:
    """Merged entries first, the mapping's own over them."""
    return (
        {key: child for key, (child, _, _) in merged.items()} | data,
        {key: at for key, (_, at, _) in merged.items()} | keys,
        {key: place for key, (_, _, place) in merged.items()} | items,
    )


def load_all(
    source: str, file: str = "<text>", *, vault: Callable[[str, Span], str] | None = None, diagnostics: Diagnostics | None = None
) -> Sequence[Any]:
    """The data of every document in a text, for ``from_yaml_all`` and the like; raises ``InputError`` on a syntax error."""
    builder = _Builder(file, vault, diagnostics if diagnostics is not None else Diagnostics())
    composer = _COMPOSER(source)
    documents = []
    try:
        while composer.check_node():
            documents.append(builder._build(composer.get_node())[0])
    except yaml.YAMLError as error:
        found = Diagnostics()
        found.add(causes.explain(error, source, file))
        raise InputError(found) from error
    return documents
