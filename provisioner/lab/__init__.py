"""Throw-away nodes on this machine: real systemd, sshd and apt; GPUs and NVIDIA's repository are simulated, and say so."""

from provisioner.lab.model import Lab, Node
from provisioner.lab.operations import down, list_labs, ssh, ssh_command, up

__all__ = ["Lab", "Node", "down", "list_labs", "ssh", "ssh_command", "up"]
