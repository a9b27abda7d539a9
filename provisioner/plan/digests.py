"""Keyed digests: they tell that something moved, and do not let anybody test a guess at what it was."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
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


def keyed_step(step: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """A step in which the digests of contents are keyed, so that a short secret in a file cannot be guessed from its digest."""
    changes = [{**change, **{side: _keyed(change.get(side), key) for side in ("before", "after")}} for change in step.get("changes", ())]
    return {**step, "changes": changes}


def _keyed(value: Any, key: bytes) -> Any:
    if not isinstance(value, Mapping):
        return value
    known = value.get("sha256")
    return {**value, "sha256": hmac.new(key, known.encode(), "sha256").hexdigest()} if isinstance(known, str) else value


def digest_data(value: Any, key: bytes) -> str:
    """HMAC-SHA256 of plain data, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True)
    return hmac.new(key, text.encode(), "sha256").hexdigest()
