"""provision: declarative playbooks turn bare Linux servers into production NVIDIA GPU nodes.

    from provisioner import load

    session = load("inventory/prod.yml")
    outcome = session.plan(limit="gpu01")
    print(outcome.document["stats"])

What stands in ``__all__`` is public; each name is imported when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.engine.options import Options
    from provisioner.engine.run import Outcome, Run
    from provisioner.errors import InputError, ProvisionError
    from provisioner.events import Record
    from provisioner.project.session import Session, load

__all__ = ["InputError", "Options", "Outcome", "ProvisionError", "Record", "Run", "Session", "__version__", "load"]

_HOMES = {
    "InputError": "errors",
    "Options": "engine.options",
    "Outcome": "engine.run",
    "ProvisionError": "errors",
    "Record": "events",
    "Run": "engine.run",
    "Session": "project.session",
    "load": "project.session",
}


def __getattr__(name: str) -> Any:
    import importlib

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
