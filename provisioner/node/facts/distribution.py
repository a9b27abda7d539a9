"""Which distribution this is, its package and service manager."""

from __future__ import annotations

import os

from .reading import assignments, text, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAMILIES = {
    "Debian": ("debian", "ubuntu", "raspbian", "linuxmint", "kali", "pop", "devuan", "neon", "deepin", "parrot"),
    "RedHat": ("rhel", "centos", "fedora", "rocky", "almalinux", "ol", "amzn", "scientific", "openeuler", "anolis"),
    "Suse": ("sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed", "sled", "sle_hpc", "suse"),
    "Archlinux": ("arch", "manjaro", "antergos"),
    "Alpine": ("alpine",),
    "Gentoo": ("gentoo",),
}
NAMES = {
    "debian": "Debian",
    "ubuntu": "Ubuntu",
    "rhel": "RedHat",
    "centos": "CentOS",
    "fedora": "Fedora",
    "rocky": "Rocky",
    "almalinux": "AlmaLinux",
    "ol": "OracleLinux",
    "amzn": "Amazon",
    "sles": "SLES",
    "opensuse-leap": "openSUSE Leap",
    "opensuse-tumbleweed": "openSUSE Tumbleweed",
    "arch": "Archlinux",
    "alpine": "Alpine",
    "linuxmint": "Linux Mint",
    "raspbian": "Debian",
    "kali": "Kali",
    "pop": "Pop!_OS",
    "gentoo": "Gentoo",
}
CODENAMES = {"10": "buster", "11": "bullseye", "12": "bookworm", "13": "trixie"}


def distribution() -> dict[str, Any]:
    """From /etc/os-release, and the version file of Debian, which knows the point release."""
    said = assignments(text("/etc/os-release") or text("/usr/lib/os-release"))
    known = said.get("ID", "")
    version = said.get("VERSION_ID", "NA")
    release = said.get("VERSION_CODENAME") or said.get("UBUNTU_CODENAME") or CODENAMES.get(version, "")
    major = version.split(".")[0]
    if known == "debian":
        point = word("/etc/debian_version", "")
        if point[:1].isdigit():
            version = point
    if not release:
        parts = said.get("VERSION", "").replace("(", " ").replace(")", " ").split()
        release = parts[-1] if len(parts) > 1 else "NA"
    facts: dict[str, Any] = {
        "distribution": NAMES.get(known, said.get("NAME", known or "NA")),
        "distribution_version": version,
        "distribution_major_version": major,
        "distribution_release": release,
        "os_family": _family(known, said.get("ID_LIKE", "")),
    }
    variety = {"Debian": "Debian", "RedHat": "RedHat", "Suse": "SUSE"}.get(facts["os_family"])
    if variety:
        facts.update(distribution_file_variety=variety, distribution_file_path="/etc/os-release", distribution_file_parsed=True)
    if known == "debian" and "." in version:
        facts["distribution_minor_version"] = version.split(".")[1]
    return facts


def _family(known: str, like: str) -> str:
    for candidate in (known, *like.split()):
        for family, members in FAMILIES.items():
            if candidate in members:
                return family
    return known.capitalize() or "Linux"


def lsb() -> dict[str, Any]:
    """From /etc/lsb-release where it exists; else what os-release says, for Debian."""
    said = assignments(text("/etc/lsb-release"))
    if said.get("DISTRIB_ID"):
        facts = {
            "id": said["DISTRIB_ID"],
            "release": said.get("DISTRIB_RELEASE", ""),
            "codename": said.get("DISTRIB_CODENAME", ""),
            "description": said.get("DISTRIB_DESCRIPTION", ""),
        }
        return {"lsb": {**facts, "major_release": facts["release"].split(".")[0]}}
    if os.path.exists("/usr/bin/lsb_release"):
        release = assignments(text("/etc/os-release"))
        version = release.get("VERSION_ID", "")
        facts = {
            "id": NAMES.get(release.get("ID", ""), release.get("NAME", "")),
            "release": version,
            "codename": release.get("VERSION_CODENAME", ""),
            "description": release.get("PRETTY_NAME", ""),
        }
        return {"lsb": {**facts, "major_release": version.split(".")[0]}}
    return {"lsb": {}}


def pkg_mgr() -> dict[str, Any]:
    """The package manager's name."""
    family = distribution()["os_family"]
    if family == "RedHat":
        if os.path.exists("/usr/bin/dnf5"):
            return {"pkg_mgr": "dnf5"}
        return {"pkg_mgr": "dnf" if os.path.exists("/usr/bin/dnf") or os.path.exists("/usr/bin/dnf-3") else "yum"}
    programs = (
        ("/usr/bin/apt-get", "apt"),
        ("/usr/bin/zypper", "zypper"),
        ("/usr/bin/pacman", "pacman"),
        ("/sbin/apk", "apk"),
        ("/usr/bin/emerge", "portage"),
        ("/usr/bin/dnf", "dnf"),
        ("/usr/bin/yum", "yum"),
    )
    return {"pkg_mgr": next((name for path, name in programs if os.path.exists(path)), "unknown")}


def service_mgr() -> dict[str, Any]:
    """What PID 1 is."""
    if os.path.isdir("/run/systemd/system"):
        return {"service_mgr": "systemd"}
    first = word("/proc/1/comm", "")
    names = {"systemd": "systemd", "init": "sysvinit", "openrc-init": "openrc", "runit-init": "runit"}
    if os.path.exists("/sbin/openrc"):
        return {"service_mgr": "openrc"}
    return {"service_mgr": names.get(first, first or "service")}
