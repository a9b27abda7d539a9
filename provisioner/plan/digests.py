"""Keyed digests: they tell that something moved, and do not let anybody test a guess at what it was."""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

_PIECE = 1 << 20


def digest_file(path: Path, key: bytes) -> str:
    """HMAC-SHA256 of a file's content, as hex; read in pieces, so that large files need no memory."""
    state = hmac.new(key, digestmod="sha256")
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            state.update(piece)
    return state.hexdigest()


def digest_data(value: Any, key: bytes) -> str:
    """HMAC-SHA256 of plain data, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True)
    return hmac.new(key, text.encode(), "sha256").hexdigest()
