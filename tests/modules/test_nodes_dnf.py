"""dnf on a node that has it beside apt, with a repository of our own in a folder of the node."""

from __future__ import annotations

import pytest

from tests.modules.nodes import Node, shown

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

LONG = "a-package-with-quite-a-long-name-that-wraps-in-tables"
REPOSITORY = f"""
set -e
apt-get install -y -qq dnf rpm createrepo-c
mkdir -p /srv/rpm /etc/yum.repos.d
cd /srv/rpm
make() {{
    printf 'Name: %s\\nVersion: %s\\nRelease: 1\\nSummary: x\\nLicense: MIT\\nBuildArch: noarch\\n%s\\n' "$@" > x.spec
    printf '%%description\\nx\\n%%files\\n' >> x.spec
    rpmbuild -bb --define '_rpmdir /srv/rpm' --define '_topdir /tmp/rpmbuild' x.spec
}}
make demo 1.0 'Requires: helper'
make demo 1.1 'Requires: helper'
make helper 1.0 ''
make old 1.0 ''
make newer 1.0 'Conflicts: old'
make {LONG} 1.0 ''
createrepo_c -q .
printf '[local]\\nname=local\\nbaseurl=file:///srv/rpm\\ngpgcheck=0\\n' > /etc/yum.repos.d/local.repo
"""


@pytest.fixture(scope="module")
def rpm(node: Node) -> Node:
    node.sh(f"({REPOSITORY}) >/tmp/rpm.log 2>&1 || {{ tail -5 /tmp/rpm.log >&2; exit 1; }}")
    return node


def test_versions(rpm: Node) -> None:
    made = rpm.converge("dnf", {"name": "demo-1.0"})
    assert made.changes[0]["after"] == {"demo": "1.0-1", "helper": "1.0-1"}
    assert made.result["results"] == ["Installed: demo-1.0-1", "Installed: helper-1.0-1"]
    assert rpm.apply.run("dnf", {"name": "demo"}).changes == []
    newest = rpm.converge("dnf", {"name": "demo", "state": "latest"})
    assert (newest.changes[0]["before"], newest.changes[0]["after"]) == ({"demo": "1.0-1"}, {"demo": "1.1-1"})
    assert "this is a downgrade (demo 1.1-1 → 1.0-1)" in rpm.refuses("dnf", {"name": "demo-1.0"})
    older = rpm.converge("dnf", {"name": "demo-1.0", "allow_downgrade": True})
    assert older.changes[0]["after"] == {"demo": "1.0-1"}


def test_removals(rpm: Node) -> None:
    rpm.converge("dnf", {"name": ["old", LONG]})
    assert "conflicts with old" in rpm.refuses("dnf", {"name": "newer"})
    assert "list these in allow_remove" in rpm.refuses("dnf", {"name": "newer", "allowerasing": True})
    made = rpm.converge("dnf", {"name": "newer", "allowerasing": True, "allow_remove": ["old"]})
    assert made.changes[0]["after"] == {"newer": "1.0-1", "old": None}
    gone = rpm.converge("dnf", {"name": ["newer", LONG], "state": "absent"})
    assert shown(gone) == [f"remove_packages newer, {LONG}"]
    assert gone.changes[0]["before"] == {"newer": "1.0-1", LONG: "1.0-1"}


def test_what_there_is_not(rpm: Node) -> None:
    assert "Unable to find a match: nosuch" in rpm.refuses("dnf", {"name": "nosuch"})


def test_package_takes_the_manager_it_is_told(rpm: Node) -> None:
    rpm.converge("package", {"name": "helper", "state": "present", "use": "dnf"})
    assert rpm.sh("rpm -q helper") == "helper-1.0-1.noarch"
    assert "dnf has no parameter purge" in rpm.refuses("package", {"name": "helper", "state": "absent", "use": "dnf", "purge": True})
    rpm.converge("package", {"name": "helper", "state": "absent", "use": "dnf"})


def test_facts_know_both(rpm: Node) -> None:
    rpm.converge("dnf", {"name": "helper"})
    found = rpm.apply.run("package_facts", {"manager": ["rpm"]}).result["ansible_facts"]["packages"]
    assert found["helper"][0]["version"] == "1.0"
