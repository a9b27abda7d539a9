"""apt on a real node, with a repository of our own in a folder of it: versions, holds, removals, questions."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.modules.nodes import Node, shown

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

# name version | further control fields | postinst
PACKAGES = [
    ("demo", "1.0", {}, ""),
    ("demo", "1.1", {}, ""),
    ("libfoo", "1.0", {}, ""),
    ("libfoo", "1.1", {}, ""),
    ("needy", "1.0", {"Depends": "brought"}, ""),
    ("brought", "1.0", {}, ""),
    ("old-agent", "1.0", {}, ""),
    ("new-agent", "1.0", {"Conflicts": "old-agent"}, ""),
    ("fat", "1.0", {"Recommends": "extra"}, ""),
    ("extra", "1.0", {}, ""),
    ("asker", "1.0", {}, "read answer </dev/stdin || true; echo got $answer"),
    *(
        (name, version, {"Depends": f"ctk-base (= {version})"} if name == "ctk" else {}, "")
        for name in ("ctk", "ctk-base")
        for version in ("1.13", "1.14")
    ),
]
MAKER = r"""
import hashlib, json, os, subprocess, sys
os.makedirs("/srv/debs", exist_ok=True); os.chdir("/srv/debs")
index = []
for name, version, fields, script in json.load(sys.stdin):
    root = f"/tmp/build/{name}-{version}"
    os.makedirs(f"{root}/DEBIAN", exist_ok=True); os.makedirs(f"{root}/usr/share/doc/{name}", exist_ok=True)
    lines = {"Package": name, "Version": version, "Architecture": "all", "Maintainer": "x <x@y>", "Description": "x", **fields}
    control = "".join(f"{key}: {value}\n" for key, value in lines.items())
    open(f"{root}/DEBIAN/control", "w").write(control)
    open(f"{root}/usr/share/doc/{name}/version", "w").write(version)
    os.makedirs(f"{root}/etc", exist_ok=True); open(f"{root}/etc/{name}.conf", "w").write(version + "\n")
    open(f"{root}/DEBIAN/conffiles", "w").write(f"/etc/{name}.conf\n")
    if script:
        open(f"{root}/DEBIAN/postinst", "w").write("#!/bin/sh\nset -e\n" + script + "\n"); os.chmod(f"{root}/DEBIAN/postinst", 0o755)
    file = f"{name}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, file], check=True, stdout=subprocess.DEVNULL)
    data = open(file, "rb").read()
    index.append(control + f"Filename: ./{file}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
open("Packages", "w").write("\n".join(index))
"""


@pytest.fixture(scope="module")
def apt(node: Node) -> Iterator[Node]:
    done = node.apply.agent.execute(["python3", "-c", MAKER], stdin=json.dumps(PACKAGES).encode(), timeout=120)
    assert done.rc == 0, done.stderr.decode()
    added = node.converge("apt_repository", {"repo": "deb [trusted=yes] file:/srv/debs ./", "filename": "test"})
    assert shown(added) == ["write_file /etc/apt/sources.list.d/test.list", "refresh_index apt package index"]
    yield node
    node.sh("rm /etc/apt/sources.list.d/test.list; apt-get update -qq")


@pytest.fixture(autouse=True)
def clean(apt: Node) -> Iterator[None]:
    """Each test starts without any of our packages."""
    yield
    names = " ".join(sorted({package[0] for package in PACKAGES}))
    apt.sh(f"apt-mark unhold {names} >/dev/null 2>&1; dpkg --purge --force-all {names} >/dev/null 2>&1; true")


def versions(apt: Node, *names: str) -> list[str]:
    return [apt.sh(f"dpkg-query -W -f='${{Status}} ${{Version}}' {name} 2>/dev/null | sed -n 's/.* installed //p'") for name in names]


def test_install_upgrade_remove(apt: Node) -> None:
    made = apt.converge("apt", {"name": "needy"})
    assert (made.changes[0]["before"], made.changes[0]["after"]) == ({"brought": None, "needy": None}, {"brought": "1.0", "needy": "1.0"})
    apt.converge("apt", {"name": ["demo=1.0"]})
    assert apt.apply.run("apt", {"name": "demo"}).changes == []
    newest = apt.converge("apt", {"name": "demo", "state": "latest"})
    assert newest.changes[0]["before"] == {"demo": "1.0"}
    gone = apt.converge("apt", {"name": ["demo", "needy"], "state": "absent", "purge": True})
    assert set(gone.changes[0]["before"]) == {"demo", "needy"}
    assert versions(apt, "demo", "needy", "brought") == ["", "", "1.0"]
    # A marker file, a removal and a purge leave nothing of the configuration.
    assert apt.sh("ls /etc/demo.conf", ok=False) == ""


def test_a02_patterns_and_versions(apt: Node) -> None:
    apt.converge("apt", {"name": "libfoo=1.0"})
    assert apt.apply.run("apt", {"name": "libfo*"}).changes == []
    assert apt.apply.run("apt", {"name": "libfoo=1.0*"}).changes == []
    apt.converge("apt", {"name": "libfoo=1.1"})
    assert "this is a downgrade (libfoo 1.1 → 1.0)" in apt.refuses("apt", {"name": "libfoo=1.0"})
    older = apt.converge("apt", {"name": "libfoo=1.0", "allow_downgrade": True})
    assert older.changes[0]["after"] == {"libfoo": "1.0"}
    assert apt.apply.run("apt", {"name": "libfoo=1.*"}).changes == []


def test_a03_holds(apt: Node) -> None:
    apt.converge("apt", {"name": "demo=1.0"})
    held = apt.converge("dpkg_selections", {"name": "demo", "selection": "hold"})
    assert (held.result["before"], held.result["after"]) == ("install", "hold")
    message = apt.refuses("apt", {"name": "demo=1.1"})
    assert "held by the package manager: demo" in message
    assert "allow_change_held_packages" in message
    assert "held by the package manager: demo" in apt.refuses("apt", {"name": "demo", "state": "latest"})
    kept = apt.apply.run("apt", {"upgrade": "safe", "name": None})
    assert "demo" not in str(kept.changes)
    assert kept.result["kept_back"] == ["demo"]
    apt.converge("apt", {"name": "demo=1.1", "allow_change_held_packages": True})
    assert apt.sh("apt-mark showhold") == "demo"
    assert "held by the package manager: demo" in apt.refuses("apt", {"name": "demo", "state": "absent"})


def test_a_hold_of_what_comes_along_is_kept(apt: Node) -> None:
    apt.converge("apt", {"name": ["ctk=1.13"]})
    apt.sh("apt-mark hold ctk ctk-base")
    apt.converge("apt", {"name": ["ctk=1.14"], "allow_change_held_packages": True})
    assert versions(apt, "ctk", "ctk-base") == ["1.14", "1.14"]
    assert apt.sh("apt-mark showhold").split() == ["ctk", "ctk-base"]


@pytest.mark.parametrize(
    ("module", "wish", "comes"),
    [
        ("apt", {"install_recommends": False}, ""),
        ("package", {"install_recommends": False}, ""),
        ("apt", {"install_recommends": True}, "1.0"),
        ("apt", {}, "1.0"),
    ],
)
def test_recommended_packages_come_only_where_they_are_wanted(apt: Node, module: str, wish: dict[str, bool], comes: str) -> None:
    made = apt.converge(module, {"name": ["fat"], **wish})
    assert versions(apt, "fat", "extra") == ["1.0", comes]
    assert set(made.changes[0]["after"]) == ({"fat", "extra"} if comes else {"fat"})


def test_a04_removals_nobody_asked_for(apt: Node) -> None:
    apt.converge("apt", {"name": ["old-agent", "needy"]})
    message = apt.refuses("apt", {"name": "new-agent"})
    assert "would remove old-agent 1.0" in message
    assert "allow_remove" in message
    made = apt.converge("apt", {"name": "new-agent", "allow_remove": ["old-agent"]})
    assert made.changes[0]["after"] == {"new-agent": "1.0", "old-agent": None}
    apt.converge("apt", {"name": "needy", "state": "absent"})
    listed = apt.converge("apt", {"autoremove": True})
    assert listed.changes[0]["before"]["brought"] == "1.0"


def test_a06_questions(apt: Node) -> None:
    apt.converge("apt", {"name": ["asker", "demo=1.0"]})
    apt.sh("echo mine >> /etc/demo.conf")
    made = apt.converge("apt", {"name": "demo=1.1"})
    assert apt.sh("cat /etc/demo.conf").splitlines() == ["1.0", "mine"]
    assert made.result["kept_conffiles"] == ["/etc/demo.conf.dpkg-dist"]


def test_a10_a_family_moves_together(apt: Node) -> None:
    made = apt.converge("apt", {"name": "ctk=1.13", "state": "present"})
    assert made.changes[0]["after"] == {"ctk": "1.13", "ctk-base": "1.13"}
    newer = apt.converge("apt", {"name": "ctk", "state": "latest"})
    assert newer.changes[0]["after"] == {"ctk": "1.14", "ctk-base": "1.14"}


def test_a_plan_of_packages_that_build_on_each_other(apt: Node) -> None:
    plan = apt.plan()
    try:
        assert shown(plan.run("apt", {"name": "needy"})) == ["install_packages needy"]
        assert plan.run("apt", {"name": "brought"}).changes == []
        assert plan.run("package_facts").result["ansible_facts"]["packages"]["needy"][0]["version"] == "1.0"
        assert shown(plan.run("apt", {"name": "needy", "state": "absent"})) == ["remove_packages needy"]
    finally:
        plan.close()
    assert versions(apt, "needy") == [""]


def test_a_local_file_and_a_name_nobody_has(apt: Node) -> None:
    apt.converge("apt", {"deb": "/srv/debs/demo_1.0_all.deb"})
    assert versions(apt, "demo") == ["1.0"]
    assert "Unable to locate package nosuch" in apt.refuses("apt", {"name": "nosuch"})
    assert "does not exist on the node" in apt.refuses("apt", {"deb": "/srv/none.deb"})
    assert "Version '9' for 'demo' was not found" in apt.refuses("apt", {"name": "demo=9"})


def test_an_index_that_is_young_enough(apt: Node) -> None:
    assert apt.apply.run("apt", {"update_cache": True, "cache_valid_time": 3600}).result["cache_updated"] is False
    refreshed = apt.apply.run("apt", {"update_cache": True})
    assert refreshed.result["cache_updated"] is True
    assert shown(refreshed) == ["refresh_index apt package index"]


def test_sources_come_and_go(apt: Node) -> None:
    made = apt.converge("deb822_repository", {"name": "Second", "uris": "file:/srv/debs", "suites": "other/", "trusted": True})
    assert made.result["dest"] == "/etc/apt/sources.list.d/second.sources"
    assert "Trusted: yes" in apt.sh("cat /etc/apt/sources.list.d/second.sources")
    apt.converge("deb822_repository", {"name": "Second", "state": "absent"})
    gone = apt.converge("apt_repository", {"repo": "deb http://example.com/x stable main", "update_cache": False})
    assert gone.result["sources_added"] == ["/etc/apt/sources.list.d/example_com_x.list"]
    apt.converge("apt_repository", {"repo": "deb http://example.com/x stable main", "state": "absent", "update_cache": False})
    assert apt.sh("ls /etc/apt/sources.list.d/example_com_x.list", ok=False) == ""
