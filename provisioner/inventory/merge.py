"""Laying definitions of variables over each other, the later ones on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from provisioner.inventory.model import VarsSource


def combine(sources: Iterable[VarsSource], merge_hashes: bool = False) -> dict[str, Any]:
    """One mapping of all sources; with ``merge_hashes`` (``hash_behaviour = merge``) mappings are merged, not replaced."""
    combined: dict[str, Any] = {}
    for source in sources:
        if merge_hashes:
            combined = _merged(combined, source.values)
        else:
            combined.update(source.values)
    return combined


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(lower)
    for name, value in upper.items():
        known = result.get(name)
        result[name] = _merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return result
