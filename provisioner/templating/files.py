"""Variables that only template files see."""

from __future__ import annotations

import datetime
import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MANAGED = "Ansible managed"


def template_variables(path: Path, settings: Mapping[str, Any] | None = None, destination: str | None = None) -> dict[str, Any]:
    """``template_path``, ``template_host`` and so on for a template file, and ``ansible_managed``, as data.

    ``path`` is the file that is rendered, ``destination`` where the result goes. Meant for a weak layer: variables of the same name win.
    """
    absolute = path if path.is_absolute() else Path.cwd() / path
    status = absolute.stat()
    try:
        owner: str | int = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = status.st_uid
    variables: dict[str, Any] = {
        "ansible_managed": (settings or {}).get("DEFAULT_MANAGED_STR", MANAGED),
        "template_fullpath": str(absolute),
        "template_host": os.uname().nodename,
        "template_mtime": datetime.datetime.fromtimestamp(status.st_mtime),
        "template_path": str(path),
        "template_run_date": datetime.datetime.now(),
        "template_uid": owner,
    }
    return variables if destination is None else {**variables, "template_destpath": destination}
