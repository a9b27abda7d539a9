"""The repository as the real apt sees it: signatures, and what pins, holds and metapackages really do (sections 1 to 3 of the facts)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from provisioner.lab.repository import Repository
from provisioner.lab.repository.archive import Signer, publish_flat
from provisioner.lab.repository.deb import Package
from provisioner.lab.repository.toolkit import VERSIONS as TOOLKITS
from tests.lab.repository.apt import Apt

DRIVER_NAMES = (
    "cuda-drivers* nvidia-driver nvidia-driver-[0-9]* nvidia-smi nvidia-alternative nvidia-kernel* nvidia-persistenced nvidia-modprobe "
    "libnvidia-* libcuda1 nvidia-open* firmware-nvidia-gsp"
)
TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")


def test_the_wrong_key_is_refused(apt: Apt, archive: Repository) -> None:
    apt.source("cuda", f"deb [signed-by={archive.keyring('ubuntu')}] {archive.cuda(base=f'file:{archive.folder}')} /")
    text, code = apt.update()
    assert code != 0
    assert f"NO_PUBKEY {archive.fingerprints['cuda'][-16:]}" in text


def test_a_changed_index_is_refused(apt: Apt, archive: Repository, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    source = archive.folder / "libnvidia-container/stable/deb/amd64"
    shutil.copytree(source, copy)
    (copy / "InRelease").write_text((copy / "InRelease").read_text(encoding="utf-8").replace("Container", "container"), encoding="utf-8")
    apt.source("toolkit", f"deb [signed-by={archive.keyring('libnvidia-container')}] file:{copy} /")
    text, code = apt.update()
    assert code != 0
    assert "BADSIG" in text or "invalid" in text


def test_two_entries_with_different_keys_kill_apt(debian: Apt, archive: Repository) -> None:
    address = archive.cuda(base=f"file:{archive.folder}")
    debian.source("zz-by-hand", f"deb {address} /")
    text, code = debian.run("apt-get", "update")
    assert code != 0
    assert f"E: Conflicting values set for option Signed-By regarding source {address} /: " in text
    assert "E: The list of sources could not be read." in text


def test_fingerprints_are_those_of_the_published_keys(archive: Repository) -> None:
    published = {
        "cuda": archive.folder / "compute/cuda/repos/debian12/x86_64/3bf863cc.pub",
        "libnvidia-container": archive.folder / "libnvidia-container/gpgkey",
    }
    for name, path in published.items():
        assert path.read_bytes().startswith(b"-----BEGIN PGP PUBLIC KEY BLOCK-----")
        shown = subprocess.run(["gpg", "--show-keys", "--with-colons", path], capture_output=True, text=True, check=True).stdout
        prints = [line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:")]
        assert prints[0] == archive.fingerprints[name]


def test_several_branches_and_newer_versions_are_offered(debian: Apt) -> None:
    text = debian.run("apt-cache", "madison", "cuda-drivers")[0]
    versions = [line.split("|")[1].strip() for line in text.splitlines()]
    assert len(versions) >= 10
    assert {version.split(".")[0] for version in versions} >= {"535", "550", "580", "595"}
    assert debian.candidate("cuda-drivers") == "595.71.05-1"


METAPACKAGES = [
    # package, the driver it brings, toolkits it brings
    ("cuda-toolkit-12-2", None, {"cuda-toolkit-12-2": "12.2.2-1"}),
    ("cuda-libraries-12-2", None, {}),
    ("cuda-12-2", "595.71.05-1", {"cuda-toolkit-12-2": "12.2.2-1"}),
    ("cuda-runtime-12-2", "595.71.05-1", {}),
    ("cuda-toolkit-12", None, {"cuda-toolkit-12-8": "12.8.1-1"}),
    ("cuda", "595.71.05-1", {"cuda-toolkit-13-0": "13.0.2-1"}),
]


@pytest.mark.parametrize(("name", "driver", "toolkits"), METAPACKAGES)
def test_what_a_metapackage_drags_in(debian: Apt, name: str, driver: str | None, toolkits: dict[str, str]) -> None:
    plan = debian.plan("install", name)
    assert plan.get("nvidia-smi") == driver
    assert {key: value for key, value in plan.items() if key.startswith("cuda-toolkit-1") and key[-1].isdigit() and key != name} == {
        key: value for key, value in toolkits.items() if key != name
    }


def test_a_single_release_can_be_chosen(debian: Apt) -> None:
    assert debian.plan("install", "cuda-toolkit-12-2=12.2.0-1")["cuda-toolkit-12-2"] == "12.2.0-1"


DEBIAN = "535.309.01-0+deb12u1"
DEBIAN_535 = dict.fromkeys(("nvidia-smi", "libnvidia-ml1", "nvidia-alternative", "libcuda1"), DEBIAN)
NEEDS = {
    "nvidia-smi": f"libnvidia-ml1 (= {DEBIAN}), nvidia-alternative (= {DEBIAN})",
    "libnvidia-ml1": f"nvidia-alternative (= {DEBIAN})",
    "libcuda1": f"nvidia-alternative (= {DEBIAN})",
}


@pytest.fixture
def driven(debian: Apt, tmp_path: Path) -> Apt:
    """A Debian machine with Debian's own driver installed, and the archive that it came from."""
    folder = tmp_path / "debian"
    signer = Signer(tmp_path / "keys")
    key = signer.key("Debian")
    packages = [Package(name, DEBIAN, "Debian's", {"Depends": NEEDS[name]} if name in NEEDS else {}) for name in DEBIAN_535]
    publish_flat(folder, packages, {"Origin": "Debian", "Label": "Debian-Security", "Codename": "bookworm-security"}, signer, key)
    signer.close()
    (tmp_path / "debian.gpg").write_bytes(key.binary)
    debian.source("debian", f"deb [signed-by={tmp_path}/debian.gpg] file:{folder} /")
    debian.installed(DEBIAN_535, depends=NEEDS)
    text, code = debian.update()
    assert code == 0, text
    return debian


