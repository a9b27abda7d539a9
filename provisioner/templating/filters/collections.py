"""Filters about lists and mappings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from jinja2 import filters as jinja
from jinja2 import pass_environment
from jinja2.environment import Environment

from provisioner.templating.natural import describe

_LIST_MERGES = ("replace", "keep", "append", "prepend", "append_rp", "prepend_rp")


def combine(*terms: Any, recursive: bool = False, list_merge: str = "replace", **others: Any) -> dict[Any, Any]:
    """Mappings (or lists of mappings) laid over each other, the last one on top."""
    if others:
        raise TypeError(f"'recursive' and 'list_merge' are the only valid keyword arguments, not '{min(others)}'")
    if list_merge not in _LIST_MERGES:
        raise ValueError(f"list_merge is '{list_merge}'; it can be {', '.join(_LIST_MERGES)}")
    merged: dict[Any, Any] = {}
    for term in flatten(list(terms), levels=1):
        if not isinstance(term, Mapping):
            raise TypeError(f"failed to combine variables, expected dicts but got {describe(term)}")
        merged = _overlaid(merged, term, recursive, list_merge)
    return merged


def _overlaid(below: Mapping[Any, Any], above: Mapping[Any, Any], recursive: bool, list_merge: str) -> dict[Any, Any]:
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = _overlaid(known, value, recursive, list_merge) if recursive else value
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = _merged_lists(known, value, list_merge)
        else:
            merged[key] = value
    return merged


def _merged_lists(below: list[Any], above: list[Any], list_merge: str) -> list[Any]:
    if list_merge == "keep":
        return below
    if list_merge == "append":
        return below + above
    if list_merge == "prepend":
        return above + below
    if list_merge == "append_rp":
        return [item for item in below if item not in above] + above
    if list_merge == "prepend_rp":
        return above + [item for item in below if item not in above]
    return above


def flatten(elements: Any, levels: int | None = None, skip_nulls: bool = True) -> list[Any]:
    """A list without nested lists, down to a number of levels; nulls are left out."""
    flat: list[Any] = []
    for element in elements:
        if skip_nulls and element in (None, "None", "null"):
            continue
        if isinstance(element, (list, tuple)) and (levels is None or levels >= 1):
            flat += flatten(element, None if levels is None else levels - 1, skip_nulls)
        else:
            flat.append(element)
    return flat


def dict2items(mapping: Any, key_name: str = "key", value_name: str = "value") -> list[dict[str, Any]]:
    """A mapping as a list of key and value pairs."""
    if not isinstance(mapping, Mapping):
        raise TypeError(f"dict2items requires a dictionary, got {describe(mapping)}")
    return [{key_name: key, value_name: value} for key, value in mapping.items()]


def items2dict(items: Any, key_name: str = "key", value_name: str = "value") -> dict[Any, Any]:
    """A list of key and value pairs as a mapping."""
    if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
        raise TypeError(f"items2dict requires a list, got {describe(items)}")
    pairs = list(items)
    for pair in pairs:
        if not isinstance(pair, Mapping):
            raise TypeError(f"items2dict requires a list of dictionaries, but one element is {describe(pair)}")
        if key_name not in pair or value_name not in pair:
            keys = f"'{key_name}' and '{value_name}'"
            has = ", ".join(map(str, pair))
            raise KeyError(f"items2dict requires each dictionary in the list to contain the keys {keys}; one has: {has}")
    return {pair[key_name]: pair[value_name] for pair in pairs}


def _plain_sequence(value: Any, name: str) -> list[Any]:
    if isinstance(value, (str, Mapping)) and name != "unique":
        raise TypeError(f"{name} needs lists, not {describe(value)}")
    return list(value)


def _distinct(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in order; quick as long as they can be hashed."""
    seen: set[Hashable] = set()
    slow: list[Any] = []
    kept: list[Any] = []
    for element in elements:
        try:
            if element in seen:
                continue
            seen.add(element)
        except TypeError:
            if element in slow:
                continue
            slow.append(element)
        kept.append(element)
    return kept


def _member(elements: list[Any]) -> Callable[[Any], bool]:
    try:
        known = set(elements)
    except TypeError:
        return lambda element: element in elements

    def member(element: Any) -> bool:
        try:
            return element in known
        except TypeError:
            return element in elements

    return member


@pass_environment
def unique(environment: Environment, elements: Any, case_sensitive: bool | None = None, attribute: Any = None) -> list[Any]:
    """The elements without repetitions; texts are compared without case unless asked otherwise."""
    try:
        return list(jinja.do_unique(environment, elements, case_sensitive=bool(case_sensitive), attribute=attribute))
    except TypeError as error:
        if attribute is not None or case_sensitive is False:
            raise TypeError(
                f"cannot fall back to comparing elements one by one: that knows neither case nor attributes ({error})"
            ) from error
        return _distinct(elements)


def intersect(a: Any, b: Any) -> list[Any]:
    """The elements that both lists have."""
    member = _member(_plain_sequence(b, "intersect"))
    return _distinct(item for item in _plain_sequence(a, "intersect") if member(item))


