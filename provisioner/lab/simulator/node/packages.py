"""Which driver is installed, from dpkg's own database: the simulator has no opinion of its own about versions."""

from __future__ import annotations

import re

# The package that carries libnvidia-ml: Debian, Debian's "tesla" branches, Ubuntu and the CUDA repository, the latter from 590 on.
_USERSPACE = re.compile(r"libnvidia(-tesla(-\d+)?)?-ml1|libnvidia-compute(-\d+(-server)?)?")
_KERNEL = re.compile(r"nvidia(-tesla(-\d+)?)?-kernel-dkms|nvidia-(open-kernel|kernel-open)-dkms|nvidia-dkms(-\d+(-server)?)?(-open)?")
_LIBCUDA = re.compile(r"libcuda1|libnvidia(-tesla(-\d+)?)?-cuda1|libnvidia-compute(-\d+(-server)?)?")
_DRIVER = re.compile(r"(?:\d+:)?(\d{3}\.\d+(?:\.\d+)?)")
# States in which dpkg has the package's files on disk.
_ON_DISK = ("installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending")


class Installed:
    """The driver on disk. Versions are upstream ones such as ``535.309.01``; None where that half is missing."""

    def __init__(self, userspace: str | None, kernel: str | None, *, open_module: bool, libcuda: bool) -> None:
        self.userspace = userspace
        self.kernel = kernel
        self.open_module = open_module
        self.libcuda = libcuda

    @property
    def module(self) -> str | None:
        """The version that a load of the module would give.

        A node cannot build modules, so labs often install the userspace alone; the simulated machine then has the module that fits.
        """
        return self.kernel or self.userspace


def driver_version(package_version: str) -> str | None:
    """The driver's version inside a package version: ``1:580.126.16-1ubuntu1`` is ``580.126.16``."""
    match = _DRIVER.match(package_version)
    return match.group(1) if match else None


def branch(version: str) -> int:
    """``535.309.01`` is of branch 535."""
    return int(version.split(".", 1)[0])


def order(version: str) -> tuple[int, ...]:
    """Sort key of driver versions."""
    return tuple(int(part) for part in version.split("."))


def installed(status: str) -> Installed:
    """Read dpkg's status file at ``status``; a missing file is a machine without packages."""
    try:
        with open(status, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    userspace: list[str] = []
    kernel: list[tuple[str, bool]] = []
    libcuda = False
    for stanza in text.split("\n\n"):
        head = stanza[:100]
        if "nvidia" not in head and "libcuda" not in head:
            continue
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line.startswith(" "))
        name = fields.get("Package", "")
        version = driver_version(fields.get("Version", ""))
        if version is None or fields.get("Status", "").split()[-1:] == [] or fields["Status"].split()[-1] not in _ON_DISK:
            continue
        if _USERSPACE.fullmatch(name):
            userspace.append(version)
        if _KERNEL.fullmatch(name):
            kernel.append((version, "open" in name))
        if _LIBCUDA.fullmatch(name):
            libcuda = True
    newest = max(kernel, key=lambda item: order(item[0])) if kernel else None
    return Installed(
        max(userspace, key=order) if userspace else None,
        newest[0] if newest else None,
        open_module=newest[1] if newest else False,
        libcuda=libcuda,
    )
