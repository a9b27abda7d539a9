"""Magic variables: what a play tells its tasks of the run, the inventory and itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from provisioner.engine.signals import NeedsFlush
from provisioner.engine.variables import Magic
from provisioner.templating.variables import Layer, Level

if TYPE_CHECKING:
    from provisioner.engine.play import PlayRun
    from provisioner.engine.run import Run
    from provisioner.engine.walk import HostWalk

COMPATIBLE = (2, 19, 14)
"""The release of ansible-core whose language this is; playbooks ask for it."""


def run_magic(run: Run) -> dict[str, Any]:
    """The same for all hosts and plays."""
    options = run.options
    full = ".".join(map(str, COMPATIBLE))
    version = {"full": full, "string": full, "major": COMPATIBLE[0], "minor": COMPATIBLE[1], "revision": COMPATIBLE[2]}
    return {
        "ansible_check_mode": options.planning,
        "ansible_diff_mode": options.diff,
        "ansible_version": version,
        "ansible_forks": options.forks,
        "ansible_verbosity": options.verbosity,
        "ansible_run_tags": sorted(options.tags),
        "ansible_skip_tags": sorted(options.skip_tags),
        "ansible_inventory_sources": list(run.inventory.sources),
        "ansible_playbook_python": sys.executable,
        "ansible_config_file": options.config_file,
        **({"ansible_limit": options.limit} if options.limit else {}),
    }


def play_magic(play: PlayRun) -> dict[str, Any]:
    """The same for all hosts of a play."""
    own = [role.source.name for role in (*play.play.roles, *play.play.imported_roles)]
    every = list(dict.fromkeys(role.source.name for role in play.play.every_role()))
    return {
        **run_magic(play.run),
        "playbook_dir": str(play.play.folder.absolute()),
        "ansible_play_name": play.label,
        "ansible_play_hosts_all": list(play.shared.named),
        "ansible_play_role_names": own,
        "ansible_dependent_role_names": [name for name in every if name not in own],
        "ansible_role_names": every,
        "role_names": own,
    }


def host_magic(play: PlayRun, walk: HostWalk) -> Layer:
    """For one host of a play."""
    run, name = play.run, walk.host.name

    def settled_hosts(count: bool) -> list[str]:
        """Hosts that have not failed so far: known for sure only when all have come to this place."""
        if play.meets and len(play.hosts) > 1:
            if walk.batch:
                raise NeedsFlush
            play.clocks.wait_for([other for other in play.hosts if other != name], walk.place)
        wanted = play.shared.named if count else play.hosts
        return [host for host in wanted if run.host(host).usable and host not in play.gone]

    entry = run.inventory.host(name)
    known = {
        **play.shared_magic,
        "inventory_dir": entry.inventory_dir if entry is not None else None,
        "inventory_file": entry.inventory_file if entry is not None else None,
    }
    lazy = {
        "ansible_play_hosts": lambda: settled_hosts(True),
        "ansible_play_batch": lambda: settled_hosts(False),
        "play_hosts": lambda: settled_hosts(False),
    }
    return Layer(Level.MAGIC, Magic(known, lazy), "magic")
