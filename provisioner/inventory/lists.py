"""Inventories without a file: ``web1,web2:2222,db[1:3]``, hosts between commas."""

from __future__ import annotations

from provisioner.inventory.addresses import HostPatternError, expand
from provisioner.inventory.draft import Draft, Refusal, Source
from provisioner.inventory.model import UNGROUPED


def parse(source: Source, draft: Draft) -> None:
    """Read hosts between commas; one alone ends with a comma. Ranges are expanded. Raises ``Refusal``."""
    for entry in source.name.split(","):
        if not entry.strip():
            continue
        try:
            names, port = expand(entry)
        except HostPatternError as error:
            raise Refusal(str(error)) from None
        for name in names:
            draft.host(name, UNGROUPED, port=port)
