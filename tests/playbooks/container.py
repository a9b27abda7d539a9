"""A node as somebody makes it by hand: a Debian 12 container whose only program is sshd, and a user who may use sudo with a password.

Nothing of the lab is in it: no simulated GPU, no local repository, no kernel. Its packages come from Debian.
"""

from __future__ import annotations

import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

from provisioner.lab.docker import Engine
from provisioner.lab.image import ensure
from provisioner.lab.keys import pair
from provisioner.lab.state import base_folder, put

USER, PASSWORD = "ada", "correct horse"

# The root that lab nodes start from is a bootstrapped Debian; this takes from it what the lab put in, and leaves what an installer leaves:
# the section main alone, in the format that Debian's own images have.
MAKE = f"""
set -eu
rm -rf /usr/lib/provision-lab /etc/ssh/sshd_config.d/10-lab.conf /etc/sudoers.d/90-lab /boot/* /lib/modules/*
deluser -q --remove-home admin 2>/dev/null || true
mirror() {{ sed -nE "s/^deb (\\[[^]]*\\] )?(\\S+) $1 .*/\\2/p" /etc/apt/sources.list; }}
signed() {{ printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents: main\\n' "$1" "$2"
            printf 'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\\n\\n'; }}
{{ signed "$(mirror bookworm)" 'bookworm bookworm-updates'; signed "$(mirror bookworm-security)" bookworm-security; }} > /tmp/debian.sources
mv /tmp/debian.sources /etc/apt/sources.list.d/debian.sources && rm /etc/apt/sources.list
useradd -m -s /bin/bash {USER} && echo '{USER}:{PASSWORD}' | chpasswd && adduser -q {USER} sudo
install -d -m 700 -o {USER} -g {USER} /home/{USER}/.ssh
cat > /home/{USER}/.ssh/authorized_keys && chown {USER}:{USER} /home/{USER}/.ssh/authorized_keys
ssh-keygen -q -A && mkdir /run/sshd
"""

START = "until [ -e /run/sshd ]; do sleep 0.1; done; exec /usr/sbin/sshd -D"

INVENTORY = """\
gpu_nodes:
  hosts:
    gpu01:
      ansible_host: {address}
      ansible_user: {user}
      ansible_become_password: {password}
      ansible_ssh_private_key_file: {folder}/id_ed25519
      ansible_ssh_common_args: -o UserKnownHostsFile={folder}/known_hosts
  vars:
    nvidia_driver_branch: "535"
    nvidia_gpu_count: 0        # a container has none of its own
"""


@dataclass(frozen=True)
class Container:
    """The node; ``inventory`` is a file as a person writes it."""

    name: str
    inventory: Path

    def sh(self, script: str, *, check: bool = True) -> str:
        """What a root shell inside prints."""
        done = subprocess.run(["docker", "exec", "-i", self.name, "sh", "-s"], input=script, capture_output=True, text=True, timeout=120)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def remove(self) -> None:
        """Take it away."""
        subprocess.run(["docker", "rm", "--force", "--volumes", self.name], check=True, capture_output=True)


def make(folder: Path) -> Container:
    """Start one; its keys and inventory are written to ``folder``."""
    image = Engine().image(ensure("bookworm", base_folder(), _silent), _silent)
    node = Container(f"plain-{secrets.token_hex(3)}", folder / "hosts.yml")
    private, public = pair("test")
    put(folder / "id_ed25519", private, mode=0o600)
    start = ["docker", "run", "--detach", "--name", node.name, "--hostname", "gpu01", image, "sh", "-c", START]
    subprocess.run(start, check=True, capture_output=True)
    try:
        subprocess.run(
            ["docker", "exec", "-i", node.name, "sh", "-c", MAKE], input=public + "\n", check=True, text=True, capture_output=True
        )
        address = _inspect(node.name, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
        key = node.sh("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub")
        put(folder / "known_hosts", f"{address} {key}\n")
        put(node.inventory, INVENTORY.format(address=address, user=USER, password=PASSWORD, folder=folder))
    except BaseException:
        node.remove()
        raise
    return node


def _inspect(name: str, form: str) -> str:
    return subprocess.run(["docker", "inspect", "--format", form, name], check=True, capture_output=True, text=True).stdout.strip()


def _silent(_text: str) -> None:
    """Nobody reads of progress."""
