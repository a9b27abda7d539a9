"""The public kit for people who write modules: a node in memory."""

from provisioner.testing.fake import FakeNode, Package

__all__ = ["FakeNode", "Package"]
