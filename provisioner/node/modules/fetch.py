"""The node's part of fetch: a file's content goes to the controller."""

from __future__ import annotations

from ..declare import Module, Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..api import Node


class FetchParams(Params):
    """Parameters of ``fetch``."""

    src: str = option("The file on the node.", kind="path")
    dest: str = option("Where it goes on the controller.", "")
    flat: bool = option("dest is the file itself, not a folder for host/path.", False)
    fail_on_missing: bool = option("A missing file is a failure.", True)
    validate_checksum: bool = option("Compare checksums afterwards.", True)
    known: str = option("SHA-256 of what the controller already has; the same content is not sent again.", "")


def run(node: Node, p: FetchParams) -> dict[str, Any]:
    """Send the content, unless the controller has it."""
    path = node.files.expand(p.src)
    state = node.files.stat(path)
    if state is None:
        if p.fail_on_missing:
            node.fail(f"the remote file {path} does not exist, not transferring", file=path)
        return {"msg": "the remote file does not exist, not transferring, ignored", "file": path, "missing": True, "changed": False}
    if state.kind == "directory":
        node.fail(f"remote file is a directory, fetch cannot work on directories: {path}", file=path)
    content = node.files.content(path)
    if content.digest != p.known and node.context.send is not None:
        node.context.send(_pieces(content.bytes()))
    return {"src": path, "file": path, "sha256": content.digest, "size": content.size, "sent": content.digest != p.known}


def _pieces(data: bytes) -> Iterator[bytes]:
    from ..wire import PIECE

    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]


MODULE = Module(
    name="fetch",
    summary="A file from the node to the controller.",
    params=FetchParams,
    run=run,
    lenient=True,
    reads_only=True,
    examples="- fetch: {src: /var/log/nvidia-installer.log, dest: logs/}\n",
)
