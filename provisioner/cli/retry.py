"""The command line that repeats a run on some of its hosts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from provisioner.cli.process import process


def retry_command(hosts: Sequence[str], arguments: Sequence[str] | None = None) -> str:
    """What was typed, with ``--limit`` replaced by these hosts; secrets in it are masked."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    kept: list[str] = []
    skip = False
    for word in typed:
        if skip:
            skip = False
        elif word in ("-l", "--limit"):
            skip = True
        elif not word.startswith("--limit=") and not (word.startswith("-l") and not word.startswith("--") and len(word) > 2):
            kept.append(word)
    return process.secrets.mask(shlex.join(["provision", *kept, "--limit", ",".join(hosts)]))
