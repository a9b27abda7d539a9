"""The lookup ``url``."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from provisioner.templating.lookups.context import Lookup, LookupContext

if TYPE_CHECKING:
    from urllib.request import Request

_DEFAULTS: dict[str, Any] = {
    "split_lines": True, "validate_certs": True, "username": None, "password": None, "headers": {}, "timeout": 10, "use_proxy": True,
    "http_agent": "provision", "force_basic_auth": False, "follow_redirects": "urllib2", "ca_path": None, "force": False,
    "use_netrc": True, "unredirected_headers": [], "ciphers": None,
}  # fmt: skip
_FOLLOWING = {"all": True, "yes": True, "true": True, "safe": True, "urllib2": True, "no": False, "none": False, "false": False}


def url(context: LookupContext, terms: list[Any], **options: Any) -> list[Any]:
    """The text behind URLs, as lines unless ``split_lines`` is false. Options as in Ansible, but for Kerberos and Unix sockets."""
    del context
    unknown = set(options) - set(_DEFAULTS)
    if unknown:
        raise TypeError(f"option '{min(unknown)}' is not supported; known are {', '.join(sorted(_DEFAULTS))}")
    settings: dict[str, Any] = {**_DEFAULTS, **options}
    if str(settings["follow_redirects"]).lower() not in _FOLLOWING:
        raise ValueError(f"follow_redirects is '{settings['follow_redirects']}'; it can be {', '.join(_FOLLOWING)}")
    texts = [_fetched(str(term), settings) for term in terms]
    return [line for text in texts for line in text.splitlines()] if settings["split_lines"] else texts


def _fetched(address: str, settings: dict[str, Any]) -> str:
    from urllib.error import HTTPError, URLError
    from urllib.request import build_opener

    request = _request(address, settings)
    try:
        with build_opener(*_handlers(request, settings)).open(request, timeout=float(settings["timeout"])) as answer:
            return str(answer.read().decode("utf-8", "surrogateescape"))
    except HTTPError as error:
        raise RuntimeError(f"Received HTTP error for {address}: {error}") from error
    except URLError as error:
        raise RuntimeError(f"Failed lookup url for {address}: {error.reason}") from error


def _request(address: str, settings: dict[str, Any]) -> Request:
    from urllib.request import Request

    request = Request(address)
    stays = {str(name).lower() for name in settings["unredirected_headers"]}
    headers = {"User-Agent": settings["http_agent"], **settings["headers"]}
    if settings["force"]:
        headers["Cache-Control"] = "no-cache"
    for name, value in headers.items():
        add = request.add_unredirected_header if str(name).lower() in stays else request.add_header
        add(str(name), str(value))
    return request


def _credentials(host: str, settings: dict[str, Any]) -> tuple[str, str] | None:
    """The user and password given, else those of the netrc file."""
    if settings["username"]:
        return str(settings["username"]), str(settings["password"] or "")
    if not settings["use_netrc"]:
        return None
    import netrc

    try:
        found = netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None  # no file, or one that other programs would refuse, too: the URL may need no password at all
    return (str(found[0]), str(found[2])) if found else None


def _handlers(request: Request, settings: dict[str, Any]) -> list[Any]:
    import ssl
    from urllib import request as library

    context = ssl.create_default_context(cafile=settings["ca_path"])
    if not settings["validate_certs"]:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings["ciphers"]:
        context.set_ciphers(":".join(settings["ciphers"]) if isinstance(settings["ciphers"], list) else str(settings["ciphers"]))
    handlers: list[Any] = [library.HTTPSHandler(context=context)]
    if not settings["use_proxy"]:
        handlers.append(library.ProxyHandler({}))
    if not _FOLLOWING[str(settings["follow_redirects"]).lower()]:
        handlers.append(_no_redirects())
    pair = _credentials(request.host.partition(":")[0], settings)
    if pair is not None and settings["force_basic_auth"]:
        request.add_header("Authorization", f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}")
    elif pair is not None:
        passwords = library.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, request.full_url, *pair)
        handlers += [library.HTTPBasicAuthHandler(passwords), library.HTTPDigestAuthHandler(passwords)]
    return handlers


def _no_redirects() -> Any:
    from urllib.request import HTTPRedirectHandler

    class Refusing(HTTPRedirectHandler):
        def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
            """Answer a redirection with the error it is without following it."""

    return Refusing()


LOOKUPS: dict[str, Lookup] = {"url": url}
