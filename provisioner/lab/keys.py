"""Keys of a lab: the pair that opens the nodes, and the host key of each."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provisioner.lab.model import Lab
from provisioner.lab.state import put

HOST_KEY = "ssh_host_ed25519_key"


def pair(comment: str) -> tuple[str, str]:
    """A fresh ed25519 key: OpenSSH's private file, and the public line without a line end."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()).decode()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return private, f"{public} {comment}"


def ensure_user_key(lab: Lab) -> str:
    """The lab's public key; the pair is made when it is not there."""
    public = lab.key.with_suffix(".pub")
    if not (lab.key.exists() and public.exists()):
        private, line = pair(f"provision-lab-{lab.name}")
        put(lab.key, private, mode=0o600)
        put(public, f"{line}\n")
    return public.read_text(encoding="utf-8")


def known_hosts(lab: Lab) -> str:
    """The text of known_hosts: every node's key, by address and by name."""
    lines = []
    for node in lab.nodes:
        names = (node.address, node.name) if node.port == 22 else (f"[{node.address}]:{node.port}", f"[{node.name}]:{node.port}")
        lines.append(f"{','.join(names)} {' '.join(node.host_key.split()[:2])}\n")
    return "".join(lines)
