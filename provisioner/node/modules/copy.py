"""A file with given content; the controller hands over contents, ``remote_src`` copies on the node."""

from __future__ import annotations

import os

from ..attributes import FileAttributes, described, ensure_labels
from ..content import Content, content_of
from ..declare import Module, exclusive, one_of, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class Params(FileAttributes):
    """Parameters of ``copy``."""

    dest: str = option("Where it goes; a directory (or a path ending in /) takes the source's name.", kind="path")
    src: str | None = option("The file or directory to copy, on the controller unless remote_src.", None)
    content: Any = option("The content itself instead of a source; a mapping or list becomes JSON.", None, kind="content")
    remote_src: bool = option("src is on the node.", False)
    force: bool = option("Replace a file with other content.", True)
    backup: bool = option("Keep a dated copy of what is replaced.", False)
    validate: str = option("A command that must accept the new file (%s) before it takes the place of the old one.", "")
    follow: bool = option("Follow a link at dest.", False)
    local_follow: bool = option("Follow links in a source on the controller; links in one on the node stay links.", True)
    directory_mode: str | None = option("Permissions of directories that a recursive copy makes.", None, kind="mode")
    checksum: str | None = option("SHA-1 the source must have.", None)
    decrypt: bool = option("Decrypt a vaulted source.", True)


def run(node: Node, p: Params) -> dict[str, Any]:
    """Put the content at dest."""
    dest = node.files.expand(p.dest)
    if p.remote_src and p.content is None:
        return _copy_here(node, p, node.files.expand(p.src or ""), dest)
    content = content_of(p.content if p.content is not None else b"")
    name = os.path.basename(p.src or content.name or "")
    dest = _inside(node, dest, p.dest, name)
    return _put(node, p, content, dest, p.mode)


def _inside(node: Node, dest: str, written: str, name: str) -> str:
    """The file dest means: itself, or the source's name inside it when it is a directory."""
    state = node.files.known(dest)
    if state is not None and state.kind == "directory":
        if not name:
            node.fail(f"{dest} is a directory, and content without a name cannot go into it", dest=dest)
        return os.path.join(dest, name)
    if written.endswith("/"):
        node.files.directory(dest)
        return os.path.join(dest, name)
    return dest


def _put(node: Node, p: Params, content: Content, dest: str, mode: str | int | None) -> dict[str, Any]:
    link = node.files.known(dest, follow=False)
    if link is not None and link.kind == "link" and not p.follow:
        # Without follow the link itself gives way to a file.
        target = node.files.stat(dest)
        if target is None or target.kind != "directory":
            node.files.absent(dest)
    known = node.files.lstat(dest) if p.backup else None
    node.files.write(
        dest,
        content,
        mode=mode,
        owner=p.owner,
        group=p.group,
        backup=p.backup and known is not None,
        validate=p.validate,
        in_place=p.unsafe_writes,
        replace=p.force,
    )
    ensure_labels(node, dest, p)
    real = node.files.resolve(dest) if p.follow else dest
    result = described(node, real, "dest")
    result["checksum"], result["md5sum"] = _digests(content)
    backups = [
        change.target for change in node.recorder.changes if change.KIND == "write_file" and change.target != node.files.resolve(dest)
    ]
    if backups:
        result["backup_file"] = backups[0]
    if p.src:
        result["src"] = p.src
    return result


def _digests(content: Content) -> tuple[str | None, str | None]:
    """Ansible's ``checksum`` and ``md5sum``; only computed when the bytes are here anyway, the second where the system allows MD5."""
    if not content.at_hand():
        return None, None
    import hashlib

    data = content.bytes()
    try:
        weak = hashlib.md5(data, usedforsecurity=False).hexdigest()
    except ValueError:
        weak = None
    return hashlib.sha1(data).hexdigest(), weak


def _copy_here(node: Node, p: Params, src: str, dest: str) -> dict[str, Any]:
    state = node.files.stat(src)
    if state is None:
        node.fail(f"the source {src} does not exist on the node", src=src)
    if state.kind == "directory":
        return _copy_tree(node, p, src, dest)
    content = node.files.content(src)
    if p.checksum and _digests(content_of(content.bytes()))[0] != p.checksum:
        node.fail(f"{src} does not have the checksum {p.checksum}", src=src)
    dest = _inside(node, dest, p.dest, os.path.basename(src))
    mode = f"{state.mode:04o}" if p.mode == "preserve" else p.mode
    return _put(node, p, content, dest, mode)


def _copy_tree(node: Node, p: Params, src: str, dest: str) -> dict[str, Any]:
    """A directory: with a trailing slash its content, without it the directory itself."""
    top = dest if (p.src or "").endswith("/") else os.path.join(dest, os.path.basename(src))
    node.files.directory(top, mode=p.directory_mode, owner=p.owner, group=p.group)
    _copy_below(node, p, src, top)
    return {"src": p.src, "checksum": None, "md5sum": None, **described(node, top, "dest")}


def _copy_below(node: Node, p: Params, src: str, top: str) -> None:
    """Everything in a directory; links stay links, wherever they lead."""
    for path, state in node.files.walk(src):
        target = os.path.join(top, os.path.relpath(path, src))
        if state.kind == "directory":
            node.files.directory(target, mode=p.directory_mode, owner=p.owner, group=p.group)
        elif state.kind == "link":
            node.files.link(target, state.target, force=True)
        elif state.kind == "file":
            mode = f"{state.mode:04o}" if p.mode in ("preserve", None) else p.mode
            node.files.write(target, node.files.content(path), mode=mode, owner=p.owner, group=p.group, backup=p.backup, replace=p.force)


MODULE = Module(
    name="copy",
    summary="A file with given content, from the controller or from the node itself.",
    params=Params,
    run=run,
    rules=(exclusive("src", "content"), one_of("src", "content")),
    resource=(("path", "dest"),),
    examples="""
- name: nouveau stays out
  copy:
    dest: /etc/modprobe.d/blacklist-nouveau.conf
    content: |
      blacklist nouveau
      options nouveau modeset=0
    mode: '0644'
""",
)
