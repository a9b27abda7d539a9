"""The command line, run in a project folder."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from tests.e2e.fleet import PROVISION, ROOT, Said, checked


def provision(folder: Path, *arguments: object, timeout: float = 600) -> Said:
    """Run ``provision ARGUMENTS`` in a folder to its end."""
    begun = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "NO_COLOR": "1"}
    command = [*PROVISION, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    return checked(Said(done.returncode, done.stdout, done.stderr, time.monotonic() - begun))