def test_without_pins_the_next_upgrade_takes_debians_driver_away(driven: Apt) -> None:
    assert set(driven.plan("dist-upgrade").values()) == {"595.71.05-1"}


@pytest.mark.parametrize("priority", ["400", "-1"])
def test_a_scoped_pin_keeps_the_driver_and_lets_the_toolkit_in(driven: Apt, priority: str) -> None:
    driven.pin("nvidia", f"Package: {DRIVER_NAMES}\nPin: release l=NVIDIA CUDA\nPin-Priority: {priority}\n")
    assert set(driven.plan("dist-upgrade").values()) <= {DEBIAN}
    assert driven.candidate("nvidia-smi") == DEBIAN
    assert "nvidia-smi" not in driven.plan("install", "cuda-toolkit-12-2")


def test_a_pin_of_the_wrong_label_does_not_hold(driven: Apt) -> None:
    driven.pin("nvidia", f"Package: {DRIVER_NAMES}\nPin: release l=NVIDIA\nPin-Priority: -1\n")
    assert driven.plan("dist-upgrade") != {}


def test_a_pin_that_names_too_little_does_not_hold_what_it_forgets(debian: Apt) -> None:
    debian.pin("nvidia", "Package: nvidia-driver*\nPin: release l=NVIDIA CUDA\nPin-Priority: -1\n")
    debian.installed({"libcuda1": "535.309.01-0+deb12u1"})
    assert debian.plan("dist-upgrade")["libcuda1"] == "595.71.05-1"


def test_without_a_number_in_the_names_a_branch_needs_a_pin(debian: Apt) -> None:
    assert "cuda-drivers-535 : Depends: nvidia-driver (= 535.183.06-1) but 595.71.05-1 is to be installed" in debian.refusal(
        "install", "cuda-drivers-535"
    )
    debian.pin("nvidia", f"Package: {DRIVER_NAMES}\nPin: version 535.*\nPin-Priority: 1001\n")
    assert debian.plan("install", "cuda-drivers-535")["nvidia-smi"] == "535.183.06-1"
    assert debian.plan("install", "cuda-drivers")["nvidia-smi"] == "535.183.06-1"


def test_a_hold_of_the_metapackage_alone_does_nothing_for_the_libraries(debian: Apt) -> None:
    packages = {"cuda-drivers": "535.104.05-1", "libcuda1": "535.104.05-1", "nvidia-alternative": "535.104.05-1"}
    debian.installed(packages, hold=("cuda-drivers",))
    assert set(debian.plan("dist-upgrade")) == {"libcuda1", "nvidia-alternative"}
    debian.installed(packages, hold=tuple(packages))
    assert debian.plan("dist-upgrade") == {}


