"""The toolkit: the version asked for, found by shells, and no driver of its repository anywhere."""

import re

from testinfra.host import Host


def test_nvcc_is_of_the_version_asked_for(host: Host, role_vars):
    version = str(role_vars["cuda_toolkit_version"])
    said = host.check_output("%s/bin/nvcc --version", role_vars["cuda_toolkit_home"])
    assert f"release {version}," in said


def test_a_login_shell_finds_it(host: Host, role_vars):
    if role_vars["cuda_toolkit_default"]:
        assert host.check_output("env -i bash -lc 'command -v nvcc'") == "/usr/local/cuda/bin/nvcc"
        assert host.check_output("readlink -f /usr/local/cuda") == role_vars["cuda_toolkit_home"]


def test_the_repository_has_one_entry_with_one_key(host: Host, role_vars):
    url = re.escape(str(role_vars["cuda_repository_url"]))
    files = "/etc/apt/sources.list /etc/apt/sources.list.d --include='*.list' --include='*.sources'"
    named = host.run(f"grep -rlE '^(URIs:|deb ).*{url}' {files}")
    assert named.stdout.split() == ["/etc/apt/sources.list.d/cuda.sources"]
    assert host.file("/etc/apt/sources.list.d/cuda.sources").contains("^Signed-By: /")


def test_drivers_of_the_repository_stay_out(host: Host, role_vars):
    if role_vars["nvidia_driver_source"] == "cuda_repository":
        return
    with host.sudo():
        foreseen = host.check_output("apt-cache policy cuda-drivers; apt-get -s dist-upgrade")
    assert "Candidate: (none)" in foreseen
    assert not re.search(r"^Inst (cuda-drivers|nvidia-|libnvidia-ml|libcuda)\S* .*NVIDIA CUDA", foreseen, re.MULTILINE)
