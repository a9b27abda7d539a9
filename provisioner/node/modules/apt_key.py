"""A key that apt trusts for all its sources; deb822_repository ties a key to one source, which is better."""

from __future__ import annotations

from ..declare import Module, Params, exclusive, one_of, option
from ..download import request, web
from ..openpgp import Key, NoKey, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

MAIN = "/etc/apt/trusted.gpg"
FOLDER = "/etc/apt/trusted.gpg.d"


class AptKeyParams(Params):
    """Parameters of ``apt_key``."""

    id: str | None = option("The key's id or fingerprint; a key that is there is then not fetched.", None)
    state: str = option("Whether it shall be trusted.", "present", choices=("absent", "present"))
    data: str | None = option("The key itself.", None)
    file: str | None = option("A file with the key, on the node.", None, kind="path")
    url: str | None = option("Where to fetch the key.", None)
    keyserver: str | None = option("A key server to ask for the id.", None)
    keyring: str | None = option("The keyring file; by default a file of its own in trusted.gpg.d.", None, kind="path")
    validate_certs: bool = option("Check the server's certificate.", True)


def run(node: Node, p: AptKeyParams) -> dict[str, Any]:
    """Look through all trusted keyrings, then add or remove."""
    rings = _rings(node, p)
    before = [key.fingerprint for found in rings.values() for key in found]
    result: dict[str, Any] = {"before": before, "id": p.id, "key_id": p.id, "short_id": None, "fp": None}
    known = [key for found in rings.values() for key in found if p.id is not None and key.matches(p.id)]
    if p.state == "absent":
        wanted = [p.id] if p.id is not None else [key.fingerprint for key in _wanted(node, p)]
        _remove(node, rings, wanted)
        return {**result, "after": [each for each in before if not any(each.endswith(_bare(name)) for name in wanted)]}
    if not known:
        known = _wanted(node, p)
        missing = [key for key in known if key.fingerprint not in before]
        for key in missing:
            _add(node, p, key)
        before = [*before, *(key.fingerprint for key in missing)]
    first = known[0].fingerprint
    return {**result, "after": before, "fp": first, "key_id": first[-16:], "short_id": first[-8:], "id": p.id or first}


def _bare(name: str) -> str:
    return name.upper().replace(" ", "").removeprefix("0X")


def _rings(node: Node, p: AptKeyParams) -> dict[str, list[Key]]:
    """The keyrings that are looked at, with the keys in each."""
    paths = [p.keyring] if p.keyring else [MAIN]
    if not p.keyring and node.files.exists(FOLDER):
        paths += [f"{FOLDER}/{name}" for name in node.files.names(FOLDER) if name.endswith((".gpg", ".asc"))]
    return {path: _keys(node.files.read(path)) for path in paths if node.files.exists(path)}


def _keys(data: bytes) -> list[Key]:
    try:
        return keys(data)
    except NoKey:
        return []


def _wanted(node: Node, p: AptKeyParams) -> list[Key]:
    """The keys of data, file, url or key server; they must hold the id that is asked for."""
    source = p.url or p.file or p.keyserver or "data"
    data = _data(node, p)
    try:
        found = keys(data)
    except NoKey:
        node.fail(f"{source} holds no public key", id=p.id)
    if p.id is not None and not any(key.matches(p.id) for key in found):
        node.fail(f"the key of {source} is {found[0].fingerprint} and not {p.id}: it is not trusted", id=p.id)
    return found


def _data(node: Node, p: AptKeyParams) -> bytes:
    if p.data is not None:
        return p.data.encode()
    if p.file is not None:
        return node.files.read(node.files.expand(p.file))
    url = p.url
    if p.keyserver is not None:
        if p.id is None:
            node.fail("a key server needs the id of the key")
        scheme, mark, rest = p.keyserver.partition("://")
        host = rest if mark else scheme
        place = {"hkps": f"https://{host}", "hkp": f"http://{host}", "http": f"http://{host}"}.get(
            scheme if mark else "", f"https://{host}"
        )
        place += ":11371" if scheme == "hkp" and ":" not in host else ""
        url = f"{place.rstrip('/')}/pks/lookup?op=get&options=mr&search=0x{_bare(p.id)}"
    if url is None:
        node.fail(f"the key {p.id} is not there, and neither url, file, data nor keyserver says where it comes from", id=p.id)
    answer = request(node, web(validate_certs=p.validate_certs), url)
    if answer.status != 200:
        node.fail(f"the key at {url} cannot be fetched: {answer.status} {answer.reason}", id=p.id)
    return answer.body


def _add(node: Node, p: AptKeyParams, key: Key) -> None:
    if p.keyring is None:
        node.files.directory(FOLDER, mode="0755")
        node.files.write(f"{FOLDER}/{key.fingerprint[-16:].lower()}.gpg", key.data, mode="0644")
        return
    there = node.files.exists(p.keyring)
    old = b"".join(each.data for each in _keys(node.files.read(p.keyring))) if there else b""
    node.files.write(p.keyring, old + key.data, mode=None if there else "0644")


def _remove(node: Node, rings: dict[str, list[Key]], wanted: list[str]) -> None:
    """Take the keys out of every keyring; a file that holds nothing else goes."""
    for path, found in rings.items():
        kept = [key for key in found if not any(key.matches(name) for name in wanted)]
        if len(kept) == len(found):
            continue
        if kept or path == MAIN:
            node.files.write(path, b"".join(key.data for key in kept))
        else:
            node.files.absent(path)


MODULE = Module(
    name="apt_key",
    summary="A key that apt trusts for all its sources.",
    params=AptKeyParams,
    run=run,
    rules=(exclusive("data", "file", "keyserver", "url"), one_of("data", "file", "id", "keyserver", "url")),
    notes=(
        "Nothing but files is changed, so neither gnupg nor apt-key is needed; a new key is a file of its own in /etc/apt/trusted.gpg.d.",
        "deb822_repository with signed_by trusts a key for one source only.",
    ),
    examples="- apt_key: {url: 'https://example.com/key.asc', id: 9DC858229FC7DD38854AE2D88D81803C0EBFCD88}\n",
)
