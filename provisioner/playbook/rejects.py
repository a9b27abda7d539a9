"""``plugin_filters_cfg``: the list of modules that an operator has ruled out."""

from __future__ import annotations

from pathlib import Path

from provisioner.errors import InputError
from provisioner.playbook.yaml import load

VERSION = "1.0"
KEYS = ("module_rejectlist", "module_blacklist")


def rejected_modules(path: Path) -> list[str]:
    """The names in the file; none where there is no file, as Ansible has it. Raises ``InputError`` for one that cannot be understood."""
    if not path.is_file():
        return []
    document = load(path)
    data = document.data
    if not isinstance(data, dict) or str(data.get("filter_version", "")) != VERSION:
        raise InputError.of(
            "this list of rejected modules cannot be understood", document.span(), help=f"begin with filter_version: {VERSION}"
        )
    names = [name for key in KEYS for name in data.get(key) or ()]
    if not all(isinstance(name, str) for name in names):
        raise InputError.of(f"{KEYS[0]} takes a list of names of modules", document.span(KEYS[0]))
    return names
