"""provision: declarative playbooks turn bare Linux servers into production NVIDIA GPU nodes."""

__version__ = "0.1.0"
