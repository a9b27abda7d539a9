"""An apt source as a deb822 file, with its key."""

from __future__ import annotations

from .. import openpgp
from ..declare import Module, option
from ..download import WebParams, request
from ..faults import UnknownReading
from ..sources import FOLDER, Entry, conflicting, stanza, take_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..api import Node

KEYRINGS = "/etc/apt/keyrings"
FIELDS = (
    ("allow_downgrade_to_insecure", "Allow-Downgrade-To-Insecure"),
    ("allow_insecure", "Allow-Insecure"),
    ("allow_weak", "Allow-Weak"),
    ("architectures", "Architectures"),
    ("by_hash", "By-Hash"),
    ("check_date", "Check-Date"),
    ("check_valid_until", "Check-Valid-Until"),
    ("components", "Components"),
    ("date_max_future", "Date-Max-Future"),
    ("enabled", "Enabled"),
    ("exclude", "Exclude"),
    ("include", "Include"),
    ("inrelease_path", "InRelease-Path"),
    ("languages", "Languages"),
    ("name", "X-Repolib-Name"),
    ("pdiffs", "PDiffs"),
    ("signed_by", "Signed-By"),
    ("suites", "Suites"),
    ("targets", "Targets"),
    ("trusted", "Trusted"),
    ("types", "Types"),
    ("uris", "URIs"),
)


class Deb822Params(WebParams):
    """Parameters of ``deb822_repository``."""

    name: str = option("Name of the source and of its file.")
    state: str = option("Whether it shall be there.", "present", choices=("absent", "present"))
    types: list[str] = option("deb, deb-src.", ["deb"])
    uris: list[str] | None = option("Where it is.", None)
    suites: list[str] | None = option("Suites, or a path that ends in /.", None)
    components: list[str] | None = option("Components.", None)
    architectures: list[str] | None = option("Only these architectures.", None)
    signed_by: str | None = option("The key: a file on the node, the armoured key itself, its URL, or a fingerprint.", None)
    signed_by_fingerprint: str | None = option("Fingerprint the key must have; anything else is refused.", None)
    others: str = option("Other files that name the same place: apt would stop.", "fail", choices=("fail", "replace"))
    mode: str = option("Permissions of the file.", "0644", kind="mode")
    enabled: bool | None = option("Whether apt uses it.", None)
    trusted: bool | None = option("Use it without any signature.", None)
    allow_downgrade_to_insecure: bool | None = option("Let a signed source become unsigned.", None)
    allow_insecure: bool | None = option("Use it unsigned.", None)
    allow_weak: bool | None = option("Accept weak digests.", None)
    by_hash: bool | None = option("Fetch indexes by hash.", None)
    check_date: bool | None = option("Check dates of the release file.", None)
    check_valid_until: bool | None = option("Check until when it is valid.", None)
    date_max_future: int | None = option("Seconds a release file may lie in the future.", None)
    exclude: list[str] | None = option("Packages to leave out.", None)
    include: list[str] | None = option("Only these packages.", None)
    inrelease_path: str | None = option("Path of the InRelease file.", None)
    languages: list[str] | None = option("Translations to fetch.", None)
    pdiffs: bool | None = option("Fetch differences of indexes.", None)
    targets: list[str] | None = option("Index targets.", None)
    install_python_debian: bool = option("Has no meaning here: nothing needs to be installed on the node.", False)


def run(node: Node, p: Deb822Params) -> dict[str, Any]:
    """The key first, then the file."""
    slug = _slug(p.name)
    path = f"{FOLDER}/{slug}.sources"
    if p.state == "absent":
        node.files.absent(path)
        for ending in ("asc", "gpg"):
            if not (p.signed_by or "").startswith("/"):
                node.files.absent(f"{KEYRINGS}/{slug}.{ending}")
        return {"repo": None, "dest": path, "key_filename": None}
    if not p.uris or not p.suites:
        node.fail("uris and suites are needed to describe a source")
    if not all(suite.endswith("/") for suite in p.suites) and not p.components:
        node.fail("components are needed, unless every suite is a path that ends in /")
    signed_by, key = _key(node, p, slug)
    replaced = _alone(node, p, signed_by, path)
    text = stanza((name, signed_by if field == "signed_by" else getattr(p, field)) for field, name in FIELDS)
    node.files.directory(FOLDER)
    node.files.write(path, text, mode=p.mode)
    return {"repo": text, "dest": path, "key_filename": key, "replaced": replaced}


