"""Playbooks: YAML with places, keywords, arguments, roles, and the loader that turns files into the frozen model."""
