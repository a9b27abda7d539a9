"""Documents as JSON: exactly one on a stream, readable by any parser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from provisioner.report.text import clean_data


def dumps(document: Mapping[str, Any]) -> str:
    """The document as indented ASCII JSON; bytes that were no text stand as ``\\xe9``."""
    return json.dumps(clean_data(dict(document)), indent=2, ensure_ascii=True, default=str)


def write_json(stream: TextIO, document: Mapping[str, Any]) -> None:
    """Write the document and a newline."""
    stream.write(dumps(document) + "\n")
    stream.flush()
