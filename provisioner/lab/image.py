"""The file tree lab nodes start from: a bootstrapped suite, cached by what went into it.

``ensure(suite, base)`` gives a folder that holds a complete small server: systemd, sshd, sudo, Python, and what GPU playbooks touch. It is
built once (about half a minute) beside its final place and renamed, so that a build which was killed leaves nothing that looks whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.errors import ProvisionError
from provisioner.lab import machine, rootfs

PACKAGES: tuple[str, ...] = (
    "acl",
    "apt-utils",
    "ca-certificates",
    "cron",
    "dbus",
    "gnupg",
    "initramfs-tools",
    "iproute2",
    "iputils-ping",
    "kmod",
    "libpam-systemd",
    "lsb-release",
    "netbase",
    "openssh-server",
    "pciutils",
    "procps",
    "python3",
    "python3-apt",
    "sudo",
    "systemd",
    "systemd-sysv",
    "tzdata",
    "udev",
    "zstd",
)
"""What a freshly installed server has, and no more: what a role needs beyond it, the role must install."""

_NEEDED = 1200 << 20
"""Bytes of disk for building an image; it takes half of that afterwards."""

_STALE = 3600.0
"""Seconds after which an image of an earlier recipe goes: another lab may be about to start from a younger one."""

Progress = Callable[[str], None]


def digest(suite: str) -> str:
    """A short name of everything the image is made from; a new one means a new build."""
    recipe = [
        suite,
        PACKAGES,
        [source.line() for source in machine.sources(suite)],
        machine.apt_settings(),
        os.uname().release,
        rootfs.digest(),
    ]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]


def ensure(suite: str, base: Path, say: Progress) -> Path:
    """The root of ``suite``, built when it is not there yet; older builds of the same suite are removed.

    Raises UsageError for an unknown suite, ProvisionError where the tools or the archive are missing.
    """
    name = f"{suite}-{digest(suite)}"
    folder = base / "images"
    folder.mkdir(parents=True, exist_ok=True)
    root = folder / name
    with _lock(folder / f"{suite}.lock"):
        if not root.is_dir():
            say(f"building the {suite} image once (about half a minute)")
            _build(suite, root)
        _stamp(root).touch()
        remove_unused(base, suite, older=_STALE)
    return root


def remove_unused(base: Path, suite: str = "*", *, older: float = 0) -> list[str]:
    """Delete built images of a suite, or of all, that no node stands on and nobody asked for in ``older`` seconds; returns their names."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    removed = []
    for root in sorted((base / "images").glob(f"{suite}-*")):
        if not root.is_dir() or f"lowerdir={root}," in mounts:
            continue
        if not _stamp(root).exists() or time.time() - _stamp(root).stat().st_mtime >= older:
            shutil.rmtree(root)
            _stamp(root).unlink(missing_ok=True)
            removed.append(root.name)
    return removed


def _stamp(root: Path) -> Path:
    """The file whose time says when a lab last started from the image."""
    return root.with_name(f"{root.name}.used")


def _build(suite: str, root: Path) -> None:
    if shutil.which("mmdebstrap") is None:
        raise ProvisionError(
            "mmdebstrap is not installed",
            why=f"a {suite} node is bootstrapped from Debian's archive with it",
            help="apt install mmdebstrap, or use --suite machine, which needs no image",
        )
    free = shutil.disk_usage(root.parent).free
    if free < _NEEDED:
        raise ProvisionError(
            f"{root.parent} has {free >> 20} MB free, the {suite} image needs {_NEEDED >> 20} MB while it is built",
            help="free some space, delete old images with provision lab down --purge, or set PROVISION_STATE to a folder on a bigger disk",
        )
    for leftover in root.parent.glob(f".{suite}-*"):
        shutil.rmtree(leftover)
    work = Path(tempfile.mkdtemp(prefix=f".{suite}-", dir=root.parent))
    work.chmod(0o755)
    tree = work / "root"
    archives = machine.sources(suite)
    settings = machine.apt_settings()
    command = [
        "mmdebstrap",
        "--quiet",
        "--mode=root",
        "--variant=minbase",
        # A server that was set up properly has fetched its package lists; a first install must not need another update.
        "--skip=cleanup/apt/lists,cleanup/apt/cache",
        "--include=" + ",".join(PACKAGES),
        *(f"--aptopt={line}" for line in settings.splitlines()),
        suite,
        str(tree),
        *(source.line() for source in archives),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise _failure(suite, done.stderr)
        rootfs.furnish(tree, settings=settings, sources=archives)
        rootfs.simulate_kernel(tree, os.uname().release)
        tree.rename(root)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _failure(suite: str, output: str) -> ProvisionError:
    """The bootstrap's own last complaints, with what to do about the usual ones."""
    lines = [line for line in output.splitlines() if line.startswith(("E:", "W:", "Err"))] or output.splitlines()
    text = "\n".join(lines[-4:])
    help = "run it again; if it fails the same way, check that this machine's apt update works"
    if "keyring" in output or "NO_PUBKEY" in output:
        help = "install the archive's keys: apt install debian-archive-keyring or ubuntu-keyring"
    return ProvisionError(f"the {suite} image cannot be built", why=text, help=help)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One build of a suite at a time; the other waits and then finds it done."""
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
