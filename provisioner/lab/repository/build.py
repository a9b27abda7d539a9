"""Build the repository into a folder, once for each content, and hand out its addresses and keys."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from provisioner.lab.repository import archive, cuda, drivers, toolkit
from provisioner.lab.repository.archive import Key, Signer
from provisioner.lab.repository.deb import Package

DEFAULT_URL = "http://repository.lab:8088"
"""How lab nodes reach the served folder; written into the keyring package and the published list."""

DISTRIBUTIONS = ("debian12", "ubuntu2204", "ubuntu2404")
_UBUNTU = {"jammy": ("22.04", "0ubuntu0.22.04"), "noble": ("24.04", "0ubuntu0.24.04")}
_NAMES = ("cuda", "libnvidia-container", "ubuntu")
# Read when this module is, so that it tells of the code that runs, not of files somebody has edited since.
_SOURCES = "\0".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


@dataclass(frozen=True)
class Repository:
    """A built repository. It is also a path: the folder to serve."""

    folder: Path
    url: str
    fingerprints: dict[str, str]
    """40 hexadecimal digits for ``cuda``, ``libnvidia-container`` and ``ubuntu``."""

    def __fspath__(self) -> str:
        return str(self.folder)

    def __str__(self) -> str:
        return str(self.folder)

    def cuda(self, distribution: str = "debian12", base: str = "") -> str:
        """The address of a CUDA repository, below ``base`` or the nodes' address of this one; its suite is ``/``."""
        return f"{base or self.url}/compute/cuda/repos/{distribution}/x86_64/"

    def container_toolkit(self, base: str = "") -> str:
        """The address of the container toolkit's repository with apt's own ``$(ARCH)`` in it; its suite is ``/``."""
        return f"{base or self.url}/libnvidia-container/stable/deb/$(ARCH)"

    def keyring(self, name: str) -> Path:
        """The binary keyring for ``signed-by``."""
        return self.folder / "keys" / f"{name}.gpg"

    @contextmanager
    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
        """Serve the folder over HTTP while the block runs, in a thread; gives the base address. Port 0 takes a free one."""
        handler = functools.partial(_Files, directory=str(self.folder))
        server = http.server.ThreadingHTTPServer((host, port), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="repository", daemon=True)
        thread.start()
        try:
            yield f"http://{host}:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of one folder over connections that stay open; nothing is logged."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def build(folder: Path, url: str = DEFAULT_URL) -> Repository:
    """The repository in ``folder``, built if it is not there yet or was made of something else; about two seconds.

    The keys in ``folder/keys`` stay the same when it is built anew, and are not in the served folder. Raises ProvisionError without gpg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    public, stamp = folder / "public", digest(url)
    with (folder / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        about = public / "repository.json"
        if about.is_file():
            known = json.loads(about.read_text(encoding="utf-8"))
            if known.get("digest") == stamp:
                return Repository(public, url, known["fingerprints"])
        fresh = folder / "new"
        shutil.rmtree(fresh, ignore_errors=True)
        signer = Signer(folder / "keys")
        try:
            keys = {name: signer.key(name) for name in _NAMES}
            _fill(fresh, url.rstrip("/"), signer, keys)
        finally:
            signer.close()
        fingerprints = {name: key.fingerprint for name, key in keys.items()}
        facts = {"simulation": "by provision lab", "digest": stamp, "url": url, "fingerprints": fingerprints}
        (fresh / "repository.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(public, ignore_errors=True)
        fresh.rename(public)
    return Repository(public, url, fingerprints)


def digest(url: str) -> str:
    """Changes with anything the repository is made from."""
    return hashlib.sha256(f"{url}\0{_SOURCES}".encode()).hexdigest()


def _fill(folder: Path, url: str, signer: Signer, keys: dict[str, Key]) -> None:
    (folder / "keys").mkdir(parents=True)
    for name, key in keys.items():
        (folder / "keys" / f"{name}.gpg").write_bytes(key.binary)
        (folder / "keys" / f"{name}.asc").write_bytes(key.armoured)
        (folder / "keys" / f"{name}.fingerprint").write_text(f"{key.fingerprint}\n", encoding="utf-8")
    for distribution in DISTRIBUTIONS:
        _cuda(folder, distribution, url, signer, keys["cuda"])
    _container_toolkit(folder / "libnvidia-container", url, signer, keys["libnvidia-container"])
    for suite, (release, revision) in _UBUNTU.items():
        fields = {"Origin": "Ubuntu", "Label": "Ubuntu", "Suite": suite, "Codename": suite, "Version": release}
        fields |= {"Architectures": "amd64", "Components": "restricted", "Description": "SIMULATION by provision lab"}
        packages = list(_ubuntu_archive(revision))
        archive.publish_suite(folder / "ubuntu", suite, "restricted", packages, fields, signer, keys["ubuntu"])


def _cuda(folder: Path, distribution: str, url: str, signer: Signer, key: Key) -> None:
    place = f"compute/cuda/repos/{distribution}/x86_64"
    packages = [*cuda.toolkits(), *drivers.pinning()]
    for version in drivers.VERSIONS:
        if distribution == "debian12":
            packages += drivers.debian(version)
        else:
            packages += drivers.ubuntu(version, "0ubuntu1" if drivers.branch(version) <= drivers.LAST_NUMBERED_BRANCH else "1ubuntu1")
    packages += [cuda.keyring(distribution, f"{url}/{place}/", key.binary, version) for version in ("1.0-1", "1.1-1")]
    fields = {"Origin": "NVIDIA", "Label": "NVIDIA CUDA", "Architecture": "x86_64", "Description": "SIMULATION by provision lab"}
    archive.publish_flat(folder / place, packages, fields, signer, key)
    (folder / place / "3bf863cc.pub").write_bytes(key.armoured)
    (folder / place / "cuda-archive-keyring.gpg").write_bytes(key.binary)
    if distribution.startswith("ubuntu"):
        (folder / place / f"cuda-{distribution}.pin").write_bytes(cuda.pin(distribution))


def _container_toolkit(folder: Path, url: str, signer: Signer, key: Key) -> None:
    origin = "https://nvidia.github.io/libnvidia-container"
    fields = {"Origin": origin, "Label": "NVIDIA Container Toolkit", "Description": "SIMULATION by provision lab"}
    archive.publish_flat(folder / "stable/deb/amd64", list(toolkit.packages()), fields, signer, key)
    (folder / "gpgkey").write_bytes(key.armoured)
    listed = f"deb {url}/libnvidia-container/stable/deb/$(ARCH) /\n#deb {url}/libnvidia-container/experimental/deb/$(ARCH) /\n"
    (folder / "stable/deb/nvidia-container-toolkit.list").write_text(listed, encoding="utf-8")


def _ubuntu_archive(revision: str) -> Iterator[Package]:
    """What Ubuntu's archive has: living branches, and 535 as names that lead elsewhere."""
    for version in ("570.195.03", "580.95.05", "580.126.09"):
        for flavour in ("", "-server"):
            yield from drivers.ubuntu(version, f"{revision}.1", flavour=flavour, archive=True)
    yield from drivers.transitional(535, "580.126.09", f"{revision}.2", last="535.288.01")
    yield from drivers.transitional(550, "570.195.03", f"{revision}.2", last="550.163.01")
