"""Facts of the node's owner: files in ``/etc/ansible/facts.d``."""

from __future__ import annotations

import os

from .reading import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def local(folder: str) -> dict[str, Any]:
    """Each ``NAME.fact`` file, as JSON or INI; an executable one is run and its output read so."""
    found: dict[str, Any] = {}
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".fact"))
    except OSError:
        return {"local": found}
    for name in names:
        path = os.path.join(folder, name)
        data = _run(path) if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 else text(path)
        found[name[: -len(".fact")]] = _parsed(path, data)
    return {"local": found}


def _run(path: str) -> str:
    from .. import process
    from ..faults import TimedOut

    try:
        result = process.run([path], timeout=30)
    except (OSError, TimedOut) as error:
        return f"error: {path} cannot be run: {error}"
    return result.out if result.rc == 0 else f"error: {path} ended with exit status {result.rc}: {result.err.strip()}"


def _parsed(path: str, data: str) -> Any:
    import json

    try:
        return json.loads(data)
    except ValueError:
        pass
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(data)
    except configparser.Error as error:
        return f"error loading facts as JSON or ini - please check content: {path}: {error}"
    return {section: dict(parser.items(section)) for section in parser.sections()}
