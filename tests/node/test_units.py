"""What systemd says over its socket is what systemctl shows: for every unit of a real node, and for some that were made odd on purpose."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

import provisioner
from tests.modules.conftest import node  # noqa: F401 - a fixture
from tests.modules.nodes import Node

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

PLACE = "/srv/probe-units"

UNITS = r"""
set -e
cd /etc/systemd/system
unit() {
  printf '[Unit]\nDescription=%s\n[Service]\nType=%s\nExecStart=%s\n[Install]\nWantedBy=multi-user.target\n' "$2" "$3" "$4" > "$1"
}
unit probe-runs.service 'Runs, "quoted" and ünlike others' simple '/bin/sleep infinity'
unit probe-fails.service Fails oneshot /bin/false
unit probe-masked.service Masked simple /bin/true
mv probe-masked.service /usr/lib/systemd/system/
unit 'probe-\x2dodd:name_1.service' Odd oneshot /bin/true
unit probe-each@.service 'Instance %i' simple '/bin/sleep infinity'
unit probe-stale.service Stale simple '/bin/sleep infinity'
printf '[Install]\nAlias=probe-alias.service\n' >> probe-runs.service
mkdir -p /srv/probe-mount
printf '[Mount]\nWhat=tmpfs\nWhere=/srv/probe-mount\nType=tmpfs\n' > 'srv-probe\x2dmount.mount'
systemctl daemon-reload
systemctl enable -q --now probe-runs.service
systemctl mask -q probe-masked.service
systemctl start 'probe-each@a-b\x20c.service' 'srv-probe\x2dmount.mount' probe-stale.service
systemctl start probe-fails.service || true
sleep 1.1
echo '# later' >> probe-stale.service
"""
GONE = r"""
cd /etc/systemd/system
systemctl stop probe-runs probe-stale 'probe-each@a-b\x20c.service' 'srv-probe\x2dmount.mount'
systemctl disable -q probe-runs; systemctl unmask -q probe-masked
rm -rf probe-* 'srv-probe\x2dmount.mount' /usr/lib/systemd/system/probe-masked.service /srv/probe-*
systemctl daemon-reload; systemctl reset-failed
"""

MADE = (
    *("probe-runs.service", "probe-alias.service", "probe-fails.service", "probe-masked.service", r"probe-\x2dodd:name_1.service"),
    *(r"probe-each@a-b\x20c.service", "probe-each@not-started.service", "probe-stale.service", r"srv-probe\x2dmount.mount"),
    *("not-there.service", "not-there@x.timer", "9-not.there.socket", "-.mount", "-.slice", "dev-null.device"),
)
ASKED = r"""
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from provisioner.node.live import Live
units = Live().units()
listed = subprocess.run(["systemctl", "list-units", "--all", "--plain", "--no-legend"], capture_output=True, text=True).stdout
names = sorted({line.split()[0] for line in listed.splitlines()} | set(json.loads(sys.argv[2])))
found = {}
for name in names:
    told, shown = units._told(name), units._shown(name, {})
    if told != shown:  # a unit may be on its way: look once more
        told, shown = units._told(name), units._shown(name, {})
    found[name] = [told, shown]
json.dump(found, sys.stdout)
"""


def _sources() -> bytes:
    """The node's code as an archive, under an empty package."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("provisioner/__init__.py"))
        for file in sorted((Path(provisioner.__file__).parent / "node").rglob("*.py")):
            archive.add(file, f"provisioner/{file.relative_to(Path(provisioner.__file__).parent)}")
    return data.getvalue()


def _python(node: Node, *argv: str) -> Any:  # noqa: F811 - the fixture is called what it is
    done = node.apply.agent.execute(["python3", "-BsE", "-c", *argv], timeout=200)
    assert done.rc == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def units(node: Node) -> Node:  # noqa: F811
    done = node.apply.agent.execute(["/bin/sh", "-c", f"mkdir -p {PLACE} && tar -xzC {PLACE}"], stdin=_sources(), timeout=60)
    assert done.rc == 0, done.stderr.decode()
    node.sh(UNITS)
    return node


def test_both_ways_give_the_same_properties(units: Node) -> None:
    try:
        found: dict[str, tuple[dict[str, str], dict[str, str]]] = _python(units, ASKED, PLACE, json.dumps(MADE))
    finally:
        units.sh(GONE)
    assert len(found) > 60
    assert {name: told for name, (told, _) in found.items()} == {name: shown for name, (_, shown) in found.items()}
    seen = {name: told for name, (told, _) in found.items()}
    assert seen["probe-runs.service"]["Description"] == 'Runs, "quoted" and ünlike others'
    assert set(seen["probe-alias.service"]["Names"].split()) == {"probe-runs.service", "probe-alias.service"}
    assert seen["probe-fails.service"]["ActiveState"] == "failed"
    assert seen["probe-masked.service"]["LoadState"] == "masked"
    assert seen["probe-stale.service"]["NeedDaemonReload"] == "yes"
    assert seen[r"probe-each@a-b\x20c.service"]["MainPID"] != "0"
    assert seen[r"srv-probe\x2dmount.mount"]["Type"] == "tmpfs"
    assert seen["not-there.service"]["LoadState"] == "not-found"


def test_systemctl_is_asked_where_the_socket_does_not_answer(units: Node) -> None:
    """Somebody who is not root, a name that only systemctl understands, one it refuses, and a conversation that has ended."""
    asked = r"""
import json, os, sys
sys.path.insert(0, sys.argv[1])
from provisioner.node.faults import Fail
from provisioner.node.live import Live
units = Live().units()
found = {"pattern": [units._told("probe-run*.service"), units.unit("probe-run*.service", {}).active]}
try:
    units.unit("probe-each@.service", {})
except Fail as fault:
    found["template"] = [units._told("probe-each@.service"), fault.msg]
assert units._told("probe-runs.service") and units._bus
os.system("systemctl daemon-reexec")
found["again"] = [units.unit("probe-runs.service", {}).active, bool(units._told("probe-runs.service"))]
units.rest()
os.setuid(65534)
found["nobody"] = [units._told("probe-runs.service"), units.unit("probe-runs.service", {}).active]
json.dump(found, sys.stdout)
"""
    try:
        found = _python(units, asked, PLACE)
    finally:
        units.sh(GONE)
    assert found["pattern"] == [{}, "active"]
    assert found["template"][0] == {}
    assert "probe-each@.service" in found["template"][1]
    assert found["again"] == ["active", True]
    assert found["nobody"] == [{}, "active"]
