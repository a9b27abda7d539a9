"""A signed local package repository in NVIDIA's layout: a SIMULATION, several versions of everything side by side, nothing inside.

    repository = build(folder)
    with repository.serve("127.0.0.1") as url: ...

Below the served folder:

    compute/cuda/repos/<distribution>/x86_64/     flat; debian12 with Debian's package names, ubuntu2204 and ubuntu2404 with Ubuntu's
    libnvidia-container/                          gpgkey, stable/deb/amd64/ flat, stable/deb/nvidia-container-toolkit.list
    ubuntu/                                       dists and pool as Ubuntu's archive: branch 535 there is the transitional trap
    keys/<name>.gpg, .asc, .fingerprint           of cuda, libnvidia-container and ubuntu
    repository.json                               fingerprints and address
"""

from __future__ import annotations

from provisioner.lab.repository.build import DEFAULT_URL, Repository, build

__all__ = ["DEFAULT_URL", "Repository", "build"]
