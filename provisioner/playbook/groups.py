"""Groups of modules that ``module_defaults`` names as ``group/NAME``: collections declare them in ``meta/runtime.yml``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from provisioner.playbook.yaml import load

PREFIX = "group/"
RENAMED = {
    "acme": ("community.crypto.acme",),
    "aws": ("amazon.aws.aws", "community.aws.aws"),
    "azure": ("azure.azcollection.azure",),
    "cpm": ("wti.remote.cpm",),
    "docker": ("community.docker.docker",),
    "gcp": ("google.cloud.gcp",),
    "k8s": ("kubernetes.core.k8s",),
    "os": ("openstack.cloud.os",),
    "ovirt": ("ovirt.ovirt.ovirt",),
    "vmware": ("community.vmware.vmware",),
}
"""Groups from before there were collections → those that took their place. https://docs.ansible.com/ansible/latest/playbook_guide/
playbooks_module_defaults.html lists them."""


class ActionGroups:
    """Finds groups; ``folders`` gives the places where ``ansible_collections`` may be."""

    def __init__(self, folders: Callable[[], Sequence[Path]]) -> None:
        self._folders = folders
        self._declared: dict[Path, Any] = {}

    def members(self, name: str) -> tuple[str, ...] | None:
        """The full names of a group's modules, in order; None when nothing declares such a group."""
        short = name.removeprefix("ansible.builtin.")
        if short in RENAMED:
            found = [self.members(group) or () for group in RENAMED[short]]
            return tuple(dict.fromkeys(module for part in found for module in part))
        modules = list(self._members(name, set()))
        return None if None in modules else tuple(dict.fromkeys(str(module) for module in modules))

    def _members(self, name: str, seen: set[str]) -> Iterator[str | None]:
        """The same one by one; None stands for a group that is not there."""
        seen.add(name)
        collection, _, group = name.rpartition(".")
        declared = self._groups(collection)
        if group not in declared:
            yield None
            return
        for entry in declared[group] or ():
            if isinstance(entry, str):
                yield entry if "." in entry else f"{collection}.{entry}"
                continue
            extended = entry.get("metadata", {}).get("extend_group", ()) if isinstance(entry, dict) else ()
            for other in (extended,) if isinstance(extended, str) else extended:
                full = other if "." in other else f"{collection}.{other}"
                if full not in seen:
                    yield from (module for module in self._members(full, seen) if module is not None)

    def _groups(self, collection: str) -> dict[str, Any]:
        for folder in self._folders():
            base = folder if folder.name == "ansible_collections" else folder / "ansible_collections"
            path = base.joinpath(*collection.split("."), "meta", "runtime.yml")
            if path not in self._declared:
                data = load(path).data if path.is_file() else None
                self._declared[path] = data.get("action_groups") if isinstance(data, dict) else None
            if isinstance(self._declared[path], dict):
                found: dict[str, Any] = self._declared[path]
                return found
        return {}
