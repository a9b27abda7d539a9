"""Tests (``x is NAME``): pure functions in a table."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from jinja2 import tests as jinja
from jinja2.runtime import Undefined

from provisioner.templating.addresses import TESTS as ADDRESS_TESTS
from provisioner.templating.filters.basics import boolean
from provisioner.templating.guard import guard, guard_all, with_full_names
from provisioner.templating.missing import Missing
from provisioner.templating.natural import DecryptedText, describe, text_of
from provisioner.templating.versions import compare

_JINJA: dict[str, Any] = dict(jinja.TESTS)


def defined(value: Any) -> bool:
    """Whether a value exists; one that is not known yet does."""
    if isinstance(value, Missing):
        value.check()
    return not isinstance(value, Undefined)


def undefined(value: Any) -> bool:
    """Whether a value does not exist."""
    return not defined(value)


def _result(value: Any, test: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"the '{test}' test needs the registered result of a step, not {describe(value)}")
    return value


def failed(value: Any) -> bool:
    """Whether a step failed."""
    return bool(_result(value, "failed").get("failed", False))


def succeeded(value: Any) -> bool:
    """Whether a step did not fail."""
    return not failed(value)


def unreachable(value: Any) -> bool:
    """Whether the host of a step could not be reached."""
    return bool(_result(value, "unreachable").get("unreachable", False))


def reachable(value: Any) -> bool:
    """Whether the host of a step could be reached."""
    return not unreachable(value)


def changed(value: Any) -> bool:
    """Whether a step, or one item of it, changed something."""
    result = _result(value, "changed")
    if "changed" in result:
        return bool(result["changed"])
    items = result.get("results")
    return isinstance(items, list) and any(bool(item.get("changed", False)) for item in items if isinstance(item, Mapping))


def skipped(value: Any) -> bool:
    """Whether a step was skipped."""
    return bool(_result(value, "skipped").get("skipped", False))


def timed_out(value: Any) -> bool:
    """Whether a step ran into its time limit."""
    limit = _result(value, "timedout").get("timedout", False)
    return bool(limit.get("period", False)) if isinstance(limit, Mapping) else bool(limit)


def started(value: Any) -> bool:
    """Whether an asynchronous step has started; a synchronous one has."""
    return bool(_result(value, "started").get("started", True))


def finished(value: Any) -> bool:
    """Whether an asynchronous step has ended; a synchronous one has."""
    return bool(_result(value, "finished").get("finished", True))


def regex(value: Any = "", pattern: str = "", ignorecase: bool = False, multiline: bool = False, match_type: str = "search") -> bool:
    """Whether a text matches a regular expression somewhere; ``match_type`` search, match or fullmatch."""
    flags = (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)
    if match_type not in ("search", "match", "fullmatch"):
        raise ValueError(f"match_type is '{match_type}'; it can be search, match or fullmatch")
    found: re.Match[str] | None = getattr(re.compile(str(pattern), flags), match_type)(text_of(value))
    return found is not None


def match(value: Any, pattern: str = "", ignorecase: bool = False, multiline: bool = False) -> bool:
    """Whether a text matches from its beginning."""
    return regex(value, pattern, ignorecase, multiline, "match")


def search(value: Any, pattern: str = "", ignorecase: bool = False, multiline: bool = False) -> bool:
    """Whether a text matches somewhere."""
    return regex(value, pattern, ignorecase, multiline)


def truthy(value: Any, convert_bool: bool = False) -> bool:
    """Whether a value counts as true; ``convert_bool`` reads words such as ``no`` and ``off``."""
    if convert_bool and isinstance(value, (str, int, float)):
        text = str(value).strip().lower()
        if text in ("no", "off", "false", "0", "n", "f", "0.0"):
            return False
        return boolean(value) or bool(value)
    return bool(value)


def falsy(value: Any, convert_bool: bool = False) -> bool:
    """Whether a value counts as false."""
    return not truthy(value, convert_bool)


def subset(a: Any, b: Any) -> bool:
    """Whether all elements of the first list are in the second."""
    return all(item in b for item in a)


def superset(a: Any, b: Any) -> bool:
    """Whether the first list has all elements of the second."""
    return subset(b, a)


def contains(container: Any, value: Any) -> bool:
    """Whether a list has an element, a mapping a key or a text a part."""
    return value in container


def is_nan(value: Any) -> bool:
    """Whether a value is "not a number"."""
    try:
        return math.isnan(value)
    except TypeError:
        return False


def uri(value: Any, schemes: list[str] | None = None) -> bool:
    """Whether a text can be read as a URI (of certain schemes); a path alone can."""
    try:
        parts = urlsplit(text_of(value))
    except ValueError:
        return False
    return not schemes or parts.scheme.lower() in [name.lower() for name in schemes]


def url(value: Any, schemes: list[str] | None = None) -> bool:
    """Whether a text is a URL: a URI with a scheme and a host, or of a file."""
    if not uri(value, schemes):
        return False
    parts = urlsplit(text_of(value))
    return bool(parts.scheme) and (bool(parts.netloc) or parts.scheme == "file")


def urn(value: Any) -> bool:
    """Whether a text is a URN."""
    return uri(value, ["urn"])


def vault_encrypted(value: Any) -> bool:
    """Whether a value is vaulted in the file it comes from; the text of an envelope is not."""
    return isinstance(value, DecryptedText) or (isinstance(value, Missing) and value.ciphertext is not None)


def vaulted_file(path: Any) -> bool:
    """Whether a file on the controller is an Ansible vault."""
    with open(text_of(path), "rb") as file:
        return file.read(15).startswith(b"$ANSIBLE_VAULT;")


_RESULTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("failed", "failure"), failed),
    **dict.fromkeys(("succeeded", "success", "successful"), succeeded),
    **dict.fromkeys(("changed", "change"), changed),
    **dict.fromkeys(("skipped", "skip"), skipped),
    "finished": finished,
    "reachable": reachable,
    "started": started,
    "timedout": timed_out,
    "unreachable": unreachable,
}

_PATHS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("abs", "is_abs"), os.path.isabs),
    **dict.fromkeys(("directory", "is_dir"), os.path.isdir),
    **dict.fromkeys(("file", "is_file"), os.path.isfile),
    **dict.fromkeys(("link", "is_link"), os.path.islink),
    **dict.fromkeys(("mount", "is_mount"), os.path.ismount),
    **dict.fromkeys(("same_file", "is_same_file"), os.path.samefile),
    "exists": os.path.exists,
    "link_exists": os.path.lexists,
}

_OUTSIDE = ("boolean", "callable", "false", "float", "integer", "iterable", "mapping", "none", "number", "sequence", "string", "true")
"""Jinja's tests that look at a value from outside only, so that what is in it need not be known."""

