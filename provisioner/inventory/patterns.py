"""Host patterns: ``web:&prod:!web3``, wildcards, ``~regex``, ``[0]`` and ``[1:3]``, and ``@file`` in limits.

``select`` finds hosts as Ansible does. ``check`` finds what Ansible lets pass: names that are neither a host nor a group.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from provisioner.diagnostics import Diagnostics, Span, did_you_mean
from provisioner.errors import InputError, UsageError
from provisioner.inventory.addresses import HostPatternError, expand_ranges, is_address, split_port

if TYPE_CHECKING:
    from provisioner.inventory.model import Inventory

Mismatch = Literal["error", "warning", "ignore"]

_PARTS = re.compile(r"(?:[^\s:\[\]]|\[[^\]]*\])+")
_SUBSCRIPT = re.compile(r"(?P<base>.+)\[(?:(?P<index>-?[0-9]+)|(?P<first>[0-9]+)[:-](?P<last>[0-9]*))\]")
_GLOB = frozenset("*?[")
_ALSO_HOSTS = frozenset(".*?[")
_NAMED = 8
_SHORT = 3


class Term(NamedTuple):
    """One part of a pattern: ``operator`` is "", "&" or "!", ``text`` the rest as written."""

    operator: str
    text: str


def split(pattern: str | Iterable[Any]) -> list[str]:
    """A pattern's parts: split at commas, else at colons, unless the whole is one address with colons in it."""
    if not isinstance(pattern, str):
        return [part for entry in pattern for part in split(str(entry))]
    if "," in pattern:
        parts = pattern.split(",")
    elif _is_one_address(pattern):
        parts = [pattern]
    else:
        parts = _PARTS.findall(pattern)
    return [part.strip() for part in parts if part.strip()]


def limit_parts(limit: str | Iterable[str]) -> list[str]:
    """The parts of a limit, ``@file`` replaced by the lines of that file. Raises ``UsageError`` when it cannot be read."""
    parts: list[str] = []
    for part in split(limit):
        if part.startswith("@"):
            parts += _read_limit(part[1:])
        else:
            parts.append(part)
    return parts


def select(inventory: Inventory, pattern: str | Iterable[str], limit: str | Iterable[str] | None = None) -> list[str]:
    """Names of the hosts that a pattern, and a limit if any, selects."""
    chosen = _evaluate(inventory, split(pattern))
    if limit is not None:
        allowed = set(_evaluate(inventory, limit_parts(limit)))
        chosen = [name for name in chosen if name in allowed]
    return chosen


def check(inventory: Inventory, pattern: str | Iterable[str], span: Span | None, *, option: str, mismatch: Mismatch) -> Diagnostics:
    """Problems of a pattern against an inventory."""
    found = Diagnostics()
    where = f"{option}: " if option else ""
    for part in limit_parts(pattern) if option else split(pattern):
        term = _term(part)
        try:
            known = _is_known(inventory, term.text)
        except InputError as error:
            found.error(where + error.diagnostics.errors[0].message, span, why=error.diagnostics.errors[0].why)
            continue
        name, window = _subscript(term.text)
        if known and window is not None and term.text not in inventory.hosts:
            count = len(_named(inventory, name))
            if count and not _one(inventory, term.text):
                found.error(
                    f"{where}{term.text!r} selects nobody: {name!r} has {count} host{'s' if count > 1 else ''}", span, help="count from 0"
                )
        if known or mismatch == "ignore":
            continue
        message = f"{where}no host or group is called {name!r}" if _is_plain(name) else f"{where}{name!r} matches no host or group"
        add = found.warning if mismatch == "warning" or not _is_plain(name) else found.error
        add(message, span, help=_nearest(inventory, name), code="unknown-host")
    return found


def _is_one_address(pattern: str) -> bool:
    if ":" not in pattern:
        return not any(mark in pattern for mark in " \t")
    if pattern[0] in "!&~":
        return False
    name, port = split_port(pattern)
    return port is not None or is_address(name)


def _read_limit(name: str) -> Iterator[str]:
    path = Path(name).expanduser()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read the limit file {name}", why=str(why), help="name a file with one host or pattern a line") from error
    for line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            yield from split(text)


