"""The nodes that the tests over playbooks/ share: they are provisioned once, by the playbook itself."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator

import pytest

from provisioner import lab
from tests.e2e.fleet import Fleet
from tests.playbooks.commands import provision
from tests.playbooks.story import SITE, SNAPSHOT, WISHES, Story


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Two fresh nodes with different boards in each; the plan of everything, saved; its apply; a new plan."""
    if os.geteuid() != 0:
        pytest.skip("lab nodes need root")
    folder = tmp_path_factory.mktemp("site")
    name = f"tp{secrets.token_hex(2)}"
    try:
        fleet = Fleet(lab.up(2, name=name, gpus=["A100", "T4"]), folder)
        before = [fleet.on(node, SNAPSHOT).splitlines() for node in (0, 1)]
        planned = provision(folder, "plan", fleet.inventory, SITE, *WISHES, "-o", "plan.json")
        assert planned.code == 0, planned.all
        after = [fleet.on(node, SNAPSHOT).splitlines() for node in (0, 1)]
        applied = provision(folder, "apply", "plan.json", *WISHES, "--format", "json")
        assert applied.code == 0, applied.all
        again = provision(folder, "plan", fleet.inventory, SITE, *WISHES, "--detailed-exitcode", "--format", "json")
        plan = json.loads((folder / "plan.json").read_text())
        yield Story(fleet, before, plan, after, applied.document, again)
    finally:
        if name in {known.name for known in lab.list_labs()}:
            lab.down(name)
