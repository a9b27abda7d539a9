"""What happened to the nodes that these tests share, and how a node's whole state is written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.fleet import ROOT, Fleet, Said

SITE = ROOT / "playbooks/site.yml"
LIMITS = {"nvidia_power_limits": {"NVIDIA A100*": 350, "Tesla T4": 60}}
WISHES = ("-e", json.dumps(LIMITS))

# Everything on the node's own file systems but what the system itself writes all the time, and the agent's cache of its own code. Not
# asked of apt, whose tools write its cache anew.
SNAPSHOT = r"""
find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /dev -o -path /tmp/systemd-private-\* -o -path /var/log \
    -o -path /var/cache/provision -o -path /var/lib/systemd -o -path /root/.cache -o -name rpmdb.sqlite-\* \) -prune \
    -o -printf '%p %y %m %u %g %s %T@ %C@ %l\n' | sort
dpkg -l; dpkg --get-selections; cat /proc/mounts; hostname; sysctl vm.swappiness
systemctl list-units --all --no-legend --plain --type=service,socket,mount | awk '{print $1, $2, $3, $4}' | grep -ve ssh@ -e session -e user
"""


@dataclass(frozen=True)
class Story:
    """In this order: the nodes, the plan of everything, the nodes, its apply, a new plan."""

    fleet: Fleet
    before: list[list[str]]
    plan: Mapping[str, Any]
    after: list[list[str]]
    made: Mapping[str, Any]
    again: Said