def difference(a: Any, b: Any) -> list[Any]:
    """The elements of the first list that the second one has not."""
    member = _member(_plain_sequence(b, "difference"))
    return _distinct(item for item in _plain_sequence(a, "difference") if not member(item))


def symmetric_difference(a: Any, b: Any) -> list[Any]:
    """The elements that only one of two lists has."""
    left, right = _plain_sequence(a, "symmetric_difference"), _plain_sequence(b, "symmetric_difference")
    in_left, in_right = _member(left), _member(right)
    return _distinct([*(item for item in left if not in_right(item)), *(item for item in right if not in_left(item))])


def union(a: Any, b: Any) -> list[Any]:
    """The elements of both lists without repetitions."""
    return _distinct([*_plain_sequence(a, "union"), *_plain_sequence(b, "union")])


def zipped(first: Any, *others: Any, strict: bool = False) -> list[tuple[Any, ...]]:
    """Lists element by element; as long as the shortest."""
    return list(zip(first, *others, strict=strict))


def zip_longest(first: Any, *others: Any, fillvalue: Any = None) -> list[tuple[Any, ...]]:
    """Lists element by element; as long as the longest."""
    return list(itertools.zip_longest(first, *others, fillvalue=fillvalue))


def product(first: Any, *others: Any, repeat: int = 1) -> list[tuple[Any, ...]]:
    """All combinations of one element of each list."""
    return list(itertools.product(first, *others, repeat=repeat))


def combinations(elements: Any, set_size: int) -> list[tuple[Any, ...]]:
    """All ways to choose so many elements."""
    return list(itertools.combinations(elements, set_size))


def permutations(elements: Any, list_size: int | None = None) -> list[tuple[Any, ...]]:
    """All orders of so many elements."""
    return list(itertools.permutations(elements, list_size))


@pass_environment
def extract(environment: Environment, item: Any, container: Any, morekeys: Any = None) -> Any:
    """An element of a container, and of what is found there by more keys."""
    more = [] if morekeys is None else morekeys if isinstance(morekeys, list) else [morekeys]
    value = container
    for key in [item, *more]:
        value = environment.getitem(value, key)
    return value


def rekey_on_member(data: Any, key: str, duplicates: str = "error") -> dict[Any, Any]:
    """A mapping of mappings, keyed by one of their members."""
    if duplicates not in ("error", "overwrite"):
        raise ValueError(f"duplicates parameter to rekey_on_member has unknown value '{duplicates}'; it can be error or overwrite")
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise TypeError(f"Type is not a valid list, set, or dict: rekey_on_member got {describe(data)}")
    keyed: dict[Any, Any] = {}
    for item in data.values() if isinstance(data, Mapping) else data:
        if not isinstance(item, Mapping):
            raise TypeError(f"List item is not a valid dict: it is {describe(item)}")
        if key not in item:
            raise KeyError(f"Key {key} was not found in an element (it has: {', '.join(map(str, item))})")
        if duplicates == "error" and item[key] in keyed:
            raise ValueError(f"Value '{item[key]}' is not unique, cannot convert to dict")
        keyed[item[key]] = item
    return keyed


def subelements(obj: Any, subelements: Any, skip_missing: bool = False) -> list[tuple[Any, ...]]:
    """Pairs of each element and each entry of a list inside it; the list is named by a dotted path or a list of keys."""
    if not isinstance(obj, (Mapping, list)):
        raise TypeError(f"obj must be a list of dicts or a nested dict, not {describe(obj)}")
    if not isinstance(subelements, (str, list)):
        raise TypeError(f"subelements must be a list or a string, not {describe(subelements)}")
    path = subelements.split(".") if isinstance(subelements, str) else subelements
    elements = list(obj.values()) if isinstance(obj, Mapping) else obj
    return [(element, entry) for element in elements for entry in _entries(element, path, skip_missing)]


def _entries(element: Any, path: list[str], skip_missing: bool) -> Iterator[Any]:
    found = element
    for key in path:
        if not isinstance(found, Mapping):
            if skip_missing:
                return
            raise TypeError(f"the key of '{key}' should point to a dictionary, but it is {describe(found)}")
        if key not in found:
            if skip_missing:
                return
            raise KeyError(f"could not find '{key}' key in iterated item (it has: {', '.join(map(str, found))})")
        found = found[key]
    if not isinstance(found, list):
        raise TypeError(f"the key '{'.'.join(path)}' should point to a list, but it is {describe(found)}")
    yield from found


FILTERS: dict[str, Callable[..., Any]] = {
    "combinations": combinations,
    "combine": combine,
    "dict2items": dict2items,
    "difference": difference,
    "extract": extract,
    "flatten": flatten,
    "intersect": intersect,
    "items2dict": items2dict,
    "permutations": permutations,
    "product": product,
    "rekey_on_member": rekey_on_member,
    "subelements": subelements,
    "symmetric_difference": symmetric_difference,
    "union": union,
    "unique": unique,
    "zip": zipped,
    "zip_longest": zip_longest,
}

SHALLOW = frozenset({"combine", "dict2items", "extract", "zip"})
