"""The inventory of a lab: plain YAML that provision and stock Ansible read alike."""

from __future__ import annotations

from typing import Any

import yaml

from provisioner.lab.model import GROUP, SSH_PORT, USER, Lab

_HEADER = """\
# Written by provision lab up; provision lab down removes it.
# The nodes are throw-away, and their GPUs and NVIDIA repository are a SIMULATION.
"""


def document(lab: Lab, fingerprints: dict[str, str]) -> dict[str, Any]:
    """The inventory as data; ``fingerprints`` are those of the local repository's keys."""
    return {
        GROUP: {
            "hosts": {
                node.name: {"ansible_host": node.address} | ({"ansible_port": node.port} if node.port != SSH_PORT else {})
                for node in lab.nodes
            },
            "vars": {
                "ansible_user": USER,
                "ansible_port": SSH_PORT,
                "ansible_ssh_private_key_file": str(lab.key),
                "ansible_ssh_common_args": f"-o UserKnownHostsFile={lab.known_hosts}",
                "ansible_python_interpreter": "/usr/bin/python3",
                "gpu_mirror": lab.repository.rstrip("/"),
                "cuda_repository_fingerprint": fingerprints["cuda"],
                "nvidia_container_toolkit_fingerprint": fingerprints["libnvidia-container"],
            },
        }
    }


def text(lab: Lab, fingerprints: dict[str, str]) -> str:
    """The inventory as a file's text."""
    return _HEADER + yaml.safe_dump(document(lab, fingerprints), sort_keys=False)
