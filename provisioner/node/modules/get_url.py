"""A file from the web, fetched by the node."""

from __future__ import annotations

import os

from ..attributes import FileAttributes, described, ensure_labels
from ..declare import Module, option
from ..download import WebParams, checked, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class GetUrlParams(FileAttributes, WebParams):
    """Parameters of ``get_url``."""

    url: str = option("Where it comes from: http, https, ftp or file.")
    url_username: str | None = option("User for basic authentication.", None, aliases=("username",))
    dest: str = option("Where it goes; a directory takes the name from the URL.", kind="path")
    force: bool = option(
        "Fetch in any case; without it a file that is there is fetched when its checksum is wrong or the server has a newer one.",
        False,
        aliases=("thirsty",),
    )
    checksum: str = option("ALGORITHM:VALUE, or ALGORITHM:URL of a file of checksums.", "")
    backup: bool = option("Keep a dated copy of what is replaced.", False)
    headers: dict[str, Any] | None = option("Request headers.", None)
    timeout: int = option("Seconds to wait for the server.", 10)
    tmp_dest: str | None = option(
        "Where to keep the download meanwhile; here it is written beside its target in any case.", None, kind="path"
    )


def run(node: Node, p: GetUrlParams) -> dict[str, Any]:
    """Fetch where needed, check, and put in place."""
    dest = _target(node, p)
    state = node.files.stat(dest)
    result: dict[str, Any] = {"url": p.url, "dest": dest}
    if state is not None and not p.force and p.checksum and _is_right(node, p, dest):
        return {**result, "msg": "file already exists", **_as_it_is(node, p, dest)}
    headers = {str(key): str(value) for key, value in (p.headers or {}).items()}
    if state is not None and not p.force and not p.checksum:
        import email.utils

        headers.setdefault("If-Modified-Since", email.utils.formatdate(state.mtime, usegmt=True))
    answer = request(node, p, p.url, headers=headers, timeout=p.timeout)
    if answer.status == 304:
        return {**result, "status_code": 304, "msg": "HTTP Error 304: Not Modified", **_as_it_is(node, p, dest)}
    if answer.status != 200:
        node.fail(f"{p.url} answers {answer.status} {answer.reason}", status_code=answer.status, **result)
    if p.checksum:
        checked(node, answer.body, p.checksum, lambda url: _listed(node, p, url))
    before = _sum(node.files.read(dest)) if state is not None else None
    backup = p.backup and state is not None
    node.files.write(dest, answer.body, mode=p.mode, owner=p.owner, group=p.group, backup=backup, in_place=p.unsafe_writes)
    ensure_labels(node, dest, p)
    result.update(status_code=200, msg=f"OK ({len(answer.body)} bytes)", checksum_src=_sum(answer.body), checksum_dest=before)
    result["md5sum"] = _sum(answer.body, "md5")
    backups = [change.target for change in node.recorder.changes if change.KIND == "write_file" and change.target.endswith("~")]
    if backups:
        result["backup_file"] = backups[0]
    return {**result, **described(node, dest, "dest")}


def _as_it_is(node: Node, p: GetUrlParams, dest: str) -> dict[str, Any]:
    """The content is right; so shall mode, owner and labels be."""
    node.files.attributes(dest, mode=p.mode, owner=p.owner, group=p.group)
    ensure_labels(node, dest, p)
    return described(node, dest, "dest")


def _sum(data: bytes, algorithm: str = "sha1") -> str:
    import hashlib

    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def _target(node: Node, p: GetUrlParams) -> str:
    """The file dest means: inside it, when it is a directory."""
    dest = node.files.expand(p.dest)
    state = node.files.stat(dest)
    if (state is not None and state.kind == "directory") or p.dest.endswith("/"):
        import urllib.parse

        name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(p.url).path)) or "index.html"
        return os.path.join(dest, name)
    return dest


def _is_right(node: Node, p: GetUrlParams, dest: str) -> bool:
    from ..faults import Fail

    try:
        checked(node, node.files.read(dest), p.checksum, lambda url: _listed(node, p, url))
    except Fail as fault:
        if "checksum is" in fault.msg:
            return False
        raise
    return True


def _listed(node: Node, p: GetUrlParams, url: str) -> str:
    """The checksum of our file in a file of ``CHECKSUM  NAME`` lines, or its only word."""
    import urllib.parse

    answer = request(node, p, url, timeout=p.timeout)
    if answer.status != 200:
        node.fail(f"the file of checksums {url} answers {answer.status} {answer.reason}")
    name = os.path.basename(urllib.parse.urlsplit(p.url).path)
    lines = [line.split(None, 1) for line in answer.body.decode("utf-8", "replace").splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) == 1:
        return lines[0][0]
    for words in lines:
        if len(words) == 2 and os.path.basename(words[1].strip().lstrip("*")) == name:
            return words[0]
    node.fail(f"the file of checksums {url} has no entry for {name}")


MODULE = Module(
    name="get_url",
    summary="A file from the web, fetched by the node.",
    params=GetUrlParams,
    run=run,
    resource=(("path", "dest"),),
    examples="- get_url: {url: 'https://example.com/tool.tgz', dest: /opt/tool.tgz, checksum: 'sha256:…', mode: '0644'}\n",
)