def _slug(name: str) -> str:
    return "-".join(part for part in "".join(char if char.isalnum() or char in "._" else "-" for char in name.lower()).split("-") if part)


def _key(node: Node, p: Deb822Params, slug: str) -> tuple[str | None, str | None]:
    """The Signed-By value, and the key file if this source brings one of its own."""
    signed_by = p.signed_by
    if signed_by is None:
        return None, None
    if signed_by.startswith("/"):
        return signed_by, signed_by
    if "://" in signed_by:
        data = _trusted(node, p, slug) or _fetched(node, p, signed_by)
    elif "BEGIN PGP PUBLIC KEY BLOCK" in signed_by:
        data = signed_by.strip().encode() + b"\n"
    else:
        return signed_by, None
    if p.signed_by_fingerprint:
        _check_fingerprint(node, data, p.signed_by_fingerprint)
    path = f"{KEYRINGS}/{slug}.{'asc' if b'-----BEGIN PGP' in data[:4096] else 'gpg'}"
    node.files.directory(KEYRINGS, mode="0755")
    node.files.write(path, data, mode="0644")
    return path, path


def _trusted(node: Node, p: Deb822Params, slug: str) -> bytes | None:
    """The key that is here already, if it has the fingerprint asked for: then there is nothing to fetch."""
    if not p.signed_by_fingerprint:
        return None
    for path in (f"{KEYRINGS}/{slug}.asc", f"{KEYRINGS}/{slug}.gpg"):
        if node.files.known(path) is not None:
            data = node.files.read(path)
            if _bare(p.signed_by_fingerprint) in _fingerprints(data):
                return data
    return None


def _fetched(node: Node, p: Deb822Params, url: str) -> bytes:
    answer = request(node, p, url)
    if answer.status != 200 or not answer.body:
        node.fail(f"the key {url} cannot be fetched: {answer.status} {answer.reason}")
    return answer.body


def _bare(fingerprint: str) -> str:
    return "".join(fingerprint.split()).upper()


def _fingerprints(data: bytes) -> list[str]:
    try:
        return openpgp.fingerprints(data)
    except openpgp.NoKey:
        return []


def _check_fingerprint(node: Node, data: bytes, wanted: str) -> None:
    """Refuse a key that is not the one expected: whoever owns the mirror must not choose the key."""
    found = _fingerprints(data)
    if _bare(wanted) not in found:
        seen = f"has the fingerprint {', '.join(found)}" if found else "is no OpenPGP key"
        node.fail(f"the key {seen}, and should have {_bare(wanted)}: it is not installed")


def _alone(node: Node, p: Deb822Params, signed_by: str | None, path: str) -> list[str]:
    """See to it that no other file names the same source with another key; the files that were changed for it."""
    options = {"signed-by": signed_by} if signed_by else {}
    places = [(kind, uri, suite) for kind in p.types for uri in p.uris or () for suite in p.suites or ()]
    replaced = []
    for kind, uri, suite in places:
        entry = Entry(kind, uri, suite, tuple(p.components or ()), options)
        try:
            if p.others == "replace":
                replaced += take_over(node, entry, path)
            elif others := conflicting(node, entry, path):
                node.fail(
                    f"{', '.join(others)} names {uri} {suite} with another Signed-By, and apt refuses to work with both; "
                    "others: replace takes it out of there"
                )
        except UnknownReading:
            return replaced
    return replaced


MODULE = Module(
    name="deb822_repository",
    summary="An apt source as a deb822 file, with its key.",
    params=Deb822Params,
    run=run,
    examples="""
- deb822_repository:
    name: nvidia-container-toolkit
    uris: https://example.com/libnvidia-container/stable/deb/amd64
    suites: /
    signed_by: /usr/share/keyrings/nvidia-container-toolkit.gpg
""",
)