def test_the_pinning_package_locks_a_branch(debian: Apt, archive: Repository, tmp_path: Path) -> None:
    package = next((archive.folder / "compute/cuda/repos/debian12/x86_64").glob("nvidia-driver-pinning-580_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package, tmp_path / "x"], check=True)
    debian.pin("lock", (tmp_path / "x/etc/apt/preferences.d/nvidia-driver-pinning").read_text(encoding="utf-8"))
    assert debian.plan("install", "cuda-drivers")["nvidia-smi"] == "580.126.16-1"
    assert debian.candidate("nvidia-driver-pinning-580.95.05") == "580.95.05-1"


# The container toolkit


@pytest.fixture
def toolkit(apt: Apt, archive: Repository) -> Apt:
    address = archive.container_toolkit(f"file:{archive.folder}")
    apt.source("toolkit", f"deb [signed-by={archive.keyring('libnvidia-container')}] {address} /")
    text, code = apt.update()
    assert code == 0, text
    return apt


def test_one_pinned_package_of_four_cannot_be_installed(toolkit: Apt) -> None:
    text = toolkit.refusal("install", "nvidia-container-toolkit=1.17.8-1")
    assert "nvidia-container-toolkit : Depends: nvidia-container-toolkit-base (= 1.17.8-1) but 1.20.0-1 is to be installed" in text


def test_all_four_together_can(toolkit: Apt) -> None:
    assert toolkit.plan("install", *(f"{name}=1.17.8-1" for name in TOOLKIT)) == dict.fromkeys(TOOLKIT, "1.17.8-1")


def test_a_pin_of_all_four_holds(toolkit: Apt) -> None:
    toolkit.pin("toolkit", f"Package: {' '.join(TOOLKIT)}\nPin: version 1.17.8-1\nPin-Priority: 1001\n")
    assert toolkit.plan("install", "nvidia-container-toolkit") == dict.fromkeys(TOOLKIT, "1.17.8-1")
    assert TOOLKITS[-1] > "1.17.8"


# Ubuntu


def test_branch_535_of_ubuntu_silently_installs_580(ubuntu: Apt) -> None:
    plan = ubuntu.plan("install", "nvidia-driver-535")
    assert plan["nvidia-driver-535"].startswith("535.")
    assert plan["nvidia-driver-580"].startswith("580.")
    assert not any(name.startswith("libnvidia-compute-535") for name in plan)


@pytest.mark.parametrize("name", ["nvidia-driver-535", "nvidia-headless-535-server", "nvidia-utils-535-server", "libnvidia-compute-535"])
def test_the_trap_can_be_seen_before_it_snaps(ubuntu: Apt, name: str) -> None:
    shown = ubuntu.run("apt-cache", "show", name)[0]
    target = name.replace("535", "580")
    assert f"Transitional package for {target}" in shown
    assert f"Depends: {target}" in shown


def test_a_living_branch_is_what_it_says(ubuntu: Apt) -> None:
    plan = ubuntu.plan("install", "nvidia-headless-580-server", "nvidia-utils-580-server")
    assert {version.split(".")[0] for version in plan.values()} == {"580"}
    assert {"libnvidia-compute-580-server", "nvidia-dkms-580-server", "nvidia-compute-utils-580-server"} <= set(plan)


def test_the_published_pin_hands_the_driver_to_the_cuda_repository(ubuntu: Apt, archive: Repository) -> None:
    folder = archive.folder / "compute/cuda/repos/ubuntu2204/x86_64"
    ubuntu.source("cuda", f"deb [signed-by={archive.keyring('cuda')}] file:{folder}/ /")
    ubuntu.update()
    ubuntu.pin("cuda-repository-pin-600", (folder / "cuda-ubuntu2204.pin").read_text(encoding="utf-8"))
    assert ubuntu.candidate("nvidia-driver-580") == "580.126.16-0ubuntu1"
    assert ubuntu.candidate("nvidia-driver-535") == "535.183.06-0ubuntu1"
    ubuntu.pin("a-scoped", f"Package: {DRIVER_NAMES}\nPin: release l=NVIDIA CUDA\nPin-Priority: -1\n")
    assert ubuntu.candidate("nvidia-driver-580").startswith("580.126.09-0ubuntu0.22.04")


def test_later_branches_have_no_number_in_their_names(apt: Apt, archive: Repository) -> None:
    apt.source("cuda", f"deb [signed-by={archive.keyring('cuda')}] {archive.cuda('ubuntu2204', f'file:{archive.folder}')} /")
    apt.update()
    plan = apt.plan("install", "cuda-drivers")
    assert plan["libnvidia-compute"] == "595.71.05-1ubuntu1"
    assert "nvidia-persistenced" in plan
    assert apt.candidate("cuda-drivers-595") == ""
    for number, version in ((535, "535.183.06"), (580, "580.126.16")):
        plan = apt.plan("install", f"cuda-drivers-{number}")
        assert plan[f"libnvidia-compute-{number}"] == f"{version}-0ubuntu1"
        assert f"nvidia-dkms-{number}" in plan
    assert "nvidia-dkms-580-open" in apt.plan("install", "nvidia-open-580")
