"""Lookups: functions that read the controller, in tables by topic."""

from __future__ import annotations

from provisioner.templating.guard import with_full_names
from provisioner.templating.lookups import files, loops, names, outside, web
from provisioner.templating.lookups.context import Lookup


def table() -> dict[str, Lookup]:
    """All lookups by name: short names of ``ansible.builtin``, full names of all; those that moved away keep their short name too."""
    builtin = {**loops.LOOKUPS, **names.LOOKUPS, **files.LOOKUPS, **outside.LOOKUPS, **web.LOOKUPS}
    general = {**loops.GENERAL, **files.GENERAL, **outside.GENERAL}
    known = with_full_names(builtin, "ansible.builtin", "ansible.legacy")
    return {**general, **known, **{f"community.general.{name}": function for name, function in general.items()}}
