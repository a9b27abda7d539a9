"""Files, directories, links: kind, permissions and ownership of a path."""

from __future__ import annotations

import os
import time

from ..attributes import FileAttributes, described, ensure_labels
from ..declare import Module, option, required_if
from ..faults import UnknownReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class Params(FileAttributes):
    """Parameters of ``file``."""

    path: str = option("The path to manage.", aliases=("dest", "name"), kind="path")
    state: str | None = option(
        "What it shall be; by default what it is, or a file if it is nothing yet (which then must exist).",
        None,
        choices=("absent", "directory", "file", "hard", "link", "touch"),
    )
    src: str | None = option("What a link points to.", None)
    recurse: bool = option("Set mode and ownership on everything below a directory, too.", False)
    force: bool = option("Make links though their target is missing or something else is in the way.", False)
    follow: bool = option("Act on what a link points to.", True)
    access_time: str | None = option("preserve, now, or a time in access_time_format.", None)
    access_time_format: str = option("Format of access_time.", "%Y%m%d%H%M.%S")
    modification_time: str | None = option("preserve, now, or a time in modification_time_format.", None)
    modification_time_format: str = option("Format of modification_time.", "%Y%m%d%H%M.%S")


def run(node: Node, p: Params) -> dict[str, Any]:
    """Bring the path to its state."""
    path = node.files.expand(p.path)
    unknown = False
    try:
        now = node.files.lstat(path)
    except UnknownReading:
        now, unknown = None, True
    state = p.state or _default_state(now, p)
    if state == "absent":
        node.files.absent(path)
        return {"path": path, "state": "absent"}
    if state in ("link", "hard"):
        _link(node, p, path, hard=state == "hard")
        return {"dest": path, "src": p.src, **described(node, path, "dest")}
    if state == "directory":
        if p.recurse and now is not None:
            _recurse(node, p, path)
        node.files.directory(path, mode=p.mode, owner=p.owner, group=p.group)
    elif state == "touch":
        _touch(node, p, path)
    else:
        if now is None and not unknown:
            node.fail(
                f"{path} does not exist; state: touch creates an empty file, copy and template make one with content",
                path=path,
                state="absent",
            )
        kind = node.files.known(path) if p.follow else now
        if kind is not None and kind.kind == "directory" and p.state == "file":
            node.fail(f"{path} is a directory, and state: file wants a file", path=path, state="directory")
        node.files.attributes(path, mode=p.mode, owner=p.owner, group=p.group, follow=p.follow)
    _set_times(node, p, path, state)
    ensure_labels(node, path, p)
    key = "dest" if state == "touch" else "path"
    return described(node, node.files.resolve(path) if p.follow and state != "touch" else path, key)


def _default_state(now: Any, p: Params) -> str:
    if p.recurse:
        return "directory"
    if now is None:
        return "file"
    kinds = {"directory": "directory", "link": "link" if p.src else "file"}
    return kinds.get(now.kind, "file")


def _link(node: Node, p: Params, path: str, *, hard: bool) -> None:
    target = p.src
    if target is None:
        state = node.files.lstat(path)
        if state is None or state.kind != "link":
            node.fail("src is needed to make a link", path=path)
        target = state.target
    if hard:
        node.files.hard_link(path, node.files.expand(target), force=p.force)
    else:
        full = target if target.startswith("/") else os.path.join(os.path.dirname(path), target)
        if not p.force and not _may_exist(node, full):
            node.fail(f"{target}, to which {path} shall point, does not exist; force: true makes the link anyway", path=path, src=target)
        node.files.link(path, target, force=p.force)
    if not hard and not p.follow:
        node.files.attributes(path, owner=p.owner, group=p.group, follow=False)
    elif node.files.known(path) is not None:
        node.files.attributes(path, mode=p.mode, owner=p.owner, group=p.group)


def _may_exist(node: Node, path: str) -> bool:
    try:
        return node.files.exists(path)
    except UnknownReading:
        return True


def _recurse(node: Node, p: Params, path: str) -> None:
    for child, state in node.files.walk(path):
        if state.kind == "link":
            # Never through a link: it may lead out of the tree.
            node.files.attributes(child, owner=p.owner, group=p.group, follow=False)
        else:
            node.files.attributes(child, mode=p.mode, owner=p.owner, group=p.group)


def _touch(node: Node, p: Params, path: str) -> None:
    if node.files.stat(path) is None:
        node.files.write(path, b"", mode=p.mode, owner=p.owner, group=p.group)
    else:
        node.files.attributes(path, mode=p.mode, owner=p.owner, group=p.group, follow=p.follow)


def _set_times(node: Node, p: Params, path: str, state: str) -> None:
    default = "now" if state == "touch" else "preserve"
    fresh = any(change.KIND == "write_file" for change in node.recorder.changes)
    atime = _when(node, p.access_time or default, p.access_time_format, fresh and p.access_time is None)
    mtime = _when(node, p.modification_time or default, p.modification_time_format, fresh and p.modification_time is None)
    if atime is not None or mtime is not None:
        node.files.times(node.files.resolve(path), atime=atime, mtime=mtime)


def _when(node: Node, text: str, layout: str, fresh: bool) -> float | None:
    if text == "preserve" or fresh:
        return None
    if text == "now":
        return time.time()
    try:
        return time.mktime(time.strptime(text, layout))
    except ValueError:
        node.fail(f"{text!r} is no time of the form {layout}")


MODULE = Module(
    name="file",
    summary="Files, directories, links: kind, permissions and ownership of a path.",
    params=Params,
    run=run,
    rules=(required_if("state", "hard", "src"),),
    resource=(("path", "path"),),
    examples="""
- name: A directory for the exporter
  file: {path: /var/lib/node_exporter, state: directory, owner: root, group: root, mode: '0755'}
- name: No nouveau configuration left
  file: {path: /etc/modprobe.d/nouveau.conf, state: absent}
""",
)
