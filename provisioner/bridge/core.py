"""The ansible-core that is installed beside us, or that a setting names: where it is and what it holds. It is never imported here."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INSTALL = "pip install 'provisioner[ansible]'"
_VERSION = re.compile(r"^__version__ = ['\"]([^'\"]+)['\"]", re.MULTILINE)


@dataclass(frozen=True)
class Core:
    """An installation. ``folder`` is the package ``ansible``; ``collections`` are folders beside it that hold ``ansible_collections``."""

    folder: Path
    version: str

    @property
    def modules(self) -> Path:
        """Its own modules, those of ``ansible.builtin``."""
        return self.folder / "modules"

    @property
    def module_utils(self) -> Path:
        """What modules import as ``ansible.module_utils``."""
        return self.folder / "module_utils"

    @property
    def routing(self) -> Path:
        """Where names that left ansible-core have gone."""
        return self.folder / "config" / "ansible_builtin_runtime.yml"

    @property
    def collections(self) -> tuple[Path, ...]:
        """The folder of the collections that the package ``ansible`` brings, if it is installed there."""
        beside = self.folder.parent
        return (beside,) if (beside / "ansible_collections").is_dir() else ()


def find_core(named: str | None = None) -> Core | None:
    """The installation at ``named`` (a virtual environment, a folder of packages, or the package itself), else the one beside us."""
    for folder in _candidates(named):
        release = folder / "release.py"
        found = _VERSION.search(release.read_text("utf-8")) if release.is_file() else None
        if found is not None and (folder / "module_utils" / "basic.py").is_file():
            return Core(folder, found[1])
    return None


def _candidates(named: str | None) -> Iterator[Path]:
    if named is not None:
        base = Path(named)
        yield from (base, base / "ansible", *sorted(base.glob("lib/python3*/site-packages/ansible")))
        return
    spec = importlib.util.find_spec("ansible")
    if spec is not None:
        yield from map(Path, spec.submodule_search_locations or ())
