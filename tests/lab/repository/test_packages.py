"""The packages themselves, the repository's cache and server, and nvidia-ctk."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from provisioner.errors import ProvisionError
from provisioner.lab import repository
from provisioner.lab.repository import Repository, elf
from provisioner.lab.repository.deb import Entry, Package, text

CTK = Path(repository.__file__).with_name("ctk.py")


def test_a_package_is_one_that_dpkg_reads(tmp_path: Path) -> None:
    package = Package(
        "demo",
        "1:2.0-1",
        "A demo",
        {"Depends": "libc6"},
        {"/usr/bin/demo": text("#!/bin/sh\n", 0o755), "/usr/lib/demo/link": Entry(link="../demo")},
        {"postinst": "#!/bin/sh\nexit 0\n"},
        conffiles=(),
    )
    path = tmp_path / package.file_name
    path.write_bytes(package.build())
    assert path.name == "demo_2.0-1_amd64.deb"
    fields = subprocess.run(
        ["dpkg-deb", "-f", path, "Version", "Depends", "Description"], capture_output=True, text=True, check=True
    ).stdout
    assert "Version: 1:2.0-1\nDepends: libc6\nDescription: A demo (SIMULATION)\n" in fields
    subprocess.run(["dpkg-deb", "-R", path, tmp_path / "x"], check=True)
    assert (tmp_path / "x/usr/bin/demo").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "x/usr/lib/demo/link").readlink() == Path("../demo")
    assert (tmp_path / "x/DEBIAN/postinst").stat().st_mode & 0o777 == 0o755
    assert package.build() == package.build()


def test_every_package_says_that_it_is_a_simulation(archive: Repository) -> None:
    for index in archive.folder.rglob("Packages"):
        stanzas = index.read_text(encoding="utf-8").split("\n\n")
        assert stanzas
        assert all("(SIMULATION)" in stanza for stanza in stanzas)


def test_libraries_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "libdemo.so.1"
    path.write_bytes(elf.library("libdemo.so.1"))
    ctypes.CDLL(str(path))
    subprocess.run(["/sbin/ldconfig", "-n", tmp_path], check=True, capture_output=True)
    done = subprocess.run(["/sbin/ldconfig", "-n", "-v", tmp_path], capture_output=True, text=True, check=True)
    assert "not an ELF file" not in done.stderr


def test_building_is_done_once(tmp_path: Path) -> None:
    first = repository.build(tmp_path)
    marker = first.folder / "marker"
    marker.touch()
    assert repository.build(tmp_path) == first
    assert marker.exists()
    other = repository.build(tmp_path, "http://elsewhere")
    assert other.fingerprints == first.fingerprints
    assert not marker.exists()
    listed = (other.folder / "libnvidia-container/stable/deb/nvidia-container-toolkit.list").read_text(encoding="utf-8")
    assert listed.startswith("deb http://elsewhere/libnvidia-container/stable/deb/$(ARCH) /\n")


def test_private_keys_are_not_served(archive: Repository) -> None:
    served = {path.name for path in archive.folder.rglob("*")}
    assert not {"private-keys-v1.d", "pubring.kbx", "trustdb.gpg"} & served
    assert list(archive.folder.parent.rglob("private-keys-v1.d/*.key"))


def test_without_gpg_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProvisionError, match="gpg is not installed") as caught:
        repository.build(tmp_path / "r")
    assert caught.value.help == "apt install gnupg"


def test_it_is_a_path_and_serves_itself(archive: Repository) -> None:
    assert Path(archive) == archive.folder
    with archive.serve() as url:
        about = json.loads(urllib.request.urlopen(f"{url}/repository.json").read())
        assert about["fingerprints"] == archive.fingerprints
        assert urllib.request.urlopen(f"{archive.cuda(base=url)}InRelease").read().startswith(b"-----BEGIN PGP SIGNED MESSAGE-----")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/../keys/pubring.kbx")


def test_the_keyring_package(archive: Repository, tmp_path: Path) -> None:
    for distribution, pinned in (("debian12", False), ("ubuntu2204", True)):
        folder = archive.folder / f"compute/cuda/repos/{distribution}/x86_64"
        subprocess.run(["dpkg-deb", "-x", folder / "cuda-keyring_1.1-1_all.deb", tmp_path / distribution], check=True)
        source = (tmp_path / distribution / f"etc/apt/sources.list.d/cuda-{distribution}-x86_64.list").read_text(encoding="utf-8")
        assert source == f"deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] {archive.cuda(distribution)} /\n"
        assert (tmp_path / distribution / "etc/apt/preferences.d/cuda-repository-pin-600").exists() == pinned
        key = (tmp_path / distribution / "usr/share/keyrings/cuda-archive-keyring.gpg").read_bytes()
        assert key == archive.keyring("cuda").read_bytes()


def ctk(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run nvidia-ctk."""
    return subprocess.run([sys.executable, "-IS", CTK, *arguments], capture_output=True, text=True)


def test_ctk_merges_into_daemon_json(tmp_path: Path) -> None:
    path = tmp_path / "docker/daemon.json"
    done = ctk("runtime", "configure", "--runtime=docker", f"--config={path}")
    assert done.returncode == 0
    assert 'msg="It is recommended that docker daemon be restarted."' in done.stderr
    runtimes = {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}
    assert json.loads(path.read_text(encoding="utf-8")) == {"runtimes": runtimes}
    path.write_text('{"log-driver": "journald", "features": {"buildkit": true}, "runtimes": {"kata": {"path": "kata"}}}', encoding="utf-8")
    command = ("runtime", "configure", "--runtime", "docker", "--config", str(path), "--set-as-default", "--cdi.enabled")
    dry = ctk(*command, "--dry-run")
    assert "kata" in path.read_text(encoding="utf-8")
    assert "nvidia" not in path.read_text(encoding="utf-8")
    assert ctk(*command).returncode == 0
    merged = json.loads(path.read_text(encoding="utf-8"))
    assert merged == json.loads(dry.stdout)
    assert merged == {
        "log-driver": "journald",
        "features": {"buildkit": True, "cdi": True},
        "runtimes": {"kata": {"path": "kata"}, **runtimes},
        "default-runtime": "nvidia",
    }
    assert path.read_text(encoding="utf-8").startswith('{\n    "default-runtime"')


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("runtime", "configure", "--runtime=crio"), "only --runtime=docker is simulated, not crio"),
        (("runtime", "configure", "--bogus"), "flag provided but not defined: -bogus"),
        (("bogus",), "No help topic for 'bogus'"),
    ],
)
def test_ctk_refuses(arguments: tuple[str, ...], complaint: str) -> None:
    done = ctk(*arguments)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_ctk_aborts_on_invalid_json(tmp_path: Path) -> None:
    path = tmp_path / "daemon.json"
    path.write_text("{", encoding="utf-8")
    done = ctk("runtime", "configure", "--runtime=docker", f"--config={path}")
    assert done.returncode == 1
    assert f"unable to load docker config from file {path}" in done.stderr
    assert path.read_text(encoding="utf-8") == "{"
