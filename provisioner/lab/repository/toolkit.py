"""The four packages of the NVIDIA container toolkit, in several versions, with a small ``nvidia-ctk`` that really edits daemon.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from provisioner.lab.repository.deb import Entry, Package, text
from provisioner.lab.repository.elf import library

VERSIONS = ("1.16.2", "1.17.4", "1.17.8", "1.18.2", "1.19.1", "1.20.0")
_PROGRAM = Path(__file__).with_name("ctk.py")
_CONFIG = """\
# SIMULATION by provision lab.
#accept-nvidia-visible-devices-as-volume-mounts = false
#accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false
supported-driver-capabilities = "compat32,compute,display,graphics,ngx,utility,video"

[nvidia-container-cli]
#debug = "/var/log/nvidia-container-toolkit.log"
environment = []
ldconfig = "@/sbin/ldconfig"
load-kmods = true
#no-cgroups = false

[nvidia-container-runtime]
log-level = "info"
mode = "auto"
runtimes = ["docker-runc", "runc", "crun"]
"""
_RUNTIME = """\
#!/bin/sh
# SIMULATION by provision lab: runs containers as runc does; there are no GPUs to add.
exec runc "$@"
"""
_CLI = """\
#!/bin/sh
# SIMULATION by provision lab.
case "$1" in
--version|-V) echo "cli-version: {version}"; echo "lib-version: {version}" ;;
*) echo "nvidia-container-cli: SIMULATION by provision lab" >&2; exit 1 ;;
esac
"""


def packages() -> Iterator[Package]:
    """All versions. Their dependencies are exact, so a version given for one package alone cannot be installed."""
    program = _PROGRAM.read_text(encoding="utf-8")
    for version in VERSIONS:
        full = f"{version}-1"
        config = "/etc/nvidia-container-runtime/config.toml"
        yield Package(
            "nvidia-container-toolkit-base",
            full,
            "NVIDIA Container Toolkit Base",
            files={
                "/usr/bin/nvidia-ctk": text(program.replace("@VERSION@", version), 0o755),
                "/usr/bin/nvidia-container-runtime": text(_RUNTIME, 0o755),
                config: text(_CONFIG),
            },
            conffiles=(config,),
        )
        yield Package(
            "libnvidia-container1",
            full,
            "NVIDIA container runtime library",
            files={
                f"/usr/lib/x86_64-linux-gnu/libnvidia-container.so.{version}": Entry(library("libnvidia-container.so.1")),
                "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1": Entry(link=f"libnvidia-container.so.{version}"),
            },
        )
        yield Package(
            "libnvidia-container-tools",
            full,
            "NVIDIA container runtime library (command-line tools)",
            {"Depends": f"libnvidia-container1 (= {full})"},
            {"/usr/bin/nvidia-container-cli": text(_CLI.format(version=version), 0o755)},
        )
        yield Package(
            "nvidia-container-toolkit",
            full,
            "NVIDIA Container toolkit",
            {"Depends": f"nvidia-container-toolkit-base (= {full}), libnvidia-container-tools (= {full}), libnvidia-container1 (= {full})"},
            {"/usr/bin/nvidia-container-runtime-hook": text(_RUNTIME, 0o755)},
        )
