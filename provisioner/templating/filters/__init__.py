"""Filters: pure functions in tables, by topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from provisioner.templating.filters import addresses, basics, codecs, collections, general, numbers, passwords, paths, structures, texts
from provisioner.templating.guard import guard, guard_all, with_full_names
from provisioner.templating.natural import plain


def table() -> dict[str, Callable[..., Any]]:
    """All filters by name: short names of ``ansible.builtin``, and full names of all collections."""
    builtin: dict[str, Callable[..., Any]] = {**basics.UNGUARDED, **codecs.UNGUARDED}
    for module in (collections, texts, paths, numbers, codecs, passwords):
        builtin.update(guard_all("filter", module.FILTERS, getattr(module, "SHALLOW", frozenset())))
    builtin.update(guard_all("filter", basics.FILTERS, basics.SHALLOW))
    known = with_full_names(builtin, "ansible.builtin", "ansible.legacy")
    known["ansible._protomatter.finalize"] = guard("filter", "finalize", plain)
    for module in (general, structures, addresses):
        for collection, functions in module.COLLECTIONS.items():
            known.update({f"{collection}.{name}": guard("filter", name, function) for name, function in functions.items()})
    for name, function in {**addresses.SHORT, **general.SHORT}.items():
        known.setdefault(name, guard("filter", name, function))
    return known


def guarded(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Filters of a plugin file, guarded."""
    return guard_all("filter", functions)