def _term(part: str) -> Term:
    return Term(part[0], part[1:]) if part[0] in "!&" else Term("", part)


def _evaluate(inventory: Inventory, parts: Sequence[str]) -> list[str]:
    """Unions first, then intersections, then exclusions, whatever their order; without any union everything is in."""
    terms = [_term(part) for part in parts]
    unions = [term for term in terms if not term.operator]
    if not unions and terms:
        unions = [Term("", "all")]
    chosen: dict[str, None] = {}
    for term in unions:
        chosen.update(dict.fromkeys(_one(inventory, term.text)))
    for operator, keep in (("&", True), ("!", False)):
        for term in terms:
            if term.operator == operator:
                named = set(_one(inventory, term.text))
                chosen = {name: None for name in chosen if (name in named) is keep}
    return list(chosen)


def _one(inventory: Inventory, text: str) -> list[str]:
    """Hosts of one term without operator."""
    if text in inventory.hosts:
        return [text]
    base, window = _subscript(text)
    names = _named(inventory, base)
    if window is None:
        return names
    if isinstance(window, int):
        return [names[window]] if -len(names) <= window < len(names) else []
    return names[window]


def _subscript(text: str) -> tuple[str, int | slice | None]:
    """``web[0]`` and ``web[1:3]`` (both ends count) as name and index or slice; ``web[0-9]`` is one too, as in Ansible."""
    found = None if text.startswith("~") else _SUBSCRIPT.fullmatch(text)
    if found is None:
        return text, None
    if found["index"] is not None:
        return found["base"], int(found["index"])
    return found["base"], slice(int(found["first"]), int(found["last"]) + 1 if found["last"] else None)


def _named(inventory: Inventory, text: str) -> list[str]:
    """Hosts of all matching groups, and matching hosts when no group matches or the text has wildcards."""
    groups = _matching(inventory.groups, text)
    names = dict.fromkeys(name for group in groups for name in inventory.group_hosts(group))
    if not groups or text.startswith("~") or any(mark in text for mark in _ALSO_HOSTS):
        names.update(dict.fromkeys(_matching(inventory.hosts, text)))
    if not names:
        local = inventory.host(text)
        if local is not None:
            return [local.name]
    return list(names)


def _matching(names: Iterable[str], text: str) -> list[str]:
    if text.startswith("~"):
        try:
            matches = re.compile(text[1:]).match
        except re.error as error:
            raise InputError.of(f"host pattern {text!r} is not a regular expression", why=str(error)) from None
    elif _is_plain(text):
        return [text] if text in names else []
    else:
        matches = re.compile(fnmatch.translate(text)).match
    return [name for name in names if matches(name)]


def _is_plain(text: str) -> bool:
    return not text.startswith("~") and not any(mark in text for mark in _GLOB)


def _is_known(inventory: Inventory, text: str) -> bool:
    base, _ = _subscript(text)
    if text in inventory.hosts or base in inventory.groups or base in inventory.hosts or base == "all":
        return True
    return bool(_matching(inventory.groups, base) or _named(inventory, base))


def _nearest(inventory: Inventory, name: str) -> str:
    """What the person may have meant, else what there is."""
    known = (*inventory.groups, *inventory.hosts)
    near = did_you_mean(name, known)
    if not near and len(name) <= _SHORT:  # in a short name one letter is much of it
        near = _did_you_mean_short(name, known)
    if near:
        return near
    try:
        ranged = list(expand_ranges(name))
    except HostPatternError:
        ranged = []
    if len(ranged) > 1 and any(host in inventory.hosts for host in ranged):
        return f"ranges belong into inventories; in a pattern write {name.partition('[')[0] + '*'!r} or the names themselves"
    groups = [group for group in inventory.groups if group not in ("all", "ungrouped")]
    if not groups:
        return "the inventory has no groups; list its hosts with 'provision inventory INVENTORY --graph'"
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return f"the groups are {', '.join(sorted(groups)[:_NAMED])}{more}"


def _did_you_mean_short(name: str, known: Iterable[str]) -> str:
    near = [other for other in known if len(other) == len(name) and sum(map(str.__ne__, name, other)) == 1]
    return f"did you mean {' or '.join(repr(other) for other in near[:3])}?" if near else ""
