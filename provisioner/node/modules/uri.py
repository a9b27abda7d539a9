"""An HTTP request, and what the server answers."""

from __future__ import annotations

import os

from ..attributes import FileAttributes
from ..declare import Module, option, required_if
from ..download import WebParams, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node


class UriParams(FileAttributes, WebParams):
    """Parameters of ``uri``."""

    url: str = option("The URL.")
    url_username: str | None = option("User for basic authentication.", None, aliases=("user",))
    method: str = option("The method.", "GET")
    body: Any = option("What to send.", None, kind="raw")
    body_format: str = option("How to send it.", "raw", choices=("form-urlencoded", "form-multipart", "json", "raw"))
    headers: dict[str, Any] = option("Request headers.", {})
    status_code: list[int] = option("Answers that are no failure.", [200])
    return_content: bool = option("Return the body as content, whatever its type.", False)
    dest: str | None = option("A file to put the body into.", None, kind="path")
    src: str | None = option("A file on the node to send.", None, kind="path")
    remote_src: bool = option("src is on the node.", False)
    creates: str | None = option("Do nothing when this exists.", None, kind="path")
    removes: str | None = option("Do nothing unless this exists.", None, kind="path")
    follow_redirects: str = option("Which redirections to follow.", "safe", choices=("all", "no", "none", "safe", "urllib2", "yes"))
    timeout: int = option("Seconds to wait for the server.", 30)
    force: bool = option("Tell caches not to answer.", False)
    unix_socket: str | None = option("A socket to talk through; not supported.", None, kind="path")


def run(node: Node, p: UriParams) -> dict[str, Any]:
    """Ask; a body that went to dest is a change, an answer is none."""
    if p.creates and node.files.exists(node.files.expand(p.creates)):
        return {"changed": False, "msg": f"skipped, since '{p.creates}' exists"}
    if p.removes and not node.files.exists(node.files.expand(p.removes)):
        return {"changed": False, "msg": f"skipped, since '{p.removes}' does not exist"}
    if p.unix_socket:
        node.fail("unix_socket is not supported", url=p.url)
    headers = {str(key): str(value) for key, value in p.headers.items()}
    body = _body(node, p, headers)
    if p.force:
        headers["Cache-Control"] = "no-cache"
    started = _now()
    follow = {"yes": "all", "no": "none", "urllib2": "safe"}.get(p.follow_redirects, p.follow_redirects)
    answer = request(node, p, p.url, method=p.method.upper(), headers=headers, body=body, timeout=p.timeout, follow=follow)
    result: dict[str, Any] = {name.lower().replace("-", "_"): value for name, value in (answer.headers or {}).items()}
    result.update(status=answer.status, url=answer.url, redirected=answer.url != p.url, elapsed=int(_now() - started), changed=False)
    result["msg"] = f"{answer.reason} ({len(answer.body)} bytes)"
    text = answer.body.decode(_charset(answer.headers), "surrogateescape")
    kind = str((answer.headers or {}).get("Content-Type", "")).partition(";")[0].strip()
    if kind.endswith(("/json", "+json")):
        import json

        try:
            result["json"] = json.loads(text)
        except ValueError:
            result["content"] = text
    if p.return_content or answer.status not in p.status_code:
        result["content"] = text
    if answer.status not in p.status_code:
        result["msg"] = f"Status code was {answer.status} and not {p.status_code}: {answer.reason}"
        node.fail(**result)
    if p.dest:
        result.update(_store(node, p, answer.body))
    return result


def _now() -> float:
    import time

    return time.monotonic()


def _charset(headers: Any) -> str:
    found = headers.get_content_charset() if headers is not None and hasattr(headers, "get_content_charset") else None
    return found or "utf-8"


def _body(node: Node, p: UriParams, headers: dict[str, str]) -> bytes | None:
    if p.src:
        return node.files.read(node.files.expand(p.src))
    if p.body is None:
        return None
    import json
    import urllib.parse

    kinds = {"json": "application/json", "form-urlencoded": "application/x-www-form-urlencoded"}
    if p.body_format in kinds and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = kinds[p.body_format]
    if p.body_format == "json":
        return (p.body if isinstance(p.body, str) else json.dumps(p.body)).encode()
    if p.body_format == "form-urlencoded":
        return (p.body if isinstance(p.body, str) else urllib.parse.urlencode(p.body, doseq=True)).encode()
    if p.body_format == "form-multipart":
        return _multipart(node, p.body, headers)
    return str(p.body).encode("utf-8", "surrogateescape")


def _multipart(node: Node, fields: Any, headers: dict[str, str]) -> bytes:
    """A form with files: a field is a text, or a mapping with content or filename."""
    import secrets

    if not isinstance(fields, dict):
        node.fail("body_format form-multipart needs a mapping as body")
    boundary = secrets.token_hex(16)
    parts = []
    for name, field in fields.items():
        entry = field if isinstance(field, dict) else {"content": str(field)}
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        data = str(entry.get("content", "")).encode()
        if entry.get("filename"):
            path = str(entry["filename"])
            data = data if entry.get("content") is not None else node.files.read(node.files.expand(path))
            head += f'; filename="{os.path.basename(path)}"'
        head += f"\r\nContent-Type: {entry.get('mime_type', 'application/octet-stream' if entry.get('filename') else 'text/plain')}\r\n\r\n"
        parts.append(head.encode() + data + b"\r\n")
    headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def _store(node: Node, p: UriParams, body: bytes) -> dict[str, Any]:
    dest = node.files.expand(p.dest or "")
    state = node.files.stat(dest)
    if state is not None and state.kind == "directory":
        dest = os.path.join(dest, os.path.basename(p.url.rstrip("/")) or "index.html")
    changed = node.files.write(dest, body, mode=p.mode, owner=p.owner, group=p.group, in_place=p.unsafe_writes)
    return {"path": dest, "changed": changed}


MODULE = Module(
    name="uri",
    summary="An HTTP request, and what the server answers.",
    params=UriParams,
    run=run,
    rules=(required_if("body_format", "form-multipart", "body"),),
    resource=(("path", "dest"),),
    examples="- uri: {url: 'http://localhost:9400/metrics', return_content: true}\n  register: metrics\n",
)
