"""Fetching from the web, on the node: what get_url, uri and unarchive share."""

from __future__ import annotations

from .content import Content
from .declare import Params, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Node


READING = ("GET", "HEAD", "OPTIONS")
"""Methods that alter nothing on the server."""


class WebParams(Params):
    """Parameters of every module that talks HTTP."""

    validate_certs: bool = option("Check the server's certificate.", True)
    use_proxy: bool = option("Go through the proxy that the environment names.", True)
    http_agent: str = option("What to send as User-Agent.", "ansible-httpget")
    url_username: str | None = option("User for basic authentication.", None)
    url_password: str | None = option("Password for basic authentication.", None, secret=True, aliases=("password",))
    force_basic_auth: bool = option("Send user and password at once, not only when asked.", False)
    client_cert: str | None = option("Client certificate (PEM).", None, kind="path")
    client_key: str | None = option("Its key.", None, kind="path")
    ca_path: str | None = option("Certificates to trust.", None, kind="path")
    use_netrc: bool = option("Take user and password from ~/.netrc.", True)
    ciphers: list[str] | None = option("Ciphers to offer.", None)
    decompress: bool = option("Unpack a gzip-encoded answer.", True)
    unredirected_headers: list[str] = option("Headers not to send on after a redirection.", [])
    use_gssapi: bool = option("Kerberos authentication; needs a library that nodes do not have.", False)


def web(**given: Any) -> WebParams:
    """The parameters of a request that no person wrote."""
    return WebParams(**given)


class Answer:
    """What a server said. ``body`` is read whole; ``status`` is the number, also of failures."""

    def __init__(self, status: int, reason: str, url: str, headers: Any, body: bytes) -> None:
        self.status = status
        self.reason = reason
        self.url = url
        self.headers = headers
        self.body = body


def request(
    node: Node,
    p: WebParams,
    url: str,
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    timeout: float = 30,
    follow: str = "safe",
) -> Answer:
    """One request, redirections followed (``follow``: none, safe, all); fails with the reason when no answer comes.

    A method that may alter something on the server is a change, so its answer is unknown while only planning.
    """
    import urllib.request

    if p.use_gssapi:
        node.fail("use_gssapi needs a Kerberos library, which a node does not have", url=url)
    sent = {"User-Agent": p.http_agent, **(headers or {})}
    _authenticate(p, url, sent)
    asked = urllib.request.Request(url, data=body, method=method)
    for name, value in sent.items():
        if name.lower() in (each.lower() for each in p.unredirected_headers) or name == "Authorization":
            asked.add_unredirected_header(name, value)
        else:
            asked.add_header(name, value)
    handlers: list[Any] = [_redirects(follow)]
    if not p.use_proxy:
        handlers.append(urllib.request.ProxyHandler({}))
    if url.startswith("https"):
        handlers.append(urllib.request.HTTPSHandler(context=_trust(p)))
    opener = urllib.request.build_opener(*handlers)
    if method in READING:
        return _send(node, p, opener, asked, timeout)
    from .changes import Request

    answer: Answer = node.record(
        Request(target=f"{method} {_shown(url)}", after="sent", perform=lambda: _send(node, p, opener, asked, timeout))
    )
    return answer


def _send(node: Node, p: WebParams, opener: Any, asked: Any, timeout: float) -> Answer:
    import urllib.error

    url = asked.full_url
    try:
        with opener.open(asked, timeout=timeout) as reply:
            data = _unpacked(reply.read(), reply.headers, p.decompress)
            return Answer(reply.status or 200, getattr(reply, "msg", "") or "OK", reply.geturl(), reply.headers, data)
    except urllib.error.HTTPError as error:
        data = _unpacked(error.read(), error.headers, p.decompress)
        return Answer(error.code, str(error.reason), error.geturl() or url, error.headers, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        node.fail(f"{_shown(url)} cannot be fetched: {reason}", url=_shown(url), status=-1, elapsed=0)


def _shown(url: str) -> str:
    """The URL without a password in it."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _authenticate(p: WebParams, url: str, headers: dict[str, str]) -> None:
    import base64
    import urllib.parse

    parts = urllib.parse.urlsplit(url)
    user = p.url_username or (urllib.parse.unquote(parts.username) if parts.username else None)
    password = p.url_password or (urllib.parse.unquote(parts.password) if parts.password else "")
    if user is None and p.use_netrc and parts.hostname:
        import netrc
        import os

        try:
            found = netrc.netrc(os.environ.get("NETRC")).authenticators(parts.hostname)
        except (OSError, netrc.NetrcParseError):
            found = None
        if found:
            user, password = found[0], found[2] or ""
    if user is not None:
        token = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
        headers.setdefault("Authorization", f"Basic {token}")


def _trust(p: WebParams) -> Any:
    import ssl

    context = ssl.create_default_context(cafile=p.ca_path)
    if not p.validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if p.ciphers:
        context.set_ciphers(":".join(p.ciphers))
    if p.client_cert:
        context.load_cert_chain(p.client_cert, p.client_key)
    return context


def _redirects(follow: str) -> Any:
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            if follow in ("none", "no", "False"):
                return None
            if follow in ("safe",) and req.get_method() not in ("GET", "HEAD"):
                return None
            again = super().redirect_request(req, fp, code, msg, headers, newurl)
            if again is not None and follow in ("all", "yes", "True") and code in (307, 308):
                again.method, again.data = req.get_method(), req.data
            return again

    return Redirects()


def _unpacked(data: bytes, headers: Any, decompress: bool) -> bytes:
    if decompress and headers is not None and str(headers.get("Content-Encoding", "")).lower() == "gzip":
        import gzip

        return gzip.decompress(data)
    return data


def checked(node: Node, data: bytes, checksum: str, fetch: Any) -> None:
    """Compare data with ``ALGORITHM:VALUE``; the value may be the URL of a file of checksums, which ``fetch(url)`` gets."""
    import hashlib

    algorithm, _, value = checksum.partition(":")
    value = value.strip()
    if algorithm not in hashlib.algorithms_available or not value:
        node.fail(f"checksum must be ALGORITHM:VALUE, such as sha256:0123…, not {checksum!r}")
    if "://" in value:
        value = fetch(value)
    found = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    if found != value.lower():
        node.fail(f"the {algorithm} checksum is {found} and should be {value}: the file is damaged or not the expected one")


def content_at(data: bytes, name: str) -> Content:
    """Fetched bytes as a content."""
    return Content(data, name=name)
