"""What a node has no room or no time for: disks that are full, locks that others hold, commands that hang."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.fleet import PROVISION, Fleet

HOLDER = """\
import fcntl, time
file = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(120)
"""


def test_a_held_package_lock_is_waited_for_and_its_holder_named(fleet: Fleet, w: str) -> None:
    """Live, on a terminal, while it waits; and at the end when it waited in vain."""
    name = f"unattended-{w[-8:]}.py"
    fleet.on(0, f"cat > /tmp/{name} <<'END'\n{HOLDER}END\nnohup python3 /tmp/{name} > /tmp/{name}.out 2>&1 &")
    fleet.await_on(0, f"grep -q held /tmp/{name}.out")
    holder = f"(python3 /tmp/{name})"
    play = fleet.play("- name: tree\n  apt: {name: tree, update_cache: true, lock_timeout: 6}\n")
    command = [*PROVISION, "apply", str(fleet.inventory), str(play), "--limit", fleet.names[0]]
    script = ["script", "-qec", subprocess.list2cmdline(command), "/dev/null"]
    live = subprocess.run(script, cwd=fleet.folder, env=fleet.surroundings({}), stdin=subprocess.DEVNULL, capture_output=True, timeout=90)
    shown = live.stdout.decode("utf-8", "replace")
    assert live.returncode == 2, shown
    assert "waiting for the apt lock, held by process" in shown
    waited, _, ended = shown.rpartition("waiting for the apt lock")
    assert holder in waited or holder in ended, shown
    assert "after 6 s; wait for it to end or raise lock_timeout" in " ".join(ended.split()), shown

    started = fleet.start("apply", play, "--limit", fleet.names[0], "-e", "ansible_check_mode=false")
    fleet.await_on(0, "pgrep -f 'python.* -BsSE -c'", 30)
    fleet.on(0, f"pkill -f {name}")
    assert "the apt lock is still held" not in started.wait(90).all


def test_a_full_disk_is_named_and_nothing_is_left_half_written(fleet: Fleet, w: str) -> None:
    fleet.on(0, f"mkdir -p {w}/full; mount -t tmpfs -o size=64k tmpfs {w}/full; echo old > {w}/full/old")
    (fleet.folder / "tree").mkdir()
    (fleet.folder / "tree/big").write_bytes(bytes(300_000))
    subprocess.run(["tar", "czf", fleet.folder / "a.tgz", "-C", fleet.folder / "tree", "big"], check=True)
    full = f"the file system {w}/full is full; nothing was left half-written"
    ways = {
        "copy new": f"copy: {{dest: {w}/full/new, content: \"{{{{ 'x' * 200000 }}}}\"}}",
        "copy old": f"copy: {{dest: {w}/full/old, content: \"{{{{ 'x' * 200000 }}}}\"}}",
        "line": f"lineinfile: {{path: {w}/full/old, line: \"{{{{ 'x' * 200000 }}}}\"}}",
        "tree": f"copy: {{dest: {w}/full/, src: tree}}",
        "unpack": f"unarchive: {{src: a.tgz, dest: {w}/full}}",
    }
    tasks = "".join(f"- name: {name}\n  {way}\n  ignore_errors: true\n" for name, way in ways.items())
    done = fleet("apply", fleet.play(tasks), "--limit", fleet.names[0], "--format", "json")
    found = {name: done.step(name) for name in ways}
    left = fleet.on(0, f"cd {w}/full; find . -type f; cat old; cd /; umount {w}/full")
    assert done.code == 0, done.all
    for name, step in found.items():
        assert step["status"] == "failed", step
        assert full in step["msg"], f"{name}: {step['msg']}"
    assert left.split() == ["./old", "old"]


def test_a_node_where_the_agent_can_keep_nothing(fleet: Fleet, w: str) -> None:
    """Neither compiled code nor the holder of the lock fit; only handlers must."""
    places = "/run/provision.lock /var/cache/provision /var/lib/provision"
    fleet.on(
        1, f"rm -rf {places}; mkdir -p {w}/full; mount -t tmpfs -o size=16k tmpfs {w}/full; head -c 12k /dev/zero > {w}/full/all || true"
    )
    fleet.on(
        1, f"for p in cache lib; do mkdir -p {w}/full/$p /var/$p/provision; mount --bind {w}/full/$p /var/$p/provision; done; df {w}/full"
    )
    try:
        fleet.on(1, f"cat /dev/zero > {w}/full/rest || true")
        play = fleet.play(f"- name: plain\n  copy: {{dest: {w}/plain, content: x}}\n")
        done = fleet("apply", play, "--limit", fleet.names[1])
        assert done.code == 0, done.all
        play = fleet.play(f"- name: due\n  copy: {{dest: {w}/due, content: x}}\n  notify: h\n", "- name: h\n  command: 'true'\n")
        done = fleet("apply", play, "--limit", fleet.names[1])
        assert done.code == 2, done.all
        assert "cannot note handlers on the node: [Errno 28] No space left on device" in done.out, done.all
        assert fleet.on(1, f"ls {w}; ls -A /var/lib/provision").split() == ["full", "plain"]
    finally:
        fleet.on(1, f"umount /var/cache/provision /var/lib/provision {w}/full", check=False)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A folder of this machine in which nothing can be kept."""
    folder = tmp_path / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder], check=True)
    (folder / "all").write_bytes(bytes(4096))
    return folder


def test_a_controller_that_can_keep_nothing(fleet: Fleet, full: Path, w: str) -> None:
    one = ("--limit", fleet.names[0])
    play = fleet.play(f"- file: {{path: {w}, state: directory}}\n- set_fact: {{a: b, cacheable: true}}\n")
    fleet.environment.update(ANSIBLE_CACHE_PLUGIN="jsonfile", ANSIBLE_CACHE_PLUGIN_CONNECTION=str(full))
    try:
        planned = fleet("plan", play, *one, "-o", full / "plan.json", HOME=str(full), XDG_CACHE_HOME=str(full / "cache"))
        assert planned.code == 1, planned.all
        assert f"cannot write the plan to {full}/plan.json: No space left on device" in planned.err
        applied = fleet("apply", play, *one)
        assert applied.code == 0, applied.all
        assert f"facts cannot be kept in {full}: No space left on device" in applied.err
        assert [path.name for path in full.rglob("*") if path.is_file()] == ["all"]
    finally:
        subprocess.run(["umount", full], check=True)


def test_an_output_that_takes_nothing_more(fleet: Fleet) -> None:
    with Path("/dev/full").open("w") as nowhere:
        command = [*PROVISION, "inventory", str(fleet.inventory), "--list"]
        done = subprocess.run(command, env=fleet.surroundings({}), stdout=nowhere, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert "error: cannot write the output: No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_that_hangs_is_ended_while_the_others_go_on(fleet: Fleet, w: str) -> None:
    play = fleet.play(
        f"""
- name: hangs
  shell: "{{{{ 'exec sleep 73.125' if inventory_hostname == '{fleet.names[0]}' else 'true' }}}}"
  timeout: 1
- name: after
  file: {{path: {w}, state: directory}}
"""
    )
    done = fleet("apply", play, "--format", "json")
    assert done.code == 2, done.all
    assert "timed out after 1 s" in done.step("hangs", fleet.names[0])["msg"]
    assert fleet.on(0, f"pgrep -f 'sleep 73.125'; ls {w}", check=False) == ""
    for node in (1, 2):
        assert fleet.on(node, f"ls -d {w}") == w
