"""Playbooks made up on the spot: one task on some hosts, for ``run`` and ``facts``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.diagnostics import Span
from provisioner.playbook.loader import Loader
from provisioner.playbook.model import Play, Playbook
from provisioner.playbook.yaml import load

PLACE = "<command line>"


def one_task(loader: Loader, pattern: str, task: Mapping[str, Any], *, name: str) -> Playbook:
    """A playbook with this task, read like any other, so that all checks apply; problems go to the loader's diagnostics."""
    from provisioner.playbook.places import NO_PLACE
    from provisioner.playbook.scope import Scope

    scope = Scope(PLACE, Path.cwd())
    entries = loader.tasks.entries([dict(task)], NO_PLACE, scope)
    play = Play(hosts=pattern, span=Span(PLACE), name=name, gather_facts=False, tasks=entries, folder=Path.cwd())
    return Playbook(Path(PLACE), (play,))


def arguments_of(text: str) -> Any:
    """``-a``: a mapping in YAML or JSON, else the free form that Ansible has (``src=a dest=b``, or a command line)."""
    if text.lstrip().startswith("{"):
        return load(text, file="-a").data
    return text
