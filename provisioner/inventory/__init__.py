"""Inventories: hosts and groups from YAML, INI, TOML, scripts, folders and host lists, their variables by source, and host patterns."""

from provisioner.inventory.draft import Render
from provisioner.inventory.merge import combine
from provisioner.inventory.model import LEVELS, Group, Host, Inventory, VarsSource
from provisioner.inventory.sources import Options, load
from provisioner.inventory.varsfiles import VarsFiles

__all__ = ["LEVELS", "Group", "Host", "Inventory", "Options", "Render", "VarsFiles", "VarsSource", "combine", "load"]
