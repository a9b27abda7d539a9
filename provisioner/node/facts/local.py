"""Facts of the node's owner: files in ``/etc/ansible/facts.d``."""

from __future__ import annotations

import os

from .reading import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FAILURE = "Failure executing fact script"


def local(folder: str) -> dict[str, Any]:
    """Each ``NAME.fact`` file, as JSON or INI; an executable one is run and its output read so."""
    found: dict[str, Any] = {}
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".fact"))
    except OSError:
        return {"local": found}
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            found[name[: -len(".fact")]] = f"Could not stat fact ({path}): it leads nowhere"
            continue
        data = _run(path) if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 else text(path)
        found[name[: -len(".fact")]] = data if data.startswith(FAILURE) else _parsed(path, data)
    return {"local": found}


def _run(path: str) -> str:
    from .. import process
    from ..faults import TimedOut

    try:
        result = process.run([path], timeout=30)
    except (OSError, TimedOut) as error:
        return f"{FAILURE} ({path}): {error}"
    return result.out if result.rc == 0 else f"{FAILURE} ({path}), rc: {result.rc}, err: {result.err.strip()}"


def _parsed(path: str, data: str) -> Any:
    import json

    try:
        return json.loads(data)
    except ValueError:
        pass
    import configparser

    parser = configparser.ConfigParser()
    try:
        parser.read_string(data)
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except configparser.Error as error:  # also what %(name)s leads nowhere, which shows when the values are read
        return f"error loading facts as ini, and as JSON ({path}): {error}"