_SHALLOW: dict[str, Callable[..., Any]] = {
    **{name: _JINJA[name] for name in _OUTSIDE},
    **_RESULTS,
    "falsy": falsy,
    "truthy": truthy,
}

_DEEP: dict[str, Callable[..., Any]] = {
    **{name: test for name, test in _JINJA.items() if name not in _OUTSIDE and name not in ("defined", "undefined", "filter", "test")},
    **_PATHS,
    "all": lambda value: all(value),
    "any": lambda value: any(value),
    "contains": contains,
    "match": match,
    "regex": regex,
    "search": search,
    **dict.fromkeys(("isnan", "nan"), is_nan),
    **dict.fromkeys(("issubset", "subset"), subset),
    **dict.fromkeys(("issuperset", "superset"), superset),
    **dict.fromkeys(("version", "version_compare"), compare),
    "uri": uri,
    "url": url,
    "urn": urn,
    "vaulted_file": vaulted_file,
}

_UNGUARDED: dict[str, Callable[..., Any]] = {
    "vault_encrypted": vault_encrypted,
    "defined": defined,
    "undefined": undefined,
    "filter": _JINJA["filter"],
    "test": _JINJA["test"],
}


def table() -> dict[str, Callable[..., Any]]:
    """All tests by name: short names of ``ansible.builtin``, and full names of all collections."""
    builtin = {**guard_all("test", _DEEP), **guard_all("test", _SHALLOW, frozenset(_SHALLOW)), **_UNGUARDED}
    known = with_full_names(builtin, "ansible.builtin", "ansible.legacy")
    for name, function in ADDRESS_TESTS.items():
        known[f"ansible.utils.{name}"] = guard("test", name, function)
    return known


def guarded(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Tests of a plugin file, guarded."""
    return guard_all("test", functions)
