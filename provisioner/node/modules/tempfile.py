"""A temporary file or directory of a new name."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class TempfileParams(Params):
    """Parameters of ``tempfile``."""

    state: str = option("What to make.", "file", choices=("directory", "file"))
    path: str | None = option("Where; the system's folder for it by default.", None, kind="path")
    prefix: str = option("How the name starts.", "ansible.")
    suffix: str = option("How the name ends.", "")


def run(node: Node, p: TempfileParams) -> dict[str, Any]:
    """Choose a name nobody has, and make it."""
    import os
    import secrets

    folder = node.files.expand(p.path) if p.path else os.environ.get("TMPDIR", "/tmp")
    if node.files.stat(folder) is None:
        node.fail(f"the folder {folder} does not exist", path=folder)
    path = os.path.join(folder, f"{p.prefix}{secrets.token_urlsafe(6).replace('-', 'x')}{p.suffix}")
    if p.state == "directory":
        node.files.directory(path, mode="0700")
    else:
        node.files.write(path, b"", mode="0600")
    state = node.files.lstat(path)
    described = (
        {}
        if state is None
        else {"uid": state.uid, "gid": state.gid, "owner": state.owner, "group": state.group, "mode": f"{state.mode:04o}"}
    )
    return {"path": path, "state": p.state, **described}


MODULE = Module(
    name="tempfile",
    summary="A temporary file or directory of a new name.",
    params=TempfileParams,
    run=run,
    resource=(("path", "path"),),
    examples="- tempfile: {state: directory, suffix: build}\n  register: work\n",
)
