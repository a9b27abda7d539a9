"""What a lab node takes over from this machine: where its packages come from and how to reach them.

Read at run time, so that a mirror, a proxy or a private certificate of this machine also serves the nodes and nothing of it is written
down anywhere.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from provisioner.diagnostics import did_you_mean
from provisioner.errors import UsageError

SUITES: dict[str, str] = {
    "bullseye": "debian",
    "bookworm": "debian",
    "trixie": "debian",
    "focal": "ubuntu",
    "jammy": "ubuntu",
    "noble": "ubuntu",
}
"""Suites a node can be made of, with the distribution each belongs to."""

_MIRROR = "PROVISION_{}_MIRROR"
"""The variable that names an archive when this machine's own apt uses none of that distribution; security updates are beside it."""
_KEYRINGS = {
    "debian": "/usr/share/keyrings/debian-archive-keyring.gpg",
    "ubuntu": "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
}
_KEPT_SETTINGS = re.compile(
    r"^(Acquire::(https?::.*|Check-(Valid-Until|Date)|Retries|ForceIPv[46]|GzipIndexes|Languages(::)?|Max-ValidTime))\s"
)


@dataclass(frozen=True)
class Source:
    """One archive of a suite, as apt's one-line form wants it."""

    uri: str
    suite: str
    components: str
    keyring: str

    def line(self) -> str:
        """The line of sources.list."""
        return f"deb [signed-by={self.keyring}] {self.uri} {self.suite} {self.components}"


def distribution() -> tuple[str, str]:
    """This machine's distribution and suite, from os-release; empty strings where it does not say."""
    fields: dict[str, str] = {}
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except FileNotFoundError:
        return "", ""
    for line in text.splitlines():
        key, _, value = line.partition("=")
        fields[key] = value.strip().strip('"')
    return fields.get("ID", ""), fields.get("VERSION_CODENAME", "")


def sources(suite: str, *, apt: Path = Path("/etc/apt")) -> list[Source]:
    """The archives of ``suite``: release, updates and security, on the mirrors this machine uses where it has any.

    Raises UsageError for a suite nobody here knows.
    """
    if suite not in SUITES:
        raise UsageError(
            f"unknown suite {suite!r}",
            why=did_you_mean(suite, (*SUITES, "machine")),
            help="use one of " + ", ".join(sorted(SUITES)) + ", or 'machine' for this machine's own root",
        )
    family = SUITES[suite]
    main, security = _mirrors(family, apt)
    keyring = _KEYRINGS[family]
    if family == "ubuntu":
        parts = "main restricted universe multiverse"
    else:
        parts = "main contrib non-free" + ("" if suite == "bullseye" else " non-free-firmware")
    return [
        Source(main, suite, parts, keyring),
        Source(main, f"{suite}-updates", parts, keyring),
        Source(security, f"{suite}-security", parts, keyring),
    ]


def _mirrors(family: str, apt: Path) -> tuple[str, str]:
    """(archive, security archive) from this machine's own sources, else from the environment. Raises UsageError without either."""
    variable = _MIRROR.format(family.upper())
    main = os.environ.get(variable, "")
    security = f"{main.rstrip('/')}-security" if main and family == "debian" else main
    for uri, suites in _entries(apt):
        if not re.search(rf"/{family}(-security)?/?$", uri):
            continue
        if any(name.endswith("-security") for name in suites):
            security = uri
        else:
            main = uri
    if not main:
        raise UsageError(
            f"this machine's apt knows no {family.capitalize()} archive",
            why="a node of another distribution needs one to be made from",
            help=f"name it: {variable}=http://…/{family} provision lab up …",
        )
    return main.rstrip("/"), (security or main).rstrip("/")


def _entries(apt: Path) -> list[tuple[str, list[str]]]:
    """Every (URI, suites) of sources.list, *.list and *.sources."""
    found: list[tuple[str, list[str]]] = []
    lists = [apt / "sources.list", *sorted(apt.glob("sources.list.d/*.list"))]
    for path in lists:
        if not path.is_file():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)", line.strip())
            if match:
                found.append((match[1], [match[2]]))
    for path in sorted(apt.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"(?m)^([A-Za-z-]+):\s*(.*)$", stanza))
            if fields.get("Enabled", "yes").lower() != "no":
                found += [(uri, fields.get("Suites", "").split()) for uri in fields.get("URIs", "").split()]
    return found


def apt_settings() -> str:
    """The settings of this machine's apt that decide how an archive is reached: proxy, certificates, date checks, languages."""
    try:
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        return ""
    lines = (line for line in dump.splitlines() if _KEPT_SETTINGS.match(line))
    return "".join(f"{line}\n" for line in lines if not line.endswith(' "";'))


def resolver() -> str:
    """A resolv.conf for a node: this machine's upstream name servers, never its loopback stub."""
    texts = []
    for path in ("/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"):
        try:
            texts.append(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
    for text in texts:
        servers = re.findall(r"(?m)^nameserver\s+(\S+)", text)
        if servers and not all(server.startswith("127.") or server == "::1" for server in servers):
            return "".join(f"{line}\n" for line in text.splitlines() if re.match(r"nameserver|search|options", line))
    return ""
