"""A folder written from one text: each ``== NAME`` line begins a file; ``#!`` files become executable."""

from __future__ import annotations

import re
from pathlib import Path


def plant(folder: Path, text: str) -> Path:
    """Write the files of a text below a folder."""
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, content = part.partition("\n")
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if content.startswith("#!"):
            path.chmod(0o755)
    return folder
