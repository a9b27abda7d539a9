"""The driver: one branch, pinned and held, and really the one that runs."""

import re

from testinfra.host import Host

PACKAGES = ("nvidia-smi", "libcuda1", "libnvidia-ml1", "libnvidia-compute-*", "nvidia-utils-*", "nvidia-kernel-dkms", "nvidia-dkms-*")


def installed(host: Host) -> dict[str, str]:
    """Driver packages whose version is the driver's, with their versions."""
    patterns = " ".join(f"'{pattern}'" for pattern in PACKAGES)
    listed = host.run(f"dpkg-query -W -f '${{db:Status-Abbrev}}|${{Package}}|${{Version}}\\n' {patterns}").stdout
    return {name: version for status, name, version in (line.split("|") for line in listed.splitlines()) if status[1] == "i"}


def test_only_the_branch_asked_for_is_installed(host: Host, role_vars):
    branch = str(role_vars["nvidia_driver_branch"])
    found = installed(host)
    assert found
    assert {version.split(".")[0] for version in found.values()} == {branch}


def test_apt_would_not_move_it_to_another_branch(host: Host, role_vars):
    branch = str(role_vars["nvidia_driver_branch"])
    with host.sudo():
        shown = host.check_output(f"apt-cache policy {' '.join(installed(host))}")
    candidates = re.findall(r"Candidate: (\S+)", shown)
    assert candidates
    assert {version.split(".")[0] for version in candidates} == {branch}, shown


def test_the_packages_are_held(host: Host, role_vars):
    held = set(host.check_output("apt-mark showhold").split())
    wanted = set(installed(host)) if role_vars["nvidia_driver_hold"] else set()
    assert wanted <= held


def test_nouveau_is_out(host: Host):
    assert host.file("/etc/modprobe.d/blacklist-nouveau.conf").contains("^blacklist nouveau")
    assert not host.file("/sys/module/nouveau").exists or host.file("/sys/module/nvidia").exists


def test_libraries_and_module_are_of_one_version(host: Host, role_vars):
    if role_vars.get("nvidia_gpu_count") == 0:
        return
    loaded = host.file("/sys/module/nvidia/version").content_string.strip()
    said = host.run("nvidia-smi --query-gpu=driver_version --format=csv,noheader")
    assert said.rc == 0, said.stdout
    assert set(said.stdout.split()) == {loaded}
    assert loaded.split(".")[0] == str(role_vars["nvidia_driver_branch"])
