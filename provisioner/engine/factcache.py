"""Facts of hosts kept between runs, a JSON file each, in the layout of Ansible's ``jsonfile``: what is gathered, and cacheable facts."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.errors import InputError
from provisioner.events import plain

DAY = 86400.0


@dataclass(frozen=True)
class FactCache:
    """The files of a folder; ``timeout``: seconds after which they no longer count, 0 for never."""

    folder: Path
    prefix: str = ""
    timeout: float = DAY

    def load(self, host: str) -> Mapping[str, Any]:
        """The facts of a host; nothing where none are kept, or they are too old. Raises ``InputError`` for a file that holds no facts."""
        path = self._path(host)
        try:
            if self.timeout and time.time() - path.stat().st_mtime > self.timeout:
                return {}
            facts = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InputError.of(f"the fact cache {path} cannot be read: {error}", help="remove it, or run with --flush-cache") from None
        if not isinstance(facts, dict):
            raise InputError.of(f"the fact cache {path} holds no mapping", help="remove it, or run with --flush-cache")
        return facts

    def save(self, host: str, facts: Mapping[str, Any]) -> None:
        """Keep the facts of a host. Raises ``InputError`` when that cannot be."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".facts.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(plain(facts), file, default=str)
                os.replace(temporary, self._path(host))
            except OSError:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise InputError.of(
                f"facts cannot be kept in {self.folder}: {error.strerror}", help="correct fact_caching_connection"
            ) from None

    def forget(self, host: str) -> None:
        """Drop what is kept of a host."""
        self._path(host).unlink(missing_ok=True)

    def _path(self, host: str) -> Path:
        return self.folder / f"{self.prefix}{host.replace('/', '_')}"
