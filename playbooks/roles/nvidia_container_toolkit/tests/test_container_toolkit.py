"""The container toolkit: four packages of one version, held, and docker knows the runtime."""

import json

from testinfra.host import Host

PACKAGES = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")


def test_all_four_are_of_the_version_asked_for(host: Host, role_vars):
    wanted = f"{role_vars['nvidia_container_toolkit_version']}-{role_vars['nvidia_container_toolkit_revision']}"
    assert {name: host.package(name).version for name in PACKAGES} == dict.fromkeys(PACKAGES, wanted)


def test_they_are_held(host: Host, role_vars):
    held = set(host.check_output("apt-mark showhold").split())
    assert not role_vars["nvidia_container_toolkit_hold"] or set(PACKAGES) <= held


def test_docker_knows_the_runtime(host: Host, role_vars):
    if not role_vars["nvidia_container_toolkit_docker"]:
        return
    with host.sudo():
        settings = json.loads(host.file(role_vars["nvidia_container_toolkit_docker_config"]).content_string)
    assert settings["runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    assert host.exists("nvidia-container-runtime")
    default = settings.get("default-runtime") == "nvidia"
    assert default or not role_vars["nvidia_container_toolkit_docker_default"]
