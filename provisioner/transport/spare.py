"""Spares an import what it does not need: a stand-in takes a module's place while something else is imported.

Invoke, below Fabric, imports ``unittest.mock`` at start, for a helper of its users' tests that is then only defined. That brings asyncio
along and is a third of what importing Fabric costs, and so a good part of a run that changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def spared(module: str, *names: str) -> Iterator[None]:
    """Inside, importing ``module`` gives an empty one with classes of these names; a module that is there already stays."""
    if module in sys.modules:
        yield
        return
    stand_in = ModuleType(module)
    for name in names:
        setattr(stand_in, name, type(name, (), {}))
    sys.modules[module] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]
