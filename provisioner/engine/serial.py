"""Which hosts a play runs on, in which order, and in which batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from provisioner.diagnostics import Span
from provisioner.errors import InputError


def ordered(hosts: Sequence[str], order: str | None, span: Span | None = None) -> list[str]:
    """The hosts in the order that the keyword ``order`` asks for."""
    if order in (None, "", "inventory"):
        return list(hosts)
    if order == "reverse_inventory":
        return list(reversed(hosts))
    if order == "sorted":
        return sorted(hosts)
    if order == "reverse_sorted":
        return sorted(hosts, reverse=True)
    if order == "shuffle":
        return random.sample(list(hosts), len(hosts))
    raise InputError.of(f"order {order!r} is not known", span, help="use inventory, reverse_inventory, sorted, reverse_sorted or shuffle")


def batches(hosts: Sequence[str], serial: Sequence[Any], span: Span | None = None) -> list[list[str]]:
    """The hosts cut into batches; the last size holds for all further ones, 0 means all that are left."""
    sizes = [_size(raw, len(hosts), span) for raw in serial] or [0]
    found: list[list[str]] = []
    left = list(hosts)
    while left:
        size = sizes[min(len(found), len(sizes) - 1)]
        size = size if size > 0 else len(left)
        found.append(left[:size])
        left = left[size:]
    return found


def _size(raw: Any, total: int, span: Span | None) -> int:
    text = str(raw).strip()
    try:
        if text.endswith("%"):
            return max(1, int(float(text[:-1]) / 100 * total))
        return int(text)
    except ValueError:
        raise InputError.of(f"serial {raw!r} is neither a number of hosts nor a percentage", span, help='write 5 or "30%"') from None
